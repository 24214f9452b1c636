"""What `annotate` does, with a reference player of a given skill in the place of the people."""

from __future__ import annotations

import asyncio
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.storage import TRAJECTORIES
from tars_jax.environment import Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.launcher import from_here
from tars_jax.pipelines.annotating import open_annotated
from tars_jax.pipelines.environments import EnvironmentTasks
from tars_jax.pipelines.sections import sandbox_of
from tars_jax.pipelines.serving import read_key
from tars_jax.pipelines.simulated_annotation import annotate_until, annotator_of, setting_of, spent_on
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory.files import save_trajectory


def run(config: Any, run_directory: RunDirectory) -> None:
    read_key(config.api_key_file)
    tasks = _tasks(config)
    specs = {task.id: load_environment(task.environment, task.options) for task in tasks}
    if any(spec.needs_browser or spec.reference is None for spec in specs.values()):
        raise InputError(
            "config.environment must have a reference player and no page to be annotated by one; "
            f"got {config.environment!r}"
        )
    resources = EnvironmentResources(sandbox=sandbox_of(config))

    def make(task: Task) -> CheckedEnvironment:
        return specs[task.id].checked(resources)

    with open_annotated(config, run_directory.path, max(task.max_steps for task in tasks)) as opened:
        print(f"annotate_simulated: {opened.about}", flush=True)
        if opened.prepare is not None:
            opened.prepare([make(tasks[0]).action_space])
            opened.prepared()
        gate = AskingGate("gated", **{name: value for name, value in config.gate.items() if name != "value_checkpoint"})
        setting = setting_of(opened, config.kind, gate)
        annotator = annotator_of(opened, config.kind, config.skill)
        found, lost = asyncio.run(annotate_until(tasks, setting, make, annotator, config.human_steps))
    folder = run_directory.path / TRAJECTORIES
    folder.mkdir(exist_ok=True)
    for each in found:
        if each.trajectory is not None:
            save_trajectory(folder / f"{each.record.id}.trajectory", each.trajectory)
    spent = spent_on(found, lost)
    write_json(run_directory.path / "result.json", {**spent._asdict(), "kind": config.kind, "seed": config.seed})
    print(
        f"{spent.human_steps} human steps in {spent.episodes} episodes, {spent.corrections} of them corrections, "
        f"{spent.switches} switches; {spent.solved} episodes end well\n"
        f"in a flywheel:  --config.annotation.datasets={from_here(folder)},"
    )


def _tasks(config: Any) -> list[Task]:
    """Of those to train on, from `first_task` on: other ones than a flywheel attempts, where that is large."""
    config = config.copy_and_resolve_references()
    with config.unlocked():
        config.mixture = {"weights": ()}
        config.demonstrations = {"player": ""}
    return EnvironmentTasks(config).practice(config.first_task + config.num_tasks)[config.first_task :]
