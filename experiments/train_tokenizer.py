"""Trains the committed tokenizer on the agent's own language: instructions, memories, thoughts and calls."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tars_jax.agent import Click, Hotkey, Point, Response, format_response
from tars_jax.model.tokenizer import train_tokenizer
from tars_jax.tasks.games.catalog import game_names, load_game

DIRECTIONS = ("up", "down", "left", "right")


def _centre(cell: int, cells: int) -> int:
    return round(1000 * (cell + 0.5) / cells)


def corpus(samples: int, seed: int) -> Iterator[str]:
    """Texts of the kinds that an agent reads and writes, in roughly the proportions in which it does."""
    rng = random.Random(seed)
    instructions = [load_game(name).instruction for name in game_names()]
    for _ in range(samples):
        cells = rng.choice((4, 5, 6, 6, 6, 8))
        column, row, exit_column, exit_row = (rng.randrange(cells) for _ in range(4))
        direction = rng.choice(DIRECTIONS)
        yield f"{rng.choice(instructions)}\nEarlier: {'; '.join(rng.choices(DIRECTIONS, k=2))}; {direction}: nothing\n"
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
