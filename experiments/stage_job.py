"""What the stages of a chain share: their tasks, their rules, and what stands before and after them.

A stage is an experiment of its own. It starts from the weights that `config.model.preset` names, leaves its own in
RUN/policy, and plays the same held-out levels before and after; so every stage can follow every other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.config import Rule, at_least, between, each, one_of, span
from experiments.games import Games, is_game
from experiments.job_config import FLEET_RULES, JOB_RULES
from experiments.lab import Lab
from experiments.quickstart import Maze
from experiments.stages import evaluate, supervise
from experiments.work import Work
from tars_jax import InputError
from tars_jax.data.recorded import VERDICTS, recorded_trajectories, with_verdict
from tars_jax.evaluation import Curve, ReportData, success_difference, supervised_curves, verdict, write_report
from tars_jax.rollout.players import reference_player
from tars_jax.training.metrics import read_metrics
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.training.supervised import LOSS_ON
from tars_jax.trajectory import Trajectory

WEIGHTS = Rule(
    lambda name: (Path(name) / "checkpoint.json").is_file(),
    "a folder of exported weights to start from, such as RUN/policy of an earlier stage",
)


def rules_of(*sections: str, tasks: bool = True) -> dict[str, Rule]:
    """What a stage takes: the rules of the sections that all stages have, those of `sections`, and those of tasks."""
    taken = ("seed", "model", "agent", "browser", "packing", "engine", "reward", *sections)
    rules = {field: rule for field, rule in JOB_RULES.items() if field.split(".")[0] in taken}
    return (
        rules
        if not tasks
        else {
            **rules,
            **FLEET_RULES,
            "task.evaluation_episodes": JOB_RULES["task.evaluation_episodes"],
            "games": Rule(lambda names: all(map(is_game, names)), "nothing, or names of games and folders of games"),
            "levels": each(at_least(1)),
            "task.max_steps": at_least(1),
            "task.evaluation_distances": span(1),
        }
    )


IMITATION_RULES = rules_of("supervised") | {
    "demonstrations.episodes": at_least(0),
    "demonstrations.distances": span(1),
    "demonstrations.skills": each(between(0, 1)),
    "demonstrations.verdict": one_of(*VERDICTS),
    "supervised.loss_on": one_of(*LOSS_ON),
}


def work_of(config: Any) -> Work:
    """`config.games` at `config.levels`; without any, mazes as the quickstart's, by their distance."""
    return Games(config) if config.games else Maze(config)


def run_stage(
    config: Any,
    run: RunDirectory,
    title: str,
    curves: Sequence[Curve],
    stage: Callable[[Lab, Work], Mapping[str, Any]],
) -> None:
    """`stage` exports RUN/policy and says what its result is; around it, the evaluations and the report."""
    with Lab(config, run) as lab:
        work = work_of(config)
        before = evaluate(lab, work, "before", lab.parent)
        more = stage(lab, work)
        after = evaluate(lab, work, "after", lab.path / "policy")
        if run.leads:
            _finish(lab, title, curves, before, after, more)


def imitate(config: Any, run: RunDirectory, name: str, title: str) -> None:
    """Continual pre-training and supervised fine-tuning: they differ in what they imitate, and in which tokens."""

    def stage(lab: Lab, work: Work) -> dict[str, Any]:
        found = _demonstrations(lab, work)
        kept = with_verdict(found, config.demonstrations.verdict)
        if not kept:
            verdict = config.demonstrations.verdict
            raise InputError(f"demonstrations.verdict got {verdict!r}, which none of {len(found)} episodes has.")
        loss_on = config.supervised.loss_on
        supervise(lab, name, kept, config.supervised, loss_on=loss_on, output=lab.path / "policy")
        solved = sum(trajectory.solved for trajectory in kept)
        return {"collected": len(found), "imitated": len(kept), "solved_among_imitated": solved / len(kept)}

    run_stage(config, run, title, supervised_curves(name, title), stage)


def _demonstrations(lab: Lab, work: Work) -> list[Trajectory]:
    """Reference players of each skill in turn over the tasks, then what earlier runs have recorded."""
    config = lab.config.demonstrations
    found: list[Trajectory] = []
    parts = np.array_split(np.array(work.demonstrations(config.episodes), object), len(config.skills))
    for skill, tasks in zip(config.skills, parts, strict=True):
        player = reference_player(lab.writer, lab.config.agent.grammar, skill)
        found += lab.play(f"demonstrations_{skill:g}", tasks.tolist(), player)
    lab.record("demonstrations", {"episodes": len(found)})
    return found + recorded_trajectories(config.trajectories)


def _finish(
    lab: Lab,
    title: str,
    curves: Sequence[Curve],
    before: list[Trajectory],
    after: list[Trajectory],
    more: Mapping[str, Any],
) -> None:
    """result.json and report.html."""
    start, end = ((sum(each.solved for each in side), len(side)) for side in (before, after))
    result = {
        "score_before": start[0] / start[1],
        "score_after": end[0] / end[1],
        "difference": success_difference(start, end)._asdict(),
        "episodes": min(len(before), len(after)),
        "minutes": sum(stage["seconds"] for stage in lab.run.results().values()) / 60,
        "seed": lab.config.seed,
        **more,
    }
    write_json(lab.path / "result.json", result)
    report = write_report(
        lab.path,
        ReportData(
            title=title,
            subtitle=", ".join(lab.config.games) or lab.config.task.game,
            result=result,
            metrics=read_metrics(lab.path / "metrics.jsonl"),
            before=before,
            after=after,
            config=lab.config.to_dict(),
            curves=curves,
        ),
    )
    print(verdict(result)[1])
    print(json.dumps(result))
    print(f"weights: {lab.path / 'policy'}   report: {report}")
