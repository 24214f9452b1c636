"""The episodes of a benchmark's tasks, and what they cost. Axes: N tasks, K attempts at each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.evaluation.scoring import estimate_mean
from tars_jax.evaluation.statistics import Estimate, wilson_interval
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One attempt at a task; it is FAILED where the infrastructure lost it."""

    task: BenchmarkTask
    attempt: int  # from 0
    trajectory: Trajectory

    @property
    def counts(self) -> bool:
        return self.trajectory.outcome.carries_reward

    @property
    def loss(self) -> str:
        """The reason why the attempt counts nowhere; empty: it counts."""
        if self.counts:
            return ""
        failures = self.trajectory.metadata.get("infrastructure_failures") or ["nobody said why"]
        return self.trajectory.cannot_say or str(failures[-1])

    @property
    def remains(self) -> Mapping[str, Any]:
        """Remains of a lost episode: steps, tokens, turns and the failure's details, as far as they were kept."""
        found: Mapping[str, Any] = {} if self.counts else self.trajectory.metadata.get("lost", {})
        return found


def notes_of(played: Sequence[Attempt]) -> dict[str, str]:
    """Notes in the verdicts of episodes that count, besides their scores, by tasks; of several attempts the last."""
    finals = {
        each.task.id: each.trajectory.metadata.get("final", {}).get("benchmark", {}) for each in played if each.counts
    }
    notes = {id: final.get("details", {}).get("note", "") for id, final in finals.items()}
    return {id: str(note) for id, note in notes.items() if note}


def with_lost_as_0(played: Sequence[Attempt]) -> dict[str, float]:
    """Means over all episodes, each of which counts alike, as leaderboards have it that take an error for a failure."""
    return {
        "score": sum(each.trajectory.reward for each in played if each.counts) / len(played),
        "success": sum(each.counts and each.trajectory.succeeded for each in played) / len(played),
    }


@dataclasses.dataclass(frozen=True)
class BenchmarkRun:
    """Benchmark, tasks and policy of a run."""

    benchmark: Benchmark
    agent: str  # the model's name, or what the checkpoint is called
    tasks: Path
    options: Mapping[str, Any]  # of the environment
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class BenchmarkScore:
    """Score of N tasks, each of which counts alike: means over its attempts."""

    tasks: int
    episodes: int
    score: Estimate
    success: Estimate  # 0..1
    any_attempt: Estimate  # solved in one attempt at least: pass@k
    every_attempt: Estimate  # solved in all

    def to_json(self) -> dict[str, Any]:
        fields = dataclasses.asdict(self)
        return {name: value._asdict() if isinstance(value, Estimate) else value for name, value in fields.items()}


def score_of(played: Sequence[Attempt], most_steps: int | None = None) -> BenchmarkScore:
    """Score of the episodes that count. `most_steps`: an episode with more steps fails. Raises InputError without
    any."""
    scores: dict[str, list[float]] = {}
    solved: dict[str, list[bool]] = {}
    for each in played:
        within = most_steps is None or len(each.trajectory.steps) <= most_steps
        scores.setdefault(each.task.id, []).append(each.trajectory.reward if within else 0.0)
        solved.setdefault(each.task.id, []).append(each.trajectory.succeeded and within)
    means = [sum(map(int, each)) / len(each) for each in solved.values()]
    return BenchmarkScore(
        len(scores),
        len(played),
        estimate_mean([sum(each) / len(each) for each in scores.values()]),
        _share(means),
        _share([float(any(each)) for each in solved.values()]),
        _share([float(all(each)) for each in solved.values()]),
    )


def _share(means: Sequence[float]) -> Estimate:
    """The mean of [N] shares, each of one task. Wilson's interval where each is 0 or 1, else a bootstrap over tasks."""
    if all(mean in (0.0, 1.0) for mean in means):
        solved = int(sum(means))
        return Estimate(solved / len(means), *wilson_interval(solved, len(means)))
    return estimate_mean(means)


def groups_of(played: Sequence[Attempt]) -> dict[str, list[Attempt]]:
    """Episodes that count, by the benchmark's own division of its tasks."""
    found: dict[str, list[Attempt]] = {}
    for each in played:
        if each.counts:
            found.setdefault(each.task.group, []).append(each)
    return dict(sorted(found.items()))


def costs_of(played: Sequence[Attempt]) -> dict[str, float]:
    """Sums over all episodes, of those that were lost the last try: steps, tokens that the policy read (a window's
    first reading of each) and wrote, seconds of episodes, and calls of judging models."""
    episodes = [each.trajectory for each in played]
    tokens = sum(len(window.tokens) for each in episodes for window in each.windows)
    written = sum(each.num_action_tokens for each in episodes)

    def of_lost(name: str) -> Any:
        return sum(each.remains.get(name, 0) for each in played)

    return {
        "steps": sum(len(each.steps) for each in episodes) + of_lost("steps"),
        "tokens_read": tokens - written + of_lost("tokens_read"),
        "tokens_written": written + of_lost("tokens_written"),
        "seconds": round(sum(each.metadata.get("seconds", 0.0) for each in episodes) + of_lost("seconds"), 1),
        "judge_calls": sum(each.metadata.get("judge_calls", 0) for each in episodes),
    }
