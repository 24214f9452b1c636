"""The corridor, as text and on the device: what memory is for, and what the last steps alone are worth."""

from __future__ import annotations

import asyncio
import functools
import random
import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.actions import ToolCall
from tars_jax.agent.grammar import format_response
from tars_jax.agent.loop import AgentConfig, play_episode
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.response import Response
from tars_jax.environment import Task
from tars_jax.envs.corridor import AHEAD, WAYS
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.envs.on_device.corridor import Walk
from tars_jax.envs.on_device.game import DeviceCall
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.trajectory import Trajectory

TOKENIZER = load_tokenizer()
WRITER = PromptWriter(TOKENIZER, image_tokens=0, max_observation_tokens=16)
LEVELS = 40


class Reader:
    """Goes by what stands in its context now, and by nothing else. Where no way is named it turns left."""

    def __init__(self) -> None:
        self.context = ""

    async def respond(self, tokens: Sequence[int], images: Sequence[Any], *, restart: bool) -> Sampled:
        self.context = ("" if restart else self.context) + TOKENIZER.decode(tokens)
        told = self.context.split("sign says.")[1].replace(" left<", "<")
        known, shown = self.known(told), told.rsplit("<|user|>", 1)[-1]
        answer = format_response(
            Response(self.thought(known, shown), (ToolCall("go", {"way": self.way(known, shown)}),))
        )
        self.context += answer
        written = TOKENIZER.encode(f"{answer}<|end|>")
        return Sampled(tuple(written), (0.0,) * len(written), (0,) * len(written))

    def known(self, told: str) -> str:
        return next((way for way in WAYS if f"sign: {way}" in told or f"Earlier: {way}" in told), "left")

    def thought(self, known: str, shown: str) -> str:
        return known if "sign" in shown or "end" in shown else "on"

    def way(self, known: str, shown: str) -> str:
        return known if "end" in shown else AHEAD


class Repeater(Reader):
    """Says the way that it knows at every step, and knows it by what it said last."""

    def thought(self, known: str, shown: str) -> str:
        return known

    def known(self, told: str) -> str:
        return next((way for way in WAYS if f"Thought: {way}" in told), super().known(told))


class Waster(Reader):
    """Sees the present and the steps that are left. At the sign it wastes two steps where that says right, so that few
    left at the end say so, too."""

    def way(self, known: str, shown: str) -> str:
        (left,) = (int(number) for number in re.findall(r"(\d+) left", shown))
        if "end" in shown:
            return "right" if left <= 2 else AHEAD
        return "left" if "sign: right" in shown and left > 8 else AHEAD


def played(seed: int, memory: MemoryConfig, reader: type[Reader] = Reader) -> Trajectory:
    async def play() -> Trajectory:
        spec = load_environment("corridor", {})
        environment = spec.make(EnvironmentResources())
        task = Task(f"{seed}", "corridor", seed, {}, spec.default_max_steps({}))
        return await play_episode(
            environment,
            await environment.reset(task),
            reader(),
            WRITER,
            AgentConfig(memory=memory),
            id=task.id,
            task=task,
            instruction=environment.instruction,
            space=environment.action_space,
        )

    return asyncio.run(play())


@pytest.mark.parametrize(
    ("memory", "always"),
    [
        (MemoryConfig(0, 0, 12), True),  # episodic memory
        (MemoryConfig(8, 8, 0), True),  # a window that is longer than any corridor
        (MemoryConfig(4, 4, 0), False),  # one that is shorter: the sign has left it
        (MemoryConfig(0, 0, 4), False),  # a memory that has forgotten it
    ],
)
def test_the_last_steps_alone_are_worth_a_guess(memory: MemoryConfig, always: bool) -> None:
    episodes = [played(seed, memory) for seed in range(LEVELS)]
    is_left = [episode.steps[0].info["state"]["way"] == "left" for episode in episodes]
    assert 0.1 < np.mean(is_left) < 0.4
    assert [episode.succeeded for episode in episodes] == [always or left for left in is_left]
    assert [episode.reward for episode in episodes] == [float(episode.succeeded) for episode in episodes]


