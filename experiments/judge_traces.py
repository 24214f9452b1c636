"""Labelled traces of several domains, by recipe: scripted players that err, and the truth of each environment's state.

Episodes are kept one by one: a run that was killed plays only those that it lacks.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.data.recorded import TRACES, hidden_truth
from tars_jax.environment import Task
from tars_jax.json_fields import read_object_text
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.environments import configured_environment
from tars_jax.pipelines.sections import browsers_for, sandbox_of
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory

TEXT_TOKENS = 1024  # of a page or an output, at most; what is cut is marked in its middle


def run(config: Any, run_directory: RunDirectory) -> None:
    writer = PromptWriter(load_tokenizer(), image_tokens=1, max_observation_tokens=TEXT_TOKENS)
    counts: dict[str, Any] = {}
    tasks_by_part = {name: tasks_of(name, part, config.seed) for name, part in config.parts.items()}
    for name, tasks in tasks_by_part.items():
        if not tasks:
            continue
        part = config.parts[name]
        width, height = part["size"]
        browser = None
        if width:
            browser = browsers_for(config, config.browser.pages, width, height)
        progress = Progress(name, len(tasks), "episodes")

        def on_finish(done: int, _: Trajectory, progress: Progress = progress) -> None:
            progress.update(done)

        player = reference_player(writer, "text", part["skill"])
        with Rollouts(
            browser, writer, AgentConfig(), workers=config.browser.pages, sandbox=sandbox_of(config)
        ) as rollouts:
            played = rollouts.play(tasks, player, run_directory.path / TRACES / name, on_finish)
        known = [truth for each in played if (truth := hidden_truth(each)) is not None]
        counts[name] = {"environment": part["environment"], "labelled": len(known), "solved": sum(known)}
        print(f"{name}: {len(known)} of {len(tasks)} labelled, {sum(known)} solved", flush=True)
    total = {each: sum(count[each] for count in counts.values()) for each in ("labelled", "solved")}
    write_json(run_directory.path / "result.json", {"parts": counts, **total, "seed": config.seed})


def tasks_of(name: str, part: Any, seed: int) -> list[Task]:
    """Raises InputError for a part that plays an environment which says nothing of success, and has no reference."""
    fields = [f"config.parts.{name}.{field}" for field in ("environment", "options")]
    options = read_object_text(part["options"], fields[1])
    spec = configured_environment(part["environment"], options, *fields)
    if spec.reference is None:
        raise InputError(f"config.parts.{name}.environment must have a reference player; got {spec.name}")
    if part["episodes"] and spec.needs_browser and not any(part["size"]):
        raise InputError(f"config.parts.{name}.size must be that of a page, which {spec.name} has; got (0, 0)")
    tasks = []
    for number in range(part["episodes"]):
        task = Task(f"{name}-{number}", spec.name, seed * 1_000_003 + number, options, part["max_steps"])
        tasks.append(dataclasses.replace(task, verification=spec.verification(task)))
    return tasks
