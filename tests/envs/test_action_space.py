"""The gymnasium space of actions."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tars_jax import InputError
from tars_jax.agent import (
    Action,
    CallUser,
    Click,
    Hotkey,
    MouseDown,
    Point,
    Scroll,
    Type,
    Wait,
    format_response,
    parse_response,
)
from tars_jax.agent.response import Response
from tars_jax.envs import action_space, action_to_space, space_to_action
from tars_jax.envs.action_space import CALLS

POINT = Point(583, 417.5)


@pytest.mark.parametrize(
    "action",
    [
        CallUser(),
        Scroll(None, "up"),
        MouseDown(),
        Wait(0.5),
        Wait(30),
        Type("é"),
        Type("a" * 65),
        Hotkey(("ctrl", "é")),
    ],
)
def test_actions_that_the_space_does_not_hold(action: Action) -> None:
    with pytest.raises(InputError, match="a call must be one of"):
        action_to_space(action)


def test_every_sample_is_an_action_that_can_be_written_down() -> None:
    space = action_space(seed=0)
    seen = set()
    for _ in range(300):
        action = space_to_action(space.sample())
        seen.add(action.name)
        response = Response("", (action,))
        assert parse_response(format_response(response)) == response
        assert space_to_action(action_to_space(action)) == action
    assert seen == set(CALLS)


def test_a_sample_outside_the_space_is_refused() -> None:
    sample = action_to_space(Click(POINT))
    with pytest.raises(InputError, match="must be a sample"):
        space_to_action({**sample, "call": 99})
    with pytest.raises(InputError, match="must be a sample"):
        space_to_action({"call": 0})


def test_environments_do_without_jax() -> None:
    code = "import sys, tars_jax.envs; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