def test_what_else_may_serve_as_memory() -> None:
    """As docs/rollout.md says: its own words in a window of two steps; wasted steps, with nothing kept at all."""
    assert all(played(seed, MemoryConfig(2, 2, 0), Repeater).succeeded for seed in range(LEVELS))
    wasted = [played(seed, MemoryConfig(0, 0, 0), Waster).succeeded for seed in range(120)]
    assert 0.35 < np.mean(wasted) < 0.5  # 5 of 12: all that say up, and of those that say right the two longer ways


def test_the_reference_player_and_wrong_ways() -> None:
    spec = load_environment("corridor", {"shortest": 2, "longest": 2})
    reference = spec.reference
    assert reference is not None

    async def ends(ways: Sequence[str] | None) -> list[Any]:
        environment = spec.make(EnvironmentResources())
        state = (await environment.reset(Task("a", "corridor", 3, {}, 5))).info["state"]
        found: list[Any] = []
        for turn in range(4):
            shown = reference(state, random.Random(0), 1.0).parameters["way"]
            way = shown if ways is None else ways[turn]
            transition = await environment.step([ToolCall("go", {"way": way})])
            state = transition.observation.info["state"]
            found.append((transition.reward, transition.terminated, transition.success))
            if transition.terminated:
                break
        return found

    goes_on, solved = (0.0, False, False), (1.0, True, True)
    assert asyncio.run(ends(None)) == [goes_on, goes_on, solved]
    wrong = [asyncio.run(ends([AHEAD, AHEAD, way]))[-1] for way in WAYS]
    assert sorted(wrong) == [(0.0, True, False)] * 3 + [solved]
    assert asyncio.run(ends(["left", AHEAD, "back", AHEAD])) == [goes_on] * 4  # nothing but ahead leads anywhere


def test_a_corridor_that_there_is_not() -> None:
    for options in ({"shortest": 0}, {"longest": 3}, {"longest": "7"}):
        with pytest.raises(InputError, match="shortest and longest of a corridor must be 1 to 100, shortest first"):
            load_environment("corridor", options)
    with pytest.raises(InputError, match="corridor: an option must be shortest or longest; got 'level'"):
        load_environment("corridor", {"level": 1})
    with pytest.raises(InputError, match="a corridor's steps must be 1 to 15"):
        make_game("corridor", {"longest": 16})


# ---- on the device


def on_device(window: int, steps: int = 10) -> np.ndarray:
    """[2, levels] bool: whether a player that sees the last `window` screenshots, and turns right where none of them is
    the sign, succeeds; and whether right is right."""
    game = make_game("corridor", {})

    def play(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        start = game.reset(key)
        signs = jax.vmap(lambda way: game.draw(Walk(way, jnp.int32(5), jnp.int32(0), jnp.int32(-1))))(jnp.arange(4))

        def step(carry: Any, _: None) -> tuple[Any, None]:
            state, seen, alive = carry
            seen = jnp.concatenate([seen, game.draw(state)[None]])[1:]
            same = (seen[:, None] == signs[None]).all((2, 3, 4)).any(0)
            at_end = (game.draw(state) == game.draw(start.replace(gone=start.length))).all()
            choice = jnp.where(at_end, jnp.where(same.any(), jnp.argmax(same), 1), 0)
            after, _reward, done = game.step(state, DeviceCall(jnp.int32(0), jnp.full(2, -1), choice.astype(jnp.int32)))
            state = jax.tree.map(lambda new, old: jnp.where(alive, new, old), after, state)
            return (state, seen, alive & ~done), None

        nothing = jnp.zeros((window, *game.draw(start).shape), jnp.uint8)
        (last, _, _), _ = jax.lax.scan(step, (start, nothing, jnp.bool_(True)), None, steps)
        return game.succeeded(last), start.way == 1

    return np.asarray(jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), 64)))


@functools.cache
def levels() -> np.ndarray:
    return on_device(1)[1]


@pytest.mark.parametrize(("window", "always"), [(3, False), (5, False), (8, True)])
def test_the_last_screenshots_alone_are_worth_a_guess(window: int, always: bool) -> None:
    assert 0.1 < levels().mean() < 0.4
    np.testing.assert_array_equal(on_device(window)[0], np.ones(64, bool) if always else levels())
