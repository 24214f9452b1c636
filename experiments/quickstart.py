"""The main job: an agent learns to act in a real browser, in a maze of growing distance; then report.html."""

from __future__ import annotations

from typing import Any

from tars_jax.pipelines.agent import finish, train_agent
from tars_jax.pipelines.mazes import CURRICULUM_RULES, MazeTasks, curriculum_config
from tars_jax.pipelines.rules import JOB_RULES, PPO_EXTENSIONS, check
from tars_jax.pipelines.run_context import RunContext
from tars_jax.rules import at_least, span
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
EXTENSIONS = PPO_EXTENSIONS
RULES = (
    JOB_RULES
    | CURRICULUM_RULES
    | {
        "task.max_steps": at_least(1),
        "task.evaluation_distances": span(1),
        "demonstrations.distances": span(1),
    }
)


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    curriculum_config(config)
    with RunContext(config, run_directory) as context:
        evaluated = train_agent(context, MazeTasks(context.config))
        if run_directory.is_main_process:
            subtitle = "A nano agent, trained from scratch by multi-turn PPO in a real Chromium"
            finish(context, evaluated, "quickstart", "Maze: Path of Light", subtitle)
