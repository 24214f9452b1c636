"""Common part of the stages of a chain: their tasks, and evaluation before and after them.

A stage is an experiment of its own. It starts from the weights that `config.model.preset` names, leaves its own in
RUN/policy, and plays the same held-out levels before and after; so every stage can follow every other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.data.recorded import with_verdict
from tars_jax.data.retokenized import MARK
from tars_jax.evaluation import Curve, ReportData
from tars_jax.evaluation.result import before_and_after, write_result
from tars_jax.pipelines.datasets import demonstrations_for
from tars_jax.pipelines.games import Games
from tars_jax.pipelines.mazes import MazeTasks
from tars_jax.pipelines.probing import TaskShape
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.stages import evaluate, supervise
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.pipelines.windows import fill_recorded_sizes
from tars_jax.rollout.players import reference_player
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import save_trajectory


def work_of(config: Any) -> TaskProvider:
    """`config.games` at `config.levels`; without any, mazes as the quickstart's, by their distance."""
    return Games(config) if config.games else MazeTasks(config)


@dataclasses.dataclass(frozen=True)
class StageResult:
    """Result of a stage beside RUN/policy: the same levels played before and after it, and its own words."""

    config: Any  # as it ran, which may have more room than was asked for
    before: list[Trajectory]
    after: list[Trajectory]
    result: dict[str, Any]  # of result.json


def run_stage(
    config: Any,
    run: RunDirectory,
    stage: Callable[[RunContext, TaskProvider], Mapping[str, Any]],
    shapes: Sequence[TaskShape] | None = None,
) -> StageResult:
    """`stage` exports RUN/policy and says what its result is; around it, the evaluations. `shapes`: of the tasks, where
    that is known already."""
    with RunContext(config, run, shapes=shapes) as context:
        provider = work_of(config)
        before = evaluate(context, provider, "before", context.parent)
        more = stage(context, provider)
        after = evaluate(context, provider, "after", context.path / "policy")
        minutes = sum(each["seconds"] for each in run.results().values()) / 60
        return StageResult(context.config, before, after, {"minutes": minutes, "seed": context.config.seed, **more})


def end_stage(run: Path, title: str, curves: Sequence[Curve], found: StageResult) -> None:
    """result.json, report.html and the verdict on a stage. Raises InputError where a side holds no episodes."""
    write_result(
        run,
        ReportData(
            title=title,
            subtitle=", ".join(found.config.games) or found.config.task.game,
            result={**before_and_after(found.before, found.after), **found.result},
            before=found.before,
            after=found.after,
            config=found.config.to_dict(),
            curves=curves,
        ),
        weights=run / "policy",
    )


def imitate(config: Any, run: RunDirectory, name: str) -> StageResult:
    """Continual pre-training and supervised fine-tuning: they differ in what they imitate, and in which tokens."""

    if config.demonstrations.episodes and not work_of(config).has_reference:
        raise InputError(
            "demonstrations.episodes must be 0 for games without reference players, of which there are none to show "
            f"how; got {config.demonstrations.episodes} with {', '.join(config.games)}"
        )
    spec = RunSpec(config)
    recorded = demonstrations_for(spec)
    config = fill_recorded_sizes(config, spec.writer, spec.shapes, recorded)

    def stage(context: RunContext, provider: TaskProvider) -> dict[str, Any]:
        found = [*_demonstrations(context, provider), *recorded]
        kept = with_verdict(found, config.demonstrations.verdict)
        if not kept:
            verdict = config.demonstrations.verdict
            raise InputError(
                f"demonstrations.verdict must be one that some of {len(found)} episodes have; got {verdict!r}"
            )
        loss_on = config.supervised.loss_on
        supervise(context, name, kept, config.supervised, loss_on=loss_on, output=context.path / "policy")
        solved = sum(trajectory.succeeded for trajectory in kept)
        result = {"collected": len(found), "imitated": len(kept), "solved_among_imitated": solved / len(kept)}
        again = [each for each in recorded if each.metadata.get(MARK)]
        if again and run.is_main_process:
            folder = context.path / "trajectories" / MARK
            folder.mkdir(parents=True, exist_ok=True)
            for number, trajectory in enumerate(again):
                save_trajectory(folder / f"{number:08d}.trajectory", trajectory)
        return result | ({MARK: len(again)} if again else {})

    return run_stage(config, run, stage, spec.shapes)


def _demonstrations(context: RunContext, provider: TaskProvider) -> list[Trajectory]:
    """Reference players of each skill in turn over the tasks."""
    config = context.config.demonstrations
    found: list[Trajectory] = []
    parts = np.array_split(np.array(provider.demonstrations(config.episodes), object), len(config.skills))
    for skill, tasks in zip(config.skills, parts, strict=True):
        player = reference_player(context.writer, context.config.agent.grammar, skill)
        found += context.play(f"demonstrations_{skill:g}", tasks.tolist(), player, compiles=False)
    context.record("demonstrations", {"episodes": len(found)})
    return found
