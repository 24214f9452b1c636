"""The judge `rewards`: a weighted sum of reward functions, each of which is kept, as a curve of its own.

{"functions": {"mine:exact": 1.0, "mine:short": 0.2, "answer": {"weight": 0.5, "endpoint": {...}}}}

A function is `package.module:attribute`, an entry point of `tars_jax.rewards`, or a judge by its name: an object beside
it holds its `weight` (1 unless said) and its options. Success is that every function of a weight above 0 that gives a
verdict (True or False, a judge's success) says so; the threshold of the task tells it where there is one. Functions
over a group are asked when the group is whole: until then the episode says in `metadata["group_rewards"]` which.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.json_fields import is_number
from tars_jax.judges.judge import Judge, Judgement, inquiring, mark_undecided, with_judged_reward
from tars_jax.judges.reward_functions import (
    PLUGINS,
    RewardFunction,
    Value,
    is_judge,
    parts_of,
    reward_function,
)
from tars_jax.trajectory import Trajectory

VALUES, PENDING = "rewards", "group_rewards"  # in an episode's metadata
LoadJudge = Callable[[str, Mapping[str, Any]], Judge]


class FunctionReward(NamedTuple):
    """Reward that one function gave an episode."""

    name: str
    weight: float
    value: float
    verdict: bool | None


class EpisodeRewards:
    """Rewards of one episode by all functions."""

    def __init__(
        self,
        functions: Sequence[RewardFunction],
        judges: Sequence[tuple[str, float, Judge]] = (),
        pending: Mapping[str, Any] = {},
    ) -> None:
        """`judges`: with the name and weight of each. `pending`: the functions over a group, as options name them."""
        self.functions, self.judges, self.pending = tuple(functions), tuple(judges), dict(pending)

    async def values(self, trajectory: Trajectory, task: Task) -> list[FunctionReward]:
        """Values of all functions, one after the other. Raises as `RewardFunction.value` and `Judge.judgement` do."""
        parts = parts_of(trajectory, task)
        found = [_said(each, await each.value(parts)) for each in self.functions]
        for name, weight, judge in self.judges:
            found.append(FunctionReward(name, weight, *await judge.judgement(trajectory, task)))
        return found

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        return _weighted_sum(await self.values(trajectory, task))

    def why_undecidable(self, task: Task, others: Sequence[Task]) -> str:
        """The reason why a judge among the functions cannot judge a task; empty: all can."""
        previews = (getattr(judge.function, "why_undecidable", None) for _, _, judge in self.judges)
        return next(filter(None, (preview(task, others) for preview in previews if preview)), "")

    def close(self) -> None:
        for _, _, judge in self.judges:
            judge.close()


@dataclasses.dataclass(frozen=True)
class RewardsJudge(Judge):
    """Asks the functions, each as often as a judge is asked, and keeps what each said."""

    rewards: EpisodeRewards = dataclasses.field(default_factory=lambda: EpisodeRewards(()))

    async def judged(self, trajectory: Trajectory, task: Task) -> Trajectory:
        """Like `Judge.judged`, with the value of each function in `metadata["rewards"]`."""
        described = self._describe(trajectory)
        with inquiring() as inquiry:
            try:
                values = await self.rewards.values(trajectory, task)
            except CannotSay as verdict:
                return mark_undecided(trajectory, verdict, described | inquiry.to_json())
        described |= inquiry.to_json()
        described[VALUES] = {said.name: said.value for said in values}
        if self.rewards.pending:
            described[PENDING] = self.rewards.pending
        reward, success = _weighted_sum(values)
        return with_judged_reward(trajectory, reward, success, task.verification.threshold, described)


def rewards_judge(load_judge: LoadJudge, functions: Any = None, columns: Collection[str] | None = None) -> RewardsJudge:
    """The judge of these options; `columns` are those of the records, where they are known.

    Raises InputError for a function that is not there, or asks for what nobody knows.
    """
    given = _parse_weights(functions)
    found, judges, pending = [], [], dict[str, Any]()
    names = _short_names(given)
    for name, (weight, options) in given.items():
        value = _found(name)
        if value is None or is_judge(value):
            judges.append((names[name], weight, load_judge(name, options)))
            continue
        function = reward_function(names[name], weight, value, options, columns)
        if function.over_group:
            pending[name] = {"weight": weight, **options, "name": names[name]}
        else:
            found.append(function)
    rewards = EpisodeRewards(found, judges, pending)
    return RewardsJudge("rewards", rewards, rewards=rewards)


async def judged_together(group: Sequence[Trajectory]) -> list[Trajectory]:
    """Episodes of one task, each with the values of the functions over their group that its `metadata` asks for, and
    with the reward that they add. Those that carry no reward stand aside, and those that have been told are compared
    with, as they are.

    Where a function cannot say of an episode, nobody can; where it failed, time and again, JudgeFailure is raised.
    """
    members = [each for each in group if each.outcome.carries_reward]
    asked = next((each.metadata[PENDING] for each in members if PENDING in each.metadata), None)
    if asked is None:
        return list(group)
    functions = _over_group(json.dumps(asked, sort_keys=True))
    parts = [parts_of(each, Task.from_json(each.task)) for each in members]
    columns = [await each.values(parts) for each in functions]
    said = dict(zip(map(id, members), zip(*columns, strict=True), strict=True))
    return [
        _with(each, functions, said[id(each)]) if PENDING in each.metadata and id(each) in said else each
        for each in group
    ]


def _with(member: Trajectory, functions: Sequence[RewardFunction], values: Sequence[Value | None]) -> Trajectory:
    metadata = {name: value for name, value in member.metadata.items() if name != PENDING}
    member = dataclasses.replace(member, metadata=metadata)
    found: list[FunctionReward] = []
    for function, value in zip(functions, values, strict=True):
        if value is None:
            return mark_undecided(member, CannotSay(f"reward function {function.name} returned None"), {})
        found.append(_said(function, value))
    added, verdict = _weighted_sum(found)
    known = [each for each in (member.success, verdict) if each is not None]
    kept = {**metadata.get(VALUES, {}), **{said.name: said.value for said in found}}
    threshold = Task.from_json(member.task).verification.threshold
    return with_judged_reward(member, member.reward + added, all(known) if known else None, threshold, {VALUES: kept})


@functools.lru_cache(maxsize=64)
def _over_group(text: str) -> tuple[RewardFunction, ...]:
    """Reward functions of `metadata["group_rewards"]`, as JSON."""
    found = []
    for name, given in json.loads(text).items():
        short, weight = given.pop("name"), given.pop("weight")
        found.append(reward_function(short, weight, PLUGINS.load(name), given, None))
    return tuple(found)


def _said(function: RewardFunction, value: Value) -> FunctionReward:
    return FunctionReward(function.name, function.weight, float(value), value if isinstance(value, bool) else None)


def _weighted_sum(found: Sequence[FunctionReward]) -> Judgement:
    verdicts = [said.verdict for said in found if said.weight > 0 and said.verdict is not None]
    return Judgement(sum(said.weight * said.value for said in found), all(verdicts) if verdicts else None)


def _parse_weights(functions: Any) -> dict[str, tuple[float, dict[str, Any]]]:
    """Weight and options of each, by its name."""
    if isinstance(functions, Mapping) and functions:
        found = {}
        for name, given in functions.items():
            options = dict(given) if isinstance(given, Mapping) else {"weight": given}
            weight = options.pop("weight", 1.0)
            if not is_number(weight):
                raise InputError(f"weight of reward function {name} must be a number; got {weight!r:.60}")
            found[str(name)] = (float(weight), options)
        return found
    raise InputError(
        'rewards must be functions and their weights, such as {"mine:exact": 1.0, "mine:short": 0.2}; '
        f"got {functions!r:.100}"
    )


def _found(name: str) -> Any:
    """Loads the function of this name; None for the name of a judge."""
    return PLUGINS.load(name) if ":" in name or name in PLUGINS.entry_points() else None


def _short_names(names: Iterable[str]) -> dict[str, str]:
    """As metrics call them: the attribute alone where that tells them apart."""
    names = list(names)
    short = [name.rpartition(":")[2] for name in names]
    return {name: each if short.count(each) == 1 else name for name, each in zip(names, short, strict=True)}
