"""Trains the committed tokenizer on the agent's own language: instructions, memories, thoughts and calls."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent import Click, Hotkey, Point, Response, format_response
from tars_jax.files import write_atomic
from tars_jax.model.tokenizer import train_tokenizer
from tars_jax.training.progress import working

DIRECTIONS = ("up", "down", "left", "right")
# Written out: a new game, or a better sentence, must not change the ids that every checkpoint depends on.
INSTRUCTIONS = (
    "Slide the tiles until one of them shows the target number. Use the arrow keys.",
    "Close every line. A click turns a tile by a quarter, clockwise.",
    "Bring the light to the exit.",
    "Clear the table. A click takes a tile that nothing lies on into the tray, where three of a kind vanish. "
    "Do not fill the tray.",
    "Eat every fruit, then bring the snake to the exit. Use the arrow keys; each press is one cell.",
    "Fill the outline with the pieces, without a gap. Click a piece, then its place, or drag it there.",
    "Free the key: drag the blocks along their way until the key can leave the board at the gate.",
    "Light every lamp. A click turns a wire; power flows from the source through wires that meet.",
    "Tap a group of equal gems: they merge where you tap, into the next number. Reach the target.",
    "Drag the pieces onto the board. A full row or column clears, and makes points. Reach the target score.",
    "Sort the faces: click a tube, then the tube to pour into. Each tube must hold one kind.",
    "Drop each block into a column. Equal blocks that touch merge and double. Make the target number.",
    "Turn the mirrors by clicks until the laser hits every target; walls stop the beam.",
    "Untangle the yarn: drag the knots until no two threads cross.",
    "Drag the wooden blocks onto the board; full lines vanish.",
)
# What reference players of such games say that they see and do.
REMARKS = (
    "{a} in tray, {word} {b}, take {word} {c} {d}",
    "head {a} {b}, fruit {c} {d}, {way}, {direction}",
    "{a} {b} fits {c} {d}, put {e} {f}",
    "key at {a}, block {b} {c} in the way, drag {direction} {d}",
    "{a} of {b} lamps on, turn {c} {d}",
    "{a} gems of {b} at {c} {d}, tap",
    "{word} of {a}, best {b}, move {c} {d} to {e} {f}",
    "score {a} of {b}, {c} left, column {d}",
    "tube {a} on tube {b}, {word} on {word}",
    "{a} crossings, drag {b} {c} to {d} {e}",
    "{a} of {b} targets lit, mirror {c} {d}",
)
WORDS = (
    "red", "green", "blue", "yellow", "orange", "purple", "pink", "white", "black", "star", "heart", "moon", "sun",
    "leaf", "fish", "bird", "cherry", "apple", "smile", "empty", "top", "bottom", "row", "line", "square", "button",
)  # fmt: skip


def _center(cell: int, cells: int) -> int:
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
        places = {name: rng.randrange(13) for name in "abcdef"}
        remark = rng.choice(REMARKS).format(word=rng.choice(WORDS), way=way, direction=direction, **places)
        point = Point(_center(rng.randrange(cells), cells), _center(rng.randrange(cells), cells))
        yield format_response(Response(thought, (Click(point),)), grammar="text")
        yield format_response(Response(remark, (Click(point),)), grammar="text")
        yield format_response(Response(f"turn {column} {row}", (Click(point),)), grammar="tool")
        yield format_response(
            Response(f"best {2 ** rng.randrange(1, 12)}, {direction}", (Hotkey((direction,)),)), grammar="text"
        )


def run(config: Any, run_directory: Any) -> None:
    path = Path(config.output) if config.output else run_directory.path / "tokenizer.json"
    if os.path.isdir(path) or not os.path.isdir(path.parent):
        raise InputError(f"config.output must be a file in a folder that exists; got {config.output!r}")
    with working("tokenizer"):
        tokenizer = train_tokenizer(corpus(config.samples, config.seed), config.vocabulary)
    write_atomic(path, tokenizer.to_str(pretty=True).encode())
    print(f"{path}: {tokenizer.get_vocab_size()} tokens")
