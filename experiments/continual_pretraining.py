"""Continual pre-training (CT): broad, unpolished play of many kinds, failures included, learnt as text.

The report's CT takes "large-scale, diverse data" and whatever the flywheel judged V = 0; so here all episodes of
reference players of several skills, on several games, and by default the loss on all text (UI-TARS-2, 2.3). What SFT
then takes is in `experiments/supervised.py`.
"""

from __future__ import annotations

from typing import Any

from experiments.stage_job import IMITATION_RULES, imitate
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
RULES = IMITATION_RULES


def run(config: Any, run_directory: RunDirectory) -> None:
    imitate(config, run_directory, "continual_pretraining", "Continual pre-training")
