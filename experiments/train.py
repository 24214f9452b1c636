"""Any environment is learned from flags alone; then report.html."""

from __future__ import annotations

from typing import Any

from tars_jax.pipelines.agent import finish, train_agent
from tars_jax.pipelines.datasets import demonstrations_for
from tars_jax.pipelines.defaults import choose
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.job_checks import PPO_EXTENSIONS, check
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.windows import fill_recorded_sizes
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
EXTENSIONS = PPO_EXTENSIONS


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    config, shapes = choose(config, run_directory)
    spec = RunSpec(config, shapes)
    recorded = demonstrations_for(spec)
    config = fill_recorded_sizes(config, spec.writer, spec.shapes, recorded)
    with RunContext(config, run_directory, shapes=spec.shapes) as context:
        tasks = EnvironmentTasks(context.config)
        evaluated = train_agent(context, tasks, recorded)
        if run_directory.is_main_process:
            names = dict.fromkeys(kind.environment for kind in tasks.kinds)
            finish(
                context,
                evaluated,
                "train",
                title=config.environment,
                subtitle="" if config.environment_options == "{}" else f"options {config.environment_options}",
                parts={name: name for name in names} if len(names) > 1 else {},
                mixture=tasks.mixture,
            )
            if all(episode.success is None for episode in evaluated.after):
                print(f"{config.environment} says nothing of success, and task.success_threshold is not set")
