"""Reward functions: plain Python, called with those of an episode's parts that their parameters name.

    def exact(completion, answer): return completion.strip() == answer         # of one episode
    async def short(completion): return 1.0 - len(completion) / 100            # awaited
    def longest(completions): return [... for each in completions]             # of a group: episodes of one task

They are called as `verifiers` and TRL call theirs. Of one episode a function may take `prompt` and `completion` (text
where the prompt is a text, else messages {"role", "content"}), any column of the record by its name, `info` (a column,
read where it is JSON), `state` (a dict with all of these, one for all functions of the episode, which they may write
to), `trajectory` and `task`; `**kwargs` gets all of these. One that takes any of `prompts`, `completions`, `states`,
`infos`, `trajectories`, `tasks` is asked once for a group and gets lists, of columns too, under their names or with an
s behind; it returns a list. What a function returns is a number; True or False, which is a verdict as well; or None:
it cannot say.
"""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
import inspect
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.judges.judge import DEFAULT_TIME_LIMIT_S, UnreadableVerdict, ask_with_retries
from tars_jax.judges.reference import answer_of
from tars_jax.plugins import Plugins
from tars_jax.trajectory import Trajectory

PLUGINS = Plugins("reward function", "tars_jax.rewards")
_OF_EPISODE = ("prompt", "completion", "state", "info", "trajectory", "task")
_OF_GROUP = ("prompts", "completions", "states", "infos", "trajectories", "tasks")
_TAKEN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
Value = float | bool


@dataclasses.dataclass(frozen=True)
class RewardFunction:
    """A reward function and its weight."""

    name: str  # in metrics
    weight: float  # 0: it is measured alone
    function: Callable[..., Any]
    parameters: Mapping[str, bool]  # by name, whether it must be given: None where a record lacks the column
    takes_all: bool  # every column besides
    over_group: bool
    time_limit: float = DEFAULT_TIME_LIMIT_S  # seconds for one episode, or one group

    async def value(self, parts: Mapping[str, Any]) -> Value:
        """Reward of one episode. Raises CannotSay, and JudgeFailure where it failed or gave no number, time and
        again."""

        async def ask() -> Value | None:
            return self._number(await self._called(self._arguments(parts, parts, None)))

        if (said := await ask_with_retries(f"reward function {self.name}", ask, self.time_limit)) is None:
            raise CannotSay(f"reward function {self.name} returned None")
        value: Value = said
        return value

    async def values(self, group: Sequence[Mapping[str, Any]]) -> list[Value | None]:
        """Reward of each episode of a group; None where it cannot say. Raises JudgeFailure as `value` does."""

        async def ask() -> list[Value | None]:
            names = dict.fromkeys(name for parts in group for name in parts)
            columns = {name: [parts.get(name) for parts in group] for name in names}
            several = {plural: columns.get(one) for one, plural in zip(_OF_EPISODE, _OF_GROUP, strict=True)}
            with_s = {f"{name}s": values for name, values in columns.items()}
            known = {**with_s, **columns, **several}
            said = await self._called(self._arguments(known, columns, [None] * len(group)))
            if not isinstance(said, Sequence | type(None)) and hasattr(said, "tolist"):
                said = said.tolist()
            if not isinstance(said, Sequence) or isinstance(said, str) or len(said) != len(group):
                got = f"{len(said)}" if isinstance(said, list | tuple) else f"{said!r:.60}"
                raise InputError(
                    f"reward function {self.name} must return a list of {len(group)} numbers, one for each completion; "
                    f"got {got}"
                )
            return [self._number(each) for each in said]

        values: list[Value | None] = await ask_with_retries(f"reward function {self.name}", ask, self.time_limit)
        return values

    def _arguments(self, known: Mapping[str, Any], columns: Mapping[str, Any], nothing: Any) -> dict[str, Any]:
        named = {name: known.get(name, nothing) for name, needed in self.parameters.items() if needed or name in known}
        return {**(columns if self.takes_all else {}), **named}

    async def _called(self, arguments: dict[str, Any]) -> Any:
        said = await asyncio.to_thread(self.function, **arguments)
        return await said if inspect.isawaitable(said) else said

    def _number(self, said: Any) -> Value | None:
        if said is None:
            return None
        if type(said).__name__ in ("bool", "bool_"):
            return bool(said)
        if not hasattr(said, "__float__"):
            raise InputError(
                f"reward function {self.name} must return a number, True, False or None; got {said!r:.60}"
                + (" (a list is what a function of `completions` returns)" if isinstance(said, list) else "")
            )
        if not math.isfinite(number := float(said)):
            raise UnreadableVerdict(f"it returned {number}")
        return number


