"""Checks of an environment's outputs: observations can be read and written down, rewards are finite floats.

`call` is what gave it, as messages say it: "step of gymnasium:CartPole-v1".
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tars_jax.environment import EnvironmentFailure, Observation, Transition

_PNG = b"\x89PNG\r\n\x1a\n"


def check_observation(call: str, given: Any, *, may_be_empty: bool = False) -> Observation:
    """Raises EnvironmentFailure "observation" for what no policy can read, "protocol" for an info that is no JSON.
    `may_be_empty`: the instruction says it all."""

    def refuse(must: str, got: str) -> EnvironmentFailure:
        return EnvironmentFailure("observation", f"{call} must give {must}; got {got}")

    if not isinstance(given, Observation):
        raise refuse("an Observation", type(given).__name__)
    if not isinstance(given.text, str):
        raise refuse("text as a str", type(given.text).__name__)
    if not isinstance(given.screenshot, bytes):
        raise refuse("a screenshot as bytes of a PNG", type(given.screenshot).__name__)
    if not (given.text or given.screenshot or may_be_empty):
        raise refuse("a screenshot or text", "neither")
    try:
        given.text.encode()
    except UnicodeEncodeError as error:
        raise refuse("text that UTF-8 can write", f"{error.object[error.start]!r}") from None
    if given.screenshot and not given.screenshot.startswith(_PNG):
        raise refuse("a screenshot as PNG", f"bytes that begin with {given.screenshot[:8]!r}")
    try:
        _ = given.pixels  # kept there: whoever looks at them next need not decode them again
    except Exception as error:  # Pillow's differ with what is broken
        raise refuse("a screenshot that can be read", f"{type(error).__name__}: {error}"[:200]) from None
    _check_json(call, given.info)
    return given


def check_transition(call: str, given: Any, *, may_be_empty: bool = False) -> Transition:
    """The transition with numpy's scalars as Python's. Raises EnvironmentFailure as `check_observation` does, and
    "reward" for no number."""
    if not isinstance(given, Transition):
        raise EnvironmentFailure("protocol", f"{call} must give a Transition; got {type(given).__name__}")
    check_observation(call, given.observation, may_be_empty=may_be_empty)
    _check_json(call, given.info)
    if not isinstance(given.rewards, Mapping):
        message = f"rewards that a {call} gives must be numbers by name; got {given.rewards!r:.60}"
        raise EnvironmentFailure("protocol", message)
    return dataclasses.replace(
        given,
        reward=_reward(call, given.reward),
        rewards={str(name): _reward(call, value) for name, value in given.rewards.items()},
        terminated=_flag(call, "terminated", given.terminated),
        truncated=_flag(call, "truncated", given.truncated),
        success=None if given.success is None else _flag(call, "success", given.success, " or None"),
    )


def _flag(call: str, name: str, given: Any, otherwise: str = "") -> bool:
    if isinstance(given, bool | np.bool_):
        return bool(given)
    message = f"{name} that a {call} gives must be True or False{otherwise}; got {given!r:.60}"
    raise EnvironmentFailure("protocol", message)


def _reward(call: str, given: Any) -> float:
    with contextlib.suppress(Exception):  # of arrays that are none
        array = np.asarray(given)
        if array.shape == () and array.dtype.kind in "biuf" and math.isfinite(reward := float(array)):
            return reward
    raise EnvironmentFailure("reward", f"reward that a {call} gives must be a finite number; got {given!r:.60}")


def _check_json(call: str, info: Any) -> None:
    """Trajectories are written as JSON, long after an environment gave them what cannot be."""
    try:
        json.dumps(dict(info))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"info that a {call} gives must be a mapping of JSON; got {type(error).__name__}: {error}"
        raise EnvironmentFailure("protocol", message[:500]) from None
