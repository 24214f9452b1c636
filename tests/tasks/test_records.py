"""Interaction records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.records import InteractionStep, check_record, interaction_record
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import Outcome

GAME = load_game("maze_path_of_light")
TASK = sample_task("maze_path_of_light", "train", 0, 0, {"level": 1})


def verified(score: int, done: bool) -> dict[str, Any]:
    return {"score": score, "level": 1, "lives": 1, "done": done, "success": done}


STEPS = [
    InteractionStep("click(point='<point>583 417</point>')", 120.0, verified(1, False), 0.0),
    InteractionStep("click(point='<point>583 583</point>')", 240.0, verified(2, True), 1.0),
]


def test_a_record_holds_what_happened_and_survives_json() -> None:
    record = interaction_record(GAME, TASK, STEPS, Outcome.FINISHED, {"player": "reference"})
    assert json.loads(json.dumps(record)) == record
    assert record["reward"] == 1.0 and record["terminated"] and record["outcome"] == "finished"
    assert record["game"] == {"name": GAME.name, "version": GAME.version, "checksums": GAME.checksums}
    assert record["task"]["seed"] == TASK.seed
    assert record["steps"][0]["score"] == 1 and record["steps"][0]["time_ms"] == 120.0


def test_truncated_and_failed_episodes() -> None:
    truncated = interaction_record(GAME, TASK, STEPS[:1], Outcome.TRUNCATED)
    assert truncated["reward"] == 0.0 and not truncated["terminated"]
    failed = interaction_record(GAME, TASK, STEPS[:1], Outcome.FAILED)
    assert failed["reward"] is None
    assert interaction_record(GAME, TASK, [], Outcome.REJECTED)["reward"] == 0.0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"reward": 0.5}, "field reward is 0.5"),
        ({"reward": None}, "field reward is None"),
        ({"outcome": "failed"}, "field reward is 1.0"),
        ({"outcome": "won"}, "outcome"),
        ({"terminated": False}, "field terminated"),
        ({"schema_version": 2}, "schema_version"),
        ({"game": {"name": GAME.name, "version": GAME.version}}, "checksums"),
        ({"game": {"name": "game_2048", "version": "1.0.0", "checksums": {}}}, "field task.game"),
        ({"note": 1}, "note"),
    ],
)
def test_bad_records_are_refused(change: dict[str, Any], field: str) -> None:
    record = interaction_record(GAME, TASK, STEPS, Outcome.FINISHED)
    with pytest.raises(InputError, match=field) as caught:
        check_record({**record, **change}, "records.jsonl line 3")
    assert "records.jsonl line 3" in str(caught.value)


def test_a_verdict_without_lives_is_refused() -> None:
    step = InteractionStep("", 0.0, {"score": 0, "level": 1, "done": False, "success": False}, 0.0)
    with pytest.raises(InputError, match=r"\$\.steps\[0\].*lives"):
        interaction_record(GAME, TASK, [step], Outcome.TRUNCATED)
