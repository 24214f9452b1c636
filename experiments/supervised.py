"""Supervised fine-tuning (SFT): verified demonstrations of the task itself, the loss on the agent's own tokens.

The report's SFT takes the samples with V = 1 only, "without contaminating the supervised signal" (UI-TARS-2, 2.3).
"""

from __future__ import annotations

from typing import Any

from experiments.stage_job import IMITATION_RULES, imitate
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
RULES = IMITATION_RULES


def run(config: Any, run_directory: RunDirectory) -> None:
    imitate(config, run_directory, "supervised", "Supervised fine-tuning")
