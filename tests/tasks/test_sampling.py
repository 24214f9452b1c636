"""Tasks and how they are drawn."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.environment import Task, Verification
from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.sampling import sample_task

MAZE = "maze_path_of_light"


def test_the_same_words_give_the_same_task() -> None:
    first = sample_task(MAZE, "train", 5, 1, {"level": 2})
    assert first == sample_task(MAZE, "train", 5, 1, {"level": 2})
    assert first.max_steps == 12
    assert sample_task(MAZE, "train", 5, 1, {"level": 2}, max_steps=4).max_steps == 4
    assert sample_task(MAZE, "train", 5, 1, {"distance": [2, 4]}).id != first.id


def test_splits_share_no_seed_whatever_the_stream() -> None:
    seeds = {
        split: {sample_task(MAZE, split, index, seed, {}).seed for index in range(200) for seed in range(5)}
        for split in ("train", "eval")
    }
    assert len(seeds["train"]) == len(seeds["eval"]) == 1000
    assert all(seed % 2 == 0 for seed in seeds["train"]) and all(seed % 2 == 1 for seed in seeds["eval"])
    assert max(seeds["train"] | seeds["eval"]) < 2**53  # exact in JavaScript


def test_tasks_are_plain_data() -> None:
    task = sample_task(MAZE, "eval", 0, 0, {"level": 3, "distance": [2, 4]})
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    options = json.loads(load_game(MAZE).start_expression(task).removeprefix("game.start(").removesuffix(")"))
    assert options == {"level": 3, "distance": [2, 4], "seed": task.seed}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": "1"}, "field seed must be a whole number from 0 to 9007199254740991; got '1'"),
        ({"seed": True}, "field seed must be a whole number .*; got True"),
        ({"seed": -1}, "field seed must be a whole number from 0 to 9007199254740991; got -1"),
        ({"seed": 2**53}, "field seed must be a whole number from 0 to 9007199254740991; got 9007199254740992"),
        ({"max_steps": 0}, "field max_steps must be a whole number from 1 to 2147483647; got 0"),
        ({"more": 1}, "a field must be one of id, .*; got 'more'"),
        ({"max_steps": ...}, "field max_steps must be .*; got nothing"),
    ],
)
def test_bad_task_records_are_refused(change: dict[str, Any], words: str) -> None:
    record = {**sample_task(MAZE, "train", 0, 0, {}).to_json(), **change}
    with pytest.raises(InputError, match=words):
        Task.from_json({name: value for name, value in record.items() if value is not ...})


def test_bad_requests_are_refused() -> None:
    for game, split, index, seed, options, words in [
        ("chess", "train", 0, 0, {}, "chess"),
        (MAZE, "test", 0, 0, {}, "split must be train or eval"),
        (MAZE, "train", -1, 0, {}, "index"),
        (MAZE, "train", 0, 0, {"levels": 1}, "an option must be .*; got levels"),
    ]:
        with pytest.raises(InputError, match=words):
            sample_task(game, split, index, seed, options)
    with pytest.raises(InputError, match="max_steps must be 1 or more; got 0"):
        sample_task(MAZE, "train", 0, 0, {}, max_steps=0)


def test_records_may_leave_out_instruction_and_verification() -> None:
    task = sample_task(MAZE, "train", 0, 0, {"level": 2})
    least = {name: value for name, value in task.to_json().items() if name not in ("instruction", "verification")}
    assert Task.from_json(least) == task


def test_a_task_says_how_success_is_told() -> None:
    task = dataclasses.replace(sample_task(MAZE, "train", 0, 0, {}), verification=Verification("judge", "42", 0.5))
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    for wrong, words in (({"by": "chance"}, "verification.by must be one of"), ({"who": 1}, "got 'who'")):
        with pytest.raises(InputError, match=words):
            Task.from_json({**task.to_json(), "verification": wrong})
