"""Tasks and how they are drawn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.sampling import sample_task
from tars_jax.tasks.task import Task

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
    options = json.loads(task.start_expression().removeprefix("game.start(").removesuffix(")"))
    assert options == {"level": 3, "distance": [2, 4], "seed": task.seed}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": "1"}, "field seed takes int, got '1'"),
        ({"seed": True}, "field seed takes int"),
        ({"seed": -1}, "field seed takes 0 or more, got -1"),
        ({"seed": 2**53}, "field seed takes at most 9007199254740991, got 9007199254740992"),
        ({"max_steps": 0}, "field max_steps takes 1 or more, got 0"),
        ({"more": 1}, "unknown field more"),
        ({"max_steps": ...}, "field max_steps is missing"),
    ],
)
def test_bad_task_records_are_refused(change: dict[str, Any], words: str) -> None:
    record = {**sample_task(MAZE, "train", 0, 0, {}).to_json(), **change}
    with pytest.raises(InputError, match=words):
        Task.from_json({name: value for name, value in record.items() if value is not ...})


def test_bad_requests_are_refused() -> None:
    for game, split, index, seed, options, words in [
        ("chess", "train", 0, 0, {}, "chess"),
        (MAZE, "test", 0, 0, {}, "split takes train or eval"),
        (MAZE, "train", -1, 0, {}, "index"),
        (MAZE, "train", 0, 0, {"levels": 1}, "unknown option levels"),
    ]:
        with pytest.raises(InputError, match=words):
            sample_task(game, split, index, seed, options)
    with pytest.raises(InputError, match="max_steps takes 1 or more, got 0"):
        sample_task(MAZE, "train", 0, 0, {}, max_steps=0)
