"""Trains the committed tokenizer on the agent's own language: instructions, memories, thoughts and calls."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tars_jax.agent import Click, Hotkey, Point, Response, format_response
from tars_jax.model.tokenizer import train_tokenizer

DIRECTIONS = ("up", "down", "left", "right")
# Written out: a new game, or a better sentence, must not change the ids that every checkpoint depends on.
INSTRUCTIONS = (
    "Slide the tiles until one of them shows the target number. Use the arrow keys.",
    "Close every line. A click turns a tile by a quarter, clockwise.",
    "Bring the light to the exit.",
)


def _centre(cell: int, cells: int) -> int:
    return round(1000 * (cell + 0.5) / cells)


def corpus(samples: int, seed: int) -> Iterator[str]:
    """Texts of the kinds that an agent reads and writes, in roughly the proportions in which it does."""
    rng = random.Random(seed)
    for _ in range(samples):
        cells = rng.choice((4, 5, 6, 6, 6, 8))
        column, row, exit_column, exit_row = (rng.randrange(cells) for _ in range(4))
        direction = rng.choice(DIRECTIONS)
        yield f"{rng.choice(INSTRUCTIONS)}\nEarlier: {'; '.join(rng.choices(DIRECTIONS, k=2))}; {direction}: nothing\n"
        yield f"{rng.randrange(1, 24)} left"
        way = " ".join(rng.choices(DIRECTIONS, k=rng.randrange(1, 9)))
        thought = f"{column} {row} to {exit_column} {exit_row}, {way}, {direction}"
        point = Point(_centre(rng.randrange(cells), cells), _centre(rng.randrange(cells), cells))
        yield format_response(Response(thought, (Click(point),)), grammar="text")
        yield format_response(Response(f"turn {column} {row}", (Click(point),)), grammar="tool")
        yield format_response(
            Response(f"best {2 ** rng.randrange(1, 12)}, {direction}", (Hotkey((direction,)),)), grammar="text"
        )


def run(config: Any, run_directory: Any) -> None:
    tokenizer = train_tokenizer(corpus(config.samples, config.seed), config.vocabulary)
    path = Path(config.output) if config.output else run_directory.path / "tokenizer.json"
    tokenizer.save(str(path))
    print(f"{path}: {tokenizer.get_vocab_size()} tokens")
