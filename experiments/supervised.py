"""Supervised fine-tuning (SFT): verified demonstrations of the task itself, the loss on the agent's own tokens.

The report's SFT takes the samples with V = 1 only, "without contaminating the supervised signal" (UI-TARS-2, 2.3).
"""

from __future__ import annotations

from typing import Any

from tars_jax.evaluation import supervised_curves
from tars_jax.pipelines.single_stage import end_stage, imitate
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"


def run(config: Any, run_directory: RunDirectory) -> None:
    found = imitate(config, run_directory, "supervised")
    if run_directory.is_main_process:
        title = "Supervised fine-tuning"
        curves = supervised_curves("supervised", title)
        end_stage(run_directory.path, title, curves, found)
