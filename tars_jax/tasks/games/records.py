"""Interaction records: one episode of any game as plain JSON under record.schema.json."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema

from tars_jax import InputError
from tars_jax.tasks.games.catalog import GAMES_FOLDER, Game
from tars_jax.tasks.task import Task
from tars_jax.trajectory import Outcome


@dataclasses.dataclass(frozen=True)
class InteractionStep:
    """One action and what the verifier saw after it."""

    action: str  # the call in the text grammar; empty where the response did not parse
    time_ms: float  # virtual time at which the verifier looked
    verified: Mapping[str, Any]  # what window.verify() returned: score, level, lives, done, success
    reward: float


def interaction_record(
    game: Game,
    task: Task,
    steps: Sequence[InteractionStep],
    outcome: Outcome,
    metadata: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The record of one episode. Raises `InputError` if the parts do not make a valid one."""
    rows = [{"action": step.action, "time_ms": step.time_ms, "reward": step.reward, **step.verified} for step in steps]
    record = {
        "schema_version": 1,
        "game": {"name": game.name, "version": game.version, "checksums": dict(game.checksums)},
        "task": task.to_json(),
        "steps": rows,
        "reward": math.fsum(step.reward for step in steps) if outcome.carries_reward else None,
        "terminated": bool(rows) and bool(rows[-1].get("done")),
        "outcome": outcome.value,
        "metadata": dict(metadata or {}),
    }
    check_record(record, task.id)
    return record


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        json.loads((GAMES_FOLDER / "record.schema.json").read_text(encoding="utf-8"))
    )


def check_record(record: Mapping[str, Any], where: str) -> None:
    """Raises `InputError` naming `where` and the field if a record breaks the schema or contradicts itself."""
    error = jsonschema.exceptions.best_match(_validator().iter_errors(record))
    if error is not None:
        raise InputError(f"{where}: field {error.json_path}: {error.message}")
    if record["game"]["name"] != record["task"]["game"]:
        raise InputError(
            f"{where}: field task.game is {record['task']['game']!r}, but the game is {record['game']['name']!r}"
        )
    if (record["reward"] is None) != (record["outcome"] == Outcome.FAILED.value):
        raise InputError(f"{where}: field reward is {record['reward']!r}; it is null for a failed episode and no other")
    total = math.fsum(step["reward"] for step in record["steps"])
    if record["reward"] is not None and not math.isclose(record["reward"], total, abs_tol=1e-9):
        raise InputError(f"{where}: field reward is {record['reward']}, but its steps sum to {total}")
    if record["terminated"] != (bool(record["steps"]) and record["steps"][-1]["done"]):
        raise InputError(f"{where}: field terminated is {record['terminated']}, which its last step contradicts")
