"""Observations of gymnasium as text and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from tars_jax.envs.gymnasium_observations import is_readable, observation_json, observation_text, shows_picture


@pytest.mark.parametrize(
    ("space", "value", "text"),
    [
        (spaces.Discrete(500), np.int64(7), "007"),
        (spaces.Discrete(3, start=-1), 1, "+1"),
        (spaces.MultiBinary(3), np.array([0, 1, 1]), "0, 1, 1"),
        (spaces.MultiDiscrete([2, 200]), np.array([1, 30]), "1, 030"),
        (spaces.Box(-4.8, 4.8, (2,)), np.array([0.0351, -4.8], np.float32), "+0.035, -4.800"),
        (spaces.Box(0, 1, (3,)), np.array([0, 0.25, 1], np.float32), "0.000, 0.250, 1.000"),
        (spaces.Box(-0.07, 0.07, (2,)), np.array([0.0123, -0.000001], np.float32), "+0.01230, +0.00000"),
        (spaces.Box(-50, 150, (1,)), np.array([7], np.float32), "+007.0"),
        (spaces.Box(-np.inf, np.inf, (2,)), np.array([1234.5678, -0.0001], np.float32), "+1234.568, +0.000"),
        (spaces.Box(-10, 99, (2,), np.int32), np.array([-3, 42]), "-03, +42"),
        (spaces.Box(-np.inf, np.inf, (2,)), np.array([np.nan, -np.inf], np.float32), "+nan, -inf"),
        (spaces.Box(0, 0, (1,)), np.zeros(1), "0"),
        (spaces.Tuple((spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2))), (14, 10, 0), "14; 10; 0"),
        (spaces.Text(9), "hi", "hi"),
    ],
    ids=str,
)
def test_a_number_takes_the_same_width_whatever_it_is(space: spaces.Space[Any], value: Any, text: str) -> None:
    assert is_readable(space) and observation_text(space, value) == text


def test_entries_of_a_dictionary_are_named() -> None:
    space = spaces.Dict({"word": spaces.Text(5), "hand": spaces.Tuple((spaces.Discrete(3), spaces.MultiBinary(2)))})
    text = observation_text(space, {"word": "hi", "hand": (2, np.array([0, 1]))})
    assert sorted(text.splitlines()) == ["hand: 2; 0, 1", "word: hi"]


@pytest.mark.parametrize(
    ("space", "readable", "picture"),
    [
        (spaces.Box(0, 255, (210, 160, 3), np.uint8), False, True),
        (spaces.Box(0, 255, (84, 84), np.uint8), False, True),
        (spaces.Box(0, 255, (84, 84, 1), np.uint8), False, True),
        (spaces.Box(0, 255, (4, 84, 84), np.uint8), False, True),
        (spaces.Box(0, 255, (4, 96, 96, 3), np.uint8), False, True),
        (spaces.Box(0, 255, (7, 7, 3), np.uint8), False, False),  # a view of cells, no picture
        (spaces.Box(0, 2, (10, 10), np.uint8), False, False),
        (spaces.Box(0, 255, (128,), np.uint8), False, False),
        (spaces.Box(0, 1, (64, 64, 3), np.float32), False, False),
        (spaces.Box(-1, 1, (32,)), True, False),
        (spaces.Box(-1, 1, (33,)), False, False),
        (spaces.Sequence(spaces.Discrete(2)), False, False),
        (spaces.Dict({"a": spaces.Box(0, 255, (9, 9), np.uint8), "b": spaces.Discrete(2)}), True, True),
        (spaces.Tuple([spaces.Box(0, 255, (9, 9), np.uint8)] * 2), False, False),  # which of the two?
    ],
    ids=str,
)
def test_what_is_text_and_what_is_a_picture(space: spaces.Space[Any], readable: bool, picture: bool) -> None:
    assert (is_readable(space), shows_picture(space)) == (readable, picture)


def test_what_is_no_json_is_left_out() -> None:
    value = {"a": np.int64(1), 2: (np.float32(0.5), float("nan")), "big": np.zeros(99), "thing": object(), "n": {}}
    assert observation_json(value) == {"a": 1, "2": [0.5, None], "n": {}}
