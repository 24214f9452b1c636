"""Continual pre-training (CT): broad, unpolished play of many kinds, failures included, learned as text.

The report's CT takes "large-scale, diverse data" and whatever the flywheel judged V = 0; so here all episodes of
reference players of several skills, on several games, and by default the loss on all text (UI-TARS-2, 2.3). What SFT
then takes is in `experiments/supervised.py`.
"""

from __future__ import annotations

from typing import Any

from tars_jax.evaluation import supervised_curves
from tars_jax.pipelines.single_stage import end_stage, imitate
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"


def run(config: Any, run_directory: RunDirectory) -> None:
    found = imitate(config, run_directory, "continual_pretraining")
    if run_directory.is_main_process:
        title = "Continual pre-training"
        curves = supervised_curves("continual_pretraining", title)
        end_stage(run_directory.path, title, curves, found)
