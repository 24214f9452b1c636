"""The rules of the environments that the acceptance of training uses, and what chance and knowledge earn in them."""

from __future__ import annotations

import asyncio
import random
import types
from collections.abc import Callable
from typing import Any

import pytest

from tars_jax.agent import Finished, Type
from tars_jax.environment import ActionSpace, Task, Transition
from tars_jax.envs.examples.functions_vault import DOORS, NOTES
from tars_jax.envs.examples.grid_gymnasium import MOVES
from tars_jax.envs.examples.text_echo import WORDS
from tars_jax.envs.registry import EnvironmentResources, load_environment

ECHO, VAULT = "tars_jax.envs.examples.text_echo:TextEcho", "tars_jax.envs.examples.functions_vault:Vault"
GRID = "gymnasium:tars_jax.envs.examples.grid_gymnasium:Grid-v0"
NAMES = ["up", "right", "down", "left"]
Chooses = Callable[[dict[str, Any], random.Random], Any]


def call(function: str, **parameters: Any) -> Any:
    return types.SimpleNamespace(name=function, parameters=parameters)


def play(name: str, choose: Chooses, seeds: range, options: dict[str, Any] | None = None) -> list[list[Transition]]:
    """The transitions of one episode for each seed."""
    spec = load_environment(name, options or {})

    async def episodes() -> list[list[Transition]]:
        environment, rng, played = spec.checked(EnvironmentResources()), random.Random(0), []
        for seed in seeds:
            observation = await environment.reset(Task("t", name, seed, options or {}, 8))
            turns: list[Transition] = []
            while len(turns) < spec.default_max_steps(options or {}):
                state = {**observation.info["state"], "text": observation.text}
                turns.append(await environment.step([choose(state, rng)]))
                observation = turns[-1].observation
                if turns[-1].terminated or turns[-1].truncated:
                    break
            played.append(turns)
        await environment.close()
        return played

    return asyncio.run(episodes())


def rate(played: list[list[Transition]]) -> float:
    return sum(bool(turns[-1].success) for turns in played) / len(played)


def reference(name: str, skill: float) -> Chooses:
    plays = load_environment(name, {}).reference
    assert plays is not None

    def choose(state: dict[str, Any], rng: random.Random) -> Any:
        move = plays(state, rng, skill)
        return call(move.function, **move.parameters)

    return choose


def toward_the_goal(state: dict[str, Any], rng: random.Random) -> Any:
    rows_down, columns_right = state["observation"]
    if rows_down:
        return call("act", action="down" if rows_down > 0 else "up")
    return call("act", action="right" if columns_right > 0 else "left")


def anything(name: str) -> Chooses:
    def choose(state: dict[str, Any], rng: random.Random) -> Any:
        if name == ECHO:
            return call("say", word=rng.choice(WORDS))
        if name == GRID:
            return call("act", action=NAMES[rng.randrange(len(MOVES))])
        doors, notes = [("door", door) for door in DOORS], [("index", index) for index in range(1, NOTES + 1)]
        parameter, value = rng.choice(rng.choice((doors, notes)))
        return call("open" if parameter == "door" else "read", **{parameter: value})

    return choose


@pytest.mark.parametrize("name", [ECHO, VAULT])
def test_the_reference_player_succeeds(name: str) -> None:
    assert rate(play(name, reference(name, 1.0), range(20))) == 1.0
    assert rate(play(name, reference(name, 0.0), range(40))) < 0.7


@pytest.mark.parametrize(("name", "least", "most"), [(ECHO, 0.06, 0.2), (VAULT, 0.2, 0.4), (GRID, 0.2, 0.5)])
def test_chance_succeeds_now_and_then(name: str, least: float, most: float) -> None:
    """Often enough to begin to learn from, seldom enough that learning shows."""
    options = {"action_names": NAMES} if name == GRID else {}
    assert least < rate(play(name, anything(name), range(200), options)) < most


def test_the_grid_can_always_be_walked() -> None:
    played = play(GRID, toward_the_goal, range(60), {"action_names": NAMES})
    assert rate(played) == 1.0 and {len(turns) for turns in played} == {1, 2}
    assert all(turn.reward > 0 for turns in played for turn in turns)


def test_the_grid_ends_after_four_moves() -> None:
    def into_the_wall(state: dict[str, Any], rng: random.Random) -> Any:
        return call("act", action="up")

    played = play(GRID, into_the_wall, range(20), {"action_names": NAMES})
    assert all(turns[-1].truncated and len(turns) == 4 for turns in played if not turns[-1].success)


def test_the_echo_earns_by_word() -> None:
    def always_red(state: dict[str, Any], rng: random.Random) -> Any:
        return call("say", word="red")

    (turns,) = play(ECHO, reference(ECHO, 1.0), range(1), {"rounds": 3})
    assert [turn.reward for turn in turns] == [1, 1, 1] and turns[-1].success
    assert [turn.terminated for turn in turns] == [False, False, True]
    assert not any(turn.observation.screenshot for turn in turns)
    for turns in play(ECHO, always_red, range(30)):
        assert turns[-1].success is (sum(turn.reward for turn in turns) == 2)


@pytest.mark.parametrize("answer", [Type, Finished])
def test_the_echo_takes_typed_answers(answer: Any) -> None:
    (turns,) = play(ECHO, lambda state, rng: answer(f"{state['word']}\n"), range(1), {"typed": True})
    assert turns[-1].success
    space = load_environment(ECHO, {"typed": True}).make(EnvironmentResources()).action_space
    assert space == ActionSpace("tools", actions=("type", "finished"))


def test_the_vault_pays_for_reading_once_and_ends_with_a_wrong_door() -> None:
    def reads_twice(state: dict[str, Any], rng: random.Random) -> Any:
        return call("read", index=state["note"])

    def opens_another(state: dict[str, Any], rng: random.Random) -> Any:
        return call("open", door=next(door for door in DOORS if door != state["door"]))

    def reads_another(state: dict[str, Any], rng: random.Random) -> Any:
        return call("read", index=3 - state["note"]) if "nothing" not in state["text"] else call("jump")

    (read,) = play(VAULT, reads_twice, range(1))
    assert [turn.reward for turn in read] == [0.2, 0, 0] and not read[-1].terminated
    assert read[0].observation.text.startswith("door ") and read[0].observation.screenshot
    (opened,) = play(VAULT, opens_another, range(1))
    assert len(opened) == 1 and opened[0].terminated and opened[0].success is False
    (lost,) = play(VAULT, reads_another, range(1))
    assert lost[0].observation.text.startswith("nothing") and lost[1].observation.text == "there is no jump"
