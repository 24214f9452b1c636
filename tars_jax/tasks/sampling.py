"""Draws tasks. No level stands in both splits: training levels have even seeds, evaluation levels odd ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.tasks.library import load_playable
from tars_jax.tasks.splits import SPLITS


def level_seed(game: str, split: str, index: int, seed: int) -> int:
    """The seed of level `index`: 51 bits of a hash, then one bit that says the split (exact as a JavaScript number)."""
    digest = hashlib.sha256(f"{game}:{seed}:{index}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 13) * 2 + SPLITS.index(split)


def split_of_seed(seed: int) -> str:
    """The split that a level's seed was drawn for."""
    return SPLITS[seed % len(SPLITS)]


def sample_task(
    game: str, split: str, index: int, seed: int, options: Mapping[str, Any], max_steps: int | None = None
) -> Task:
    """Task number `index` of a split's stream `seed`; the same arguments always give the same task.

    `options` go to the game as they are (`level`, `distance`, ...). `max_steps` is the level's budget unless given.
    Raises `InputError` for an unknown game, split or option.
    """
    playable = load_playable(game)
    playable.check_options(options)
    if split not in SPLITS:
        raise InputError(f"split must be {' or '.join(SPLITS)}; got {split!r}")
    if index < 0 or seed < 0:
        raise InputError(f"index and seed must be 0 or more; got {index} and {seed}")
    if max_steps is not None and max_steps < 1:
        raise InputError(f"max_steps must be 1 or more; got {max_steps}")
    kind = hashlib.sha256(json.dumps(dict(options), sort_keys=True).encode()).hexdigest()[:6]
    return Task(
        id=f"{playable.name}-{split}-{seed}-{index}-{kind}",
        environment=game,
        seed=level_seed(playable.name, split, index, seed),
        options=dict(options),
        max_steps=max_steps if max_steps is not None else playable.steps_for(options),
    )
