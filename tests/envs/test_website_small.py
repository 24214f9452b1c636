"""What a nano policy learns from (configs/website_small.py), on the real site: two episodes at once, side by side."""

from __future__ import annotations

import asyncio
import json
import os
import random
from typing import Any

import pytest

from configs import website_small
from tars_jax.agent.actions import Action, Click, Point
from tars_jax.agent.calls import action_from_call
from tars_jax.environment import Task, Transition
from tars_jax.envs.website_app import WebsiteAppEnvironment
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed

pytestmark = [
    pytest.mark.browser,
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
    pytest.mark.skipif(not is_installed(load_website("fossil")), reason="fossil is missing: launch/websites.sh fossil"),
]
OPTIONS: dict[str, Any] = json.loads(website_small.get_config().environment_options)
TASK = "boxes-0100-1001"


async def click(played: WebsiteAppEnvironment, state: dict[str, Any], name: str) -> Transition:
    control = next(each for each in state["controls"] if each["name"] == name)
    return await played.step([Click(Point(*control["point"]))])


async def solve(played: WebsiteAppEnvironment, state: dict[str, Any]) -> list[Transition]:
    turns: list[Transition] = []
    while not turns or not turns[-1].terminated:
        move = played.reference_player(state, random.Random(0))
        action: Action = action_from_call(move.function, move.parameters, space=played.action_space)
        turns.append(await played.step([action]))
        state = dict(turns[-1].observation.info["state"])
    return turns


def test_the_boxes_of_one_episode_are_its_own_and_only_what_was_asked_for_is_rewarded() -> None:
    async def play() -> None:
        one, other = (WebsiteAppEnvironment(task=TASK, **OPTIONS) for _ in range(2))
        task = Task("x", "website_app", 1, {}, 6)
        try:
            first, seen = await asyncio.gather(one.reset(task), other.reset(task))
            assert first.pixels is not None and first.pixels.shape == (112, 160, 3)
            assert one.instruction == "Tick only block, break" and first.text == ""
            state = dict(first.info["state"])
            assert [each["name"] for each in state["controls"] if each["checked"]] == ["tpt"]
            turn = await click(one, state, "submit")  # too early
            assert turn.reward == 0 and not turn.terminated
            turn = await click(one, state, "ttb")
            turn = await click(one, dict(turn.observation.info["state"]), "submit")  # something else
            assert turn.reward == 0 and not turn.terminated
            turns = await solve(other, dict(seen.info["state"]))  # three boxes and the button, as nothing changed here
            assert [turn.reward for turn in turns] == [0, 0, 0, 1] and turns[-1].success
            again = await other.reset(task)
            assert [each["checked"] for each in again.info["state"]["controls"]] == [False, False, True, False, False]
            turns = await solve(one, dict(turn.observation.info["state"]))  # and one more box here
            assert [turn.reward for turn in turns] == [0, 0, 0, 0, 1]
        finally:
            await one.close()
            await other.close()

    asyncio.run(play())


@pytest.mark.parametrize("interface", ["sdk", "both"])
def test_the_form_is_shown_by_a_request_where_there_is_no_page_or_by_choice(interface: str) -> None:
    """Of 240 tasks with both interfaces about half are shown by a request; TASK is."""

    async def play() -> None:
        played = WebsiteAppEnvironment(task=TASK, interface=interface, **OPTIONS)
        try:
            seen = await played.reset(Task("x", "website_app", 1, {}, 6))
            assert seen.info["state"]["by"] == "sdk"
            careless = random.Random(1)
            move = played.reference_player(seen.info["state"], careless, 0.0)
            turn = await played.step([action_from_call(move.function, move.parameters, space=played.action_space)])
            assert turn.observation.text.startswith("200\n") and not turn.success
            (turn,) = await solve(played, dict(turn.observation.info["state"]))  # all boxes at once
            assert turn.reward == 1 and turn.success
        finally:
            await played.close()

    asyncio.run(play())
