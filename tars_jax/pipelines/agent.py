"""An agent from nothing to reinforcement learning, whatever it is to learn.

1. demonstrations: scripted reference players, or a player of one's own, their thoughts kept;
2. supervised: the policy on these and on recorded data; without any it begins as it is;
3. before: the supervised policy on held-out levels;
4. value: the value model on Monte-Carlo returns of the fixed policy; not where advantages come from groups (GRPO);
5. ppo: asynchronous rollouts, multi-turn PPO or GRPO, tasks picked by recent success;
6. after: the same held-out levels.

Every stage goes on where a killed run stopped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.evaluation import DEFAULT_CURVES, Curve, ReportData, Score, ScoreWording, Series
from tars_jax.evaluation.judge_metrics import hidden_verdicts
from tars_jax.evaluation.result import before_and_after, reward_means, reward_scores, write_result
from tars_jax.pipelines.config import command_of
from tars_jax.pipelines.job_checks import ppo_config
from tars_jax.pipelines.mixture import Mixture
from tars_jax.pipelines.ppo_stage import run_ppo
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.sandbox_counts import sum_counts
from tars_jax.pipelines.stages import collect, evaluate, initial_policy, supervise
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.pipelines.value_stage import pretrain
from tars_jax.trajectory import Trajectory

STAGES = ("demonstrations", "supervised", "before", "value", "ppo", "after")


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """The same held-out levels, played before and after PPO."""

    before: list[Trajectory]
    after: list[Trajectory]


def train_agent(context: RunContext, provider: TaskProvider, recorded: Sequence[Trajectory] = ()) -> Evaluated:
    """All stages, into the run directory: RUN/supervised, RUN/value and RUN/policy hold the weights. `recorded`: what
    is imitated besides the demonstrations."""
    start, value = context.path / "supervised", context.path / "value"
    shown = provider.has_reference and context.config.demonstrations.episodes > 0
    imitated = [*(collect(context, provider) if shown else ()), *recorded]
    if imitated:
        supervise(context, "supervised", imitated, context.config.supervised)
    else:
        start = initial_policy(context)
    before = evaluate(context, provider, "before", start)
    if ppo_config(context.config.ppo).uses_values:
        pretrain(context, provider, start)
    run_ppo(context, provider, start, value)
    return Evaluated(before, evaluate(context, provider, "after", context.path / "policy"))


def summary(context: RunContext, evaluated: Evaluated) -> dict[str, Any]:
    """Fields that every job's result.json has."""
    stages = {name: found for name in STAGES if (found := context.run.finished(name)) is not None}
    valued = ("explained_variance", "simulator_explained_variance") if "value" in stages else ()
    return {
        **before_and_after(evaluated.before, evaluated.after),
        "minutes": sum(stage["seconds"] for stage in stages.values()) / 60,
        "seed": context.config.seed,
        "training_episodes": stages["ppo"]["consumed"],
        "lost_episodes": sum(stage.get("lost_episodes", 0) + stage.get("failed", 0) for stage in stages.values()),
        **{name: stages["ppo"][name] for name in ("curriculum",) if name in stages["ppo"]},
        **{name: stages["value"][name] for name in valued},
        **judged_beside_true(evaluated),
        **reward_means(evaluated.before, evaluated.after),
        "infrastructure": sum_counts(stage.get("infrastructure", {}) for stage in stages.values()),
    }


def judged_beside_true(evaluated: Evaluated) -> dict[str, Any]:
    """Quality of a judge whose verdict took the place of the environments' own, before and after PPO, and how many of
    the same episodes were really solved."""
    sides = {"before": hidden_verdicts(evaluated.before), "after": hidden_verdicts(evaluated.after)}
    found = {name: counts for name, counts in sides.items() if counts is not None}
    if len(found) < len(sides):
        return {}
    true = Score.of_successes("true success", *((each.solved, each.total) for each in found.values()))
    return {
        "judge": {name: counts.to_json() for name, counts in found.items()},
        "true_score": true.to_json(),
    }


def scores_of_parts(mixture: Mixture, evaluated: Evaluated) -> list[Score]:
    """Scores of the parts that have held-out tasks."""
    sides = [(side, mixture.parts_of(side)) for side in (evaluated.before, evaluated.after)]
    of_parts = [
        (name, [[each for each, its in zip(side, parts, strict=True) if its == part] for side, parts in sides])
        for part, name in enumerate(mixture.names)
    ]
    return [Score.of_episodes(name, *own) for name, own in of_parts if all(own)]


def part_curves(names: Sequence[str]) -> list[Curve]:
    """Each part of a mixture over training."""

    def curve(title: str, metric: str, note: str, percent: bool = False) -> Curve:
        series = tuple(Series("ppo", f"{name}/{metric}", name) for name in names)
        return Curve("Each part while PPO trains", title, series, note, percent=percent)

    return [
        curve("Success", "success", "of the part's episodes in a batch", percent=True),
        curve("Share of the batch", "weight", "as its weight says, unless a part is away", percent=True),
        curve("Entropy", "entropy", "nats per token"),
        curve("Steps", "episode_steps", "of an episode"),
        curve("Explained variance", "explained_variance", "of the part's returns, by its value model"),
        curve("Correlation of value and return", "value_correlation", "of the part's episodes"),
    ]


def finish(
    context: RunContext,
    evaluated: Evaluated,
    experiment: str,
    title: str,
    subtitle: str,
    parts: Mapping[str, str] = {},
    curves: Sequence[Curve] = DEFAULT_CURVES,
    mixture: Mixture | None = None,
    more: Mapping[str, Any] = {},
) -> None:
    """The end of the job that `experiment` names: result.json, report.html and the verdict. `more`: of the result.

    `parts`: what environments with a score of their own are called, by the names that tasks have for them. The parts of
    a `mixture` have one, too; environments beside them only where a part holds several.
    """
    sides = (evaluated.before, evaluated.after)
    scores = [] if mixture is None else scores_of_parts(mixture, evaluated)
    if mixture is not None:
        curves = [*part_curves(mixture.names), *curves]
        parts = parts if len(parts) > len(mixture.names) else {}
    scores += [
        Score.of_episodes(called, *([each for each in side if each.task["environment"] == name] for side in sides))
        for name, called in parts.items()
    ]
    if truth := judged_beside_true(evaluated).get("true_score"):
        scores += [
            Score.of_episodes("as judged", *sides),
            dataclasses.replace(Score.of_result({"score": truth}), name="the environment's own verdict"),
        ]
    scores += reward_scores(evaluated.before, evaluated.after)
    write_result(
        context.path,
        ReportData(
            title=title,
            subtitle=subtitle,
            result={**summary(context, evaluated), **more},
            scores=scores,
            before=evaluated.before,
            after=evaluated.after,
            curves=curves,
            config=context.config.to_dict(),
            command=command_of(experiment, context.config),
            counted=ScoreWording("its judge says that it solved") if truth else ScoreWording(),
        ),
    )
