"""`composite`: one episode through several environments, one after the other; solved once all of them are.

    load_environment("composite", {"parts": [{"environment": "computer", "options": {"task": "move_file"}},
                                             {"environment": "maze_path_of_light"}]})

All parts begin with the episode, on its seed, and the instruction names what each asks for. A part that ends unsolved
ends the episode, and so does `finished`: a part that asks for an answer must be the last. Each solved part is worth its
share of 1.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.agent.calls import call_of
from tars_jax.environment import ActionSpace, Environment, EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.spec import EnvironmentResources, EnvironmentSpec
from tars_jax.json_fields import Fields
from tars_jax.tasks.games.moves import Move

NAME = "composite"
Loads = Callable[[str, Mapping[str, Any]], EnvironmentSpec]


@dataclasses.dataclass(frozen=True)
class CompositePart:
    """A part of a composite: one of the environments, and the options of its task."""

    spec: EnvironmentSpec
    options: Mapping[str, Any]

    @property
    def max_steps(self) -> int:
        return self.spec.default_max_steps(self.options)

    def task(self, whole: Task, number: int) -> Task:
        return Task(f"{whole.id}.{number}", self.spec.name, whole.seed, self.options, self.max_steps)


class Composite:
    """Plays one episode after another. Its parts are checked environments, with time limits of their own."""

    def __init__(self, parts: Sequence[CompositePart], resources: EnvironmentResources) -> None:
        self._parts, self._resources = parts, resources
        self._made: list[CheckedEnvironment] = []
        self._first: list[Observation] = []  # of each part
        self._current = 0
        self.instruction = ""

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace.joined([each.action_space for each in self._environments()])

    def _environments(self) -> list[CheckedEnvironment]:
        self._made = self._made or [part.spec.checked(self._resources) for part in self._parts]
        return self._made

    async def reset(self, task: Task) -> Observation:
        """Raises InputError where a part refuses its task, or does not tell success itself."""
        tasks = [part.task(task, number) for number, part in enumerate(self._parts, 1)]
        for part, own in zip(self._parts, tasks, strict=True):
            if part.spec.verification(own).by != "environment":
                raise InputError(f"a part of {NAME} must tell success itself; {part.spec.name} leaves it to a judge")
        environments = self._environments()
        self._first = [await each.reset(own) for each, own in zip(environments, tasks, strict=True)]
        self._current = 0
        self.instruction = "\n".join(f"{number}. {each.instruction}" for number, each in enumerate(environments, 1))
        return self._seen(self._first[0])

    async def step(self, actions: Sequence[Any]) -> Transition:
        environment = self._environments()[self._current]
        space = environment.action_space
        known = {*space.actions, *(function.name for function in space.functions)}
        able = [action for action in actions if call_of(action)[0] in known]
        if not able:
            there = ", ".join(sorted(known))
            text = f"{', '.join(call_of(action)[0] for action in actions)}: here there is {there}"
            return Transition(self._seen(self._last, text), success=False)
        turn = await environment.step(able)
        ended, last = turn.terminated or turn.truncated, self._current == len(self._parts) - 1
        if not ended:
            return dataclasses.replace(turn, observation=self._seen(turn.observation), reward=0.0, success=False)
        solved = bool(turn.success)
        if solved and not last and any(isinstance(action, Finished) for action in able):
            name = self._parts[self._current].spec.name  # the agent's loop ends with `finished`
            raise EnvironmentFailure(NAME, f"a part that is solved by `finished` must be the last; {name} is not")
        reward = solved / len(self._parts)
        if last or not solved:
            return dataclasses.replace(turn, observation=self._seen(turn.observation), reward=reward, success=solved)
        self._current += 1
        observation = self._seen(self._first[self._current])
        return Transition(observation, reward, success=False, info=turn.info, rewards=turn.rewards)

    async def close(self) -> None:
        made, self._made = self._made, []
        closed = await asyncio.gather(*(each.close() for each in made), return_exceptions=True)
        for failure in closed:
            if failure is not None:
                raise failure

    def _seen(self, observation: Observation, text: str = "") -> Observation:
        """A part's observation, with the part's name in `info`."""
        self._last = observation
        state = {"part": self._current, "of_part": observation.info.get("state", {})}
        seen = dataclasses.replace(
            observation,
            text="\n".join(filter(None, (text, observation.text))),
            info={**observation.info, "state": state},
        )
        if observation.screenshot:  # which is decoded already
            vars(seen)["pixels"] = observation.pixels
        return seen


def composite_spec(options: Mapping[str, Any], load: Loads) -> EnvironmentSpec:
    """`parts`: [{"environment": NAME, "options": {...}}, ...], two or more. Raises InputError for what is none."""
    parts = _parts(options, load)

    shown = all(part.spec.reference is not None for part in parts)
    return EnvironmentSpec(
        name=NAME,
        make=lambda resources: cast(Environment, Composite(parts, resources)),
        needs_browser=any(part.spec.needs_browser for part in parts),
        default_max_steps=lambda _: sum(part.max_steps for part in parts),
        reference=functools.partial(_reference_move, parts) if shown else None,
        time_limit=math.inf,  # each part has its own
        made_with=options,
        on_callers_loop=True,
    )


def _parts(options: Mapping[str, Any], load: Loads) -> list[CompositePart]:
    fields = Fields(options, f"{NAME}: option ")
    given = fields.array("parts")
    if unknown := fields.unread():
        raise InputError(f"{NAME}: an option must be parts; got {unknown[0]!r}")
    if len(given) < 2 or not all(isinstance(each, dict) for each in given):
        raise fields.error("parts", 'two or more of {"environment": NAME, "options": {...}}')
    found = []
    for number, each in enumerate(given):
        of_part = Fields(each, f"{NAME}: parts[{number}].")
        name, own = of_part.text("environment"), of_part.value("options") or {}
        if unknown := of_part.unread():
            raise InputError(f"{NAME}: a field of a part must be environment or options; got {unknown[0]!r}")
        if not isinstance(own, dict):
            raise of_part.error("options", "an object")
        found.append(CompositePart(load(name, own), own))
    return found


def _reference_move(
    parts: Sequence[CompositePart], state: Mapping[str, Any], rng: random.Random, skill: float = 1.0
) -> Move:
    """That of the part which is played."""
    player = parts[state["part"]].spec.reference
    assert player is not None  # `composite_spec`
    return player(state["of_part"], rng, skill)
