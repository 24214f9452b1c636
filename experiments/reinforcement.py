"""Multi-turn reinforcement learning from any policy, with any value model of it or with none that was pretrained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.config import Rule
from experiments.job_config import check
from experiments.lab import Lab
from experiments.quickstart import CURRICULUM_RULES, curriculum_config
from experiments.stage_job import WEIGHTS, rules_of, run_stage
from experiments.stages import improve
from experiments.work import Work
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
RULES = (
    rules_of("ppo")
    | CURRICULUM_RULES
    | {
        "model.preset": WEIGHTS,
        "value.checkpoint": Rule(
            lambda name: not name or WEIGHTS.accepts(name),
            "RUN/value of a value_pretraining, or nothing for a fresh one",
        ),
    }
)


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    curriculum_config(config)

    def stage(lab: Lab, work: Work) -> dict[str, Any]:
        assert lab.parent is not None  # RULES
        improve(lab, work, lab.parent, Path(config.value.checkpoint) if config.value.checkpoint else None)
        return {"training_episodes": (run_directory.finished("ppo") or {})["consumed"]}

    run_stage(config, run_directory, "Reinforcement learning", DEFAULT_CURVES, stage)
