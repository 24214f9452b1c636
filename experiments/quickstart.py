"""The main job: an agent learns to act in a real browser, in a maze of growing distance; then report.html."""

from __future__ import annotations

from typing import Any

from tars_jax.pipelines.agent import finish, train_agent
from tars_jax.pipelines.job_checks import PPO_EXTENSIONS, check
from tars_jax.pipelines.mazes import MazeTasks, curriculum_config
from tars_jax.pipelines.run_context import RunContext
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
EXTENSIONS = PPO_EXTENSIONS


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    curriculum_config(config)
    with RunContext(config, run_directory) as context:
        evaluated = train_agent(context, MazeTasks(context.config))
        if run_directory.is_main_process:
            subtitle = "A nano agent, trained from scratch by multi-turn PPO in a real Chromium"
            finish(context, evaluated, "quickstart", "Maze: Path of Light", subtitle)
