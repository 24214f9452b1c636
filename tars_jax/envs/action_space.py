"""Typed actions as samples of a gymnasium space, and back.

A sample is one call and every parameter that any call takes; the call uses those that it needs and ignores the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.agent.actions import BUTTONS, DIRECTIONS, GRID, Action, Point
from tars_jax.agent.calls import action_from_call, call_of
from tars_jax.agent.keys import NAMED_KEYS

CALLS = (
    "click",
    "left_double",
    "right_single",
    "drag",
    "hotkey",
    "type",
    "scroll",
    "wait",
    "finished",
    "press",
    "release",
    "mouse_down",
    "mouse_up",
    "move_to",
)
CHARACTERS = "".join(map(chr, range(ord(" "), ord("~") + 1))) + "\n"
KEYS = (*sorted(NAMED_KEYS), *(character for character in CHARACTERS.strip() if character == character.lower()))
MAX_CONTENT = 64
MAX_WAIT = 10


def action_space(seed: int | None = None) -> spaces.Dict:
    """The space of one action.

    call: index into `CALLS`. point, end_point: on the grid of 0..1000; a drag goes from the one to the other. keys: the
    first is an index into `KEYS`, the second and third are 1 more than one, 0 for none; press and release take the
    first. direction, button: indices into up, down, left, right and left, right. seconds: of a wait. content: of type
    and finished.
    """
    return spaces.Dict(
        {
            "call": spaces.Discrete(len(CALLS)),
            "point": spaces.Box(0, GRID, (2,), np.float32),
            "end_point": spaces.Box(0, GRID, (2,), np.float32),
            "keys": spaces.MultiDiscrete([len(KEYS), len(KEYS) + 1, len(KEYS) + 1]),
            "direction": spaces.Discrete(len(DIRECTIONS)),
            "button": spaces.Discrete(len(BUTTONS)),
            "seconds": spaces.Discrete(MAX_WAIT, start=1),
            "content": spaces.Text(MAX_CONTENT, min_length=0, charset=CHARACTERS),
        },
        seed=seed,
    )


_SPACE = action_space()


def space_to_action(sample: Mapping[str, Any]) -> Action:
    """The typed action of a sample of `action_space`.

    Raises:
      InputError: the sample is not in the space.
    """
    if not isinstance(sample, Mapping) or not _SPACE.contains(dict(sample)):
        raise InputError(f"the action must be a sample of tars_jax.envs.action_space(); got {sample!r}")
    name = CALLS[int(sample["call"])]
    first, *others = (int(key) for key in sample["keys"])
    point = Point(*(float(number) for number in sample["point"]))
    parameters: dict[str, Any] = {"point": point}
    match name:
        case "drag":
            end_point = Point(*(float(number) for number in sample["end_point"]))
            parameters = {"start_point": point, "end_point": end_point}
        case "hotkey":
            parameters = {"key": [KEYS[first], *(KEYS[other - 1] for other in others if other)]}
        case "press" | "release":
            parameters = {"key": KEYS[first]}
        case "type" | "finished":
            parameters = {"content": sample["content"]}
        case "scroll":
            parameters["direction"] = DIRECTIONS[int(sample["direction"])]
        case "mouse_down" | "mouse_up":
            parameters["button"] = BUTTONS[int(sample["button"])]
        case "wait":
            parameters = {"time": int(sample["seconds"])}
    return action_from_call(name, parameters)


def action_to_space(action: Action) -> dict[str, Any]:
    """The sample of `action_space` that stands for an action; parameters that it does not use are zero or empty.

    Raises:
      InputError: the space has no such action (another call, no point, too long a text, a fractional wait).
    """
    name, _ = call_of(action)
    sample: dict[str, Any] = {
        "call": np.int64(CALLS.index(name) if name in CALLS else -1),
        "point": np.zeros(2, np.float32),
        "end_point": np.zeros(2, np.float32),
        "keys": np.zeros(3, np.int64),
        "direction": np.int64(0),
        "button": np.int64(0),
        "seconds": np.int64(1),
        "content": "",
    }
    for field, value in vars(action).items():
        match field:
            case "point" | "start_point" if value is not None:
                sample["point"] = np.array([value.x, value.y], np.float32)
            case "end_point":
                sample["end_point"] = np.array([value.x, value.y], np.float32)
            case "keys":
                indices = [KEYS.index(key) if key in KEYS else -1 for key in value]
                sample["keys"][: len(indices)] = [indices[0], *(index + 1 or -1 for index in indices[1:])]
            case "key":
                sample["keys"][0] = KEYS.index(value) if value in KEYS else -1
            case "direction":
                sample["direction"] = np.int64(DIRECTIONS.index(value))
            case "button":
                sample["button"] = np.int64(BUTTONS.index(value))
            case "seconds":
                sample["seconds"] = np.int64(value if value == int(value) else -1)
            case "content":
                sample["content"] = value
    missing_point = getattr(action, "point", sample) is None
    if missing_point or not _SPACE.contains(sample):
        raise InputError(f"a call must be one of {', '.join(CALLS)}, each with all its parameters; got {action!r}")
    return sample