def reward_function(
    name: str, weight: float, value: Any, options: Mapping[str, Any], columns: Collection[str] | None
) -> RewardFunction:
    """The function that `value` is, or a class with these options makes.

    `columns`: of the records; None: not known. Raises InputError for what is no function, for options of one, and for
    a parameter that nothing is known for.
    """
    if isinstance(value, type):
        try:
            value = value(**options)
        except TypeError as error:
            about = f"reward function {name} must be made with its options; got {dict(options)}"
            raise InputError(f"{about}: {error}") from error
    elif options:
        raise InputError(f"reward function {name} must be a class to have options; got {', '.join(options)}")
    if not callable(value):
        raise InputError(f"reward function {name} must be a function; got an object of type {type(value).__name__}")
    parameters = list(inspect.signature(value).parameters.values())
    over_group = any(each.name in _OF_GROUP for each in parameters)
    for each in parameters:
        if each.kind not in (*_TAKEN, inspect.Parameter.VAR_KEYWORD):
            raise InputError(f"reward function {name} must take its parameters by name; got {each}")
        if columns is not None and each.kind in _TAKEN and each.default is inspect.Parameter.empty:
            _check_known(name, each.name, over_group, columns)
    return RewardFunction(
        name=name,
        weight=weight,
        function=value,
        parameters={each.name: each.default is inspect.Parameter.empty for each in parameters if each.kind in _TAKEN},
        takes_all=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters),
        over_group=over_group,
        time_limit=getattr(value, "time_limit", DEFAULT_TIME_LIMIT_S),
    )


def is_judge(value: Any) -> bool:
    """Whether it is called with an episode and its task, as judges are."""
    try:
        call = value.__call__ if isinstance(value, type) else value
        names = [each for each in inspect.signature(call).parameters if each != "self"]
    except (TypeError, ValueError):
        return False
    return names == ["trajectory", "task"]


def parts_of(trajectory: Trajectory, task: Task) -> dict[str, Any]:
    """Parts of an episode that functions may take: its dialog and record, where the environment keeps them in `info`
    (`tars_jax.envs.prompt_dataset`); elsewhere its instruction and its answer."""
    seen = [*(step.info for step in trajectory.steps), trajectory.metadata.get("final", {})]
    record = seen[0].get("record", {})
    said = {info["turn"]: info["messages"] for info in seen if "turn" in info}  # what follows no action is there again
    dialog = [message for _, messages in sorted(said.items()) for message in messages]
    prompt: Any = seen[0].get("prompt", trajectory.metadata.get("instruction") or task.instruction)
    completion: Any = dialog or [{"role": "assistant", "content": ""}]
    if "prompt" not in seen[0]:
        completion = answer_of(trajectory) or ""
    elif isinstance(prompt, str):
        completion = completion[0]["content"]
    parts = {"trajectory": trajectory, "task": task, "info": {}, **record, "prompt": prompt, "completion": completion}
    if isinstance(parts["info"], str):
        parts["info"] = _read(parts["info"])
    return {**parts, "state": dict(parts)}


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _check_known(name: str, parameter: str, over_group: bool, columns: Collection[str]) -> None:
    own = (*_OF_EPISODE, *_OF_GROUP) if over_group else _OF_EPISODE
    if parameter in own or parameter in columns or (over_group and parameter.removesuffix("s") in columns):
        return
    near = difflib.get_close_matches(parameter, [*own, *columns], 1)
    raise InputError(
        f"reward function {name} must take {', '.join(own[:4])} or a column of the data "
        f"({', '.join(sorted(columns)) or 'none is known'}); got the parameter {parameter!r}"
        + (f" (did you mean {near[0]!r}?)" if near else "")
    )
