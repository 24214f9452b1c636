"""A task: one episode to play, as plain data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError

_MOST_EXACT = 2**53 - 1  # in JavaScript, where two larger seeds may be one level


@dataclasses.dataclass(frozen=True)
class Task:
    """One episode of one game or benchmark task. The same task gives the same first screenshot, byte for byte."""

    id: str
    game: str  # a name that `tars_jax.tasks.library.load_playable` takes
    seed: int  # the seed of the level, 0 or more
    options: dict[str, Any]  # the options of `game.start` besides the seed
    max_steps: int  # the agent's step budget

    def start_expression(self) -> str:
        """The JavaScript that begins the episode in the game's page."""
        return f"game.start({json.dumps({**self.options, 'seed': self.seed}, sort_keys=True)})"

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Task:
        """Inverse of `to_json`. Raises `InputError` for a missing, unknown, ill-typed or impossible field."""
        kinds = {"id": str, "game": str, "seed": int, "options": dict, "max_steps": int}
        for name in [*kinds, *record]:
            if name not in record:
                raise InputError(f"task: field {name} is missing; a task takes {', '.join(kinds)}")
            if name not in kinds:
                raise InputError(f"task: unknown field {name}; a task takes {', '.join(kinds)}")
            if type(record[name]) is not kinds[name]:
                raise InputError(f"task: field {name} takes {kinds[name].__name__}, got {record[name]!r}")
        for name, least in (("seed", 0), ("max_steps", 1)):
            if record[name] < least:
                raise InputError(f"task: field {name} takes {least} or more, got {record[name]}")
        if record["seed"] > _MOST_EXACT:
            raise InputError(f"task: field seed takes at most {_MOST_EXACT}, got {record['seed']!r:.60}")
        return cls(**record)
