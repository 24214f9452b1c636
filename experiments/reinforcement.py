"""Multi-turn reinforcement learning from any policy, with any value model of it or with none that was pretrained.

Without `value.checkpoint` the value model is the policy's trunk with a head that says 0, which PPO says on the terminal
and in the report; a recipe of a paper demands one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.pipelines.job_checks import PPO_EXTENSIONS, check
from tars_jax.pipelines.mazes import curriculum_config
from tars_jax.pipelines.ppo_stage import run_ppo
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.single_stage import end_stage, run_stage
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
EXTENSIONS = PPO_EXTENSIONS


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    curriculum_config(config)
    if config.recipe and not config.value.checkpoint:
        raise InputError(
            f"value.checkpoint must be RUN/value of a value_pretraining with recipe={config.recipe}; got ''"
        )

    def stage(context: RunContext, provider: TaskProvider) -> dict[str, Any]:
        assert context.parent is not None  # the rule of model.preset
        run_ppo(context, provider, context.parent, Path(config.value.checkpoint) if config.value.checkpoint else None)
        done = run_directory.finished("ppo") or {}
        curriculum = {"curriculum": done["curriculum"]} if "curriculum" in done else {}
        return {"training_episodes": done["consumed"], **curriculum}

    found = run_stage(config, run_directory, stage)
    if run_directory.is_main_process:
        title = "Reinforcement learning"
        end_stage(run_directory.path, title, DEFAULT_CURVES, found)
