"""An episode through several environments: solved once all are, and over with the first that is not."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished, ToolCall, Wait
from tars_jax.agent.calls import action_from_call
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, load_environment
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager

ECHO = "tars_jax.envs.examples.text_echo:TextEcho"
VAULT = "tars_jax.envs.examples.functions_vault:Vault"
MAZE = {"environment": "maze_path_of_light", "options": {"distance": [2, 2]}}


def echo(rounds: int) -> dict[str, Any]:
    return {"environment": ECHO, "options": {"rounds": rounds}}


def composite(*parts: dict[str, Any]) -> EnvironmentSpec:
    return load_environment("composite", {"parts": list(parts)})


async def played(spec: EnvironmentSpec, resources: EnvironmentResources, seed: int, skill: float = 1.0) -> list[Any]:
    """The instruction, and what is seen, by the reference player."""
    assert spec.reference is not None
    environment = spec.checked(resources)
    rng = random.Random(seed)
    try:
        seen: Observation = await environment.reset(Task("t", "composite", seed, dict(spec.made_with), 9))
        found: list[Any] = [environment.instruction, seen]
        while not isinstance(found[-1], Transition) or not found[-1].terminated:
            move = spec.reference(seen.info["state"], rng, skill)
            found.append(
                await environment.step(
                    [action_from_call(move.function, move.parameters, space=environment.action_space)]
                )
            )
            seen = found[-1].observation
        return found
    finally:
        await environment.close()


def test_the_next_part_begins_once_one_is_solved_and_each_is_worth_its_share() -> None:
    spec = composite(echo(2), echo(1))
    assert spec.default_max_steps({"parts": [echo(2), echo(1)]}) == 8
    instruction, first, *turns = asyncio.run(played(spec, EnvironmentResources(), 3))
    assert instruction == "1. Say the word.\n2. Say the word."
    assert first.info["state"]["part"] == 0 and first.text.startswith("word: ")
    assert [turn.reward for turn in turns] == [0, 0.5, 0.5]
    assert [turn.success for turn in turns] == [False, False, True]
    assert turns[1].observation.info["state"]["part"] == 1 and turns[1].observation.text.startswith("word: ")


def test_a_part_that_ends_unsolved_ends_the_episode() -> None:
    async def play() -> None:
        environment = composite(echo(1), echo(1)).checked(EnvironmentResources())
        seen = await environment.reset(Task("t", "composite", 0, {}, 9))
        wrong = next(word for word in ("red", "blue") if word not in seen.text)
        turn = await environment.step([ToolCall("say", {"word": wrong})])
        assert turn.terminated and not turn.success and turn.reward == 0
        await environment.close()

    asyncio.run(play())


def test_what_only_another_part_can_do_is_told_and_does_nothing() -> None:
    async def play() -> None:
        environment = composite(echo(1), {"environment": ECHO, "options": {"rounds": 1, "typed": True}}).checked(
            EnvironmentResources()
        )
        assert {*environment.action_space.actions} == {"type", "finished"}
        seen = await environment.reset(Task("t", "composite", 0, {}, 9))
        turn = await environment.step([Finished("red")])
        assert turn.observation.text == f"finished: here there is say\n{seen.text}"
        assert not turn.terminated and not turn.success
        with pytest.raises(InputError, match="step of composite must follow a reset"):
            await environment.close()
            await environment.step([Wait(1)])

    asyncio.run(play())


def test_a_part_that_asks_for_an_answer_must_be_the_last() -> None:
    async def play() -> None:
        asks = {"environment": ECHO, "options": {"rounds": 1, "typed": True}}
        environment = composite(asks, echo(1)).checked(EnvironmentResources())
        seen = await environment.reset(Task("t", "composite", 0, {}, 9))
        with pytest.raises(EnvironmentFailure, match="solved by `finished` must be the last; .*TextEcho is not"):
            await environment.step([Finished(seen.text.removeprefix("word: "))])
        await environment.close()

    asyncio.run(play())


def test_the_failure_of_a_part_is_one_of_the_episode() -> None:
    async def play() -> None:
        broken = {"environment": f"{__name__}:Breaks", "options": {}}
        environment = composite(echo(1), broken).checked(EnvironmentResources())
        seen = await environment.reset(Task("t", "composite", 0, {}, 9))
        word = seen.text.removeprefix("word: ")
        assert (await environment.step([ToolCall("say", {"word": word})])).reward == 0.5
        with pytest.raises(EnvironmentFailure, match="out of order"):
            await environment.step([ToolCall("say", {"word": word})])
        await environment.close()

    asyncio.run(play())


class Breaks:
    """Raises at each step."""

    instruction = "Nothing."
    action_space = load_environment(ECHO, {}).make(EnvironmentResources()).action_space

    async def reset(self, task: Task) -> Observation:
        return Observation(text="ready")

    async def step(self, actions: Any) -> Transition:
        raise RuntimeError("out of order")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, r'parts must be two or more of .*; got nothing'),
        ({"parts": [echo(1)]}, "parts must be two or more of"),
        ({"parts": [echo(1), {"environment": "mase"}]}, "environment must be one of .*; got 'mase'"),
        ({"parts": [echo(1), echo(7)]}, "rounds must be 1 to 4; got 7"),
        ({"parts": [echo(1), {"environment": ECHO, "steps": 3}]}, "must be environment or options; got 'steps'"),
        ({"parts": [echo(1), echo(2)], "order": "any"}, "an option must be parts; got 'order'"),
    ],
)  # fmt: skip
def test_parts_that_are_none_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_environment("composite", options).make(EnvironmentResources()).action_space  # noqa: B018


def test_a_part_that_leaves_success_to_a_judge_is_refused() -> None:
    async def play() -> None:
        judged = {
            "environment": "tars_jax.envs.examples.small_encyclopedia:SmallEncyclopedia",
            "options": {"interface": "sdk"},
        }
        environment = composite(echo(1), judged).checked(EnvironmentResources())
        with pytest.raises(InputError, match="a part of composite must tell success itself; .* leaves it to a judge"):
            await environment.reset(Task("t", "composite", 0, {}, 9))
        await environment.close()

    asyncio.run(play())


@pytest.mark.browser
def test_a_game_and_functions_in_one_episode() -> None:
    async def play() -> list[Any]:
        settings = BrowserConfig(browsers=1, width=160, height=160, pages_per_browser=2)
        async with BrowserManager(settings) as manager:
            spec = composite(MAZE, {"environment": VAULT, "options": {}})
            assert spec.needs_browser
            return await played(spec, page_resources(manager, settings, 1), 2)

    instruction, first, *turns = asyncio.run(play())
    assert first.pixels is not None and instruction.startswith("1. ")
    assert turns[-1].success and sum(turn.reward for turn in turns) == 1
    shapes = [turn.observation.pixels.shape[:2] for turn in turns]
    assert first.pixels.shape[:2] == (160, 160) and shapes[-1] == (48, 48)  # each part as it is
