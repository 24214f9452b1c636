"""A reference player of Free the Key: a search over every position that the blocks can reach."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

Block = tuple[int, int, bool]  # the line that it slides along (row if across, else column), its length, across
Places = tuple[int, ...]  # how far along its line each block lies; the key is the first
Slide = tuple[int, int]  # a block's number and by how many cells it goes, to the right or down


def cell_bits(block: Block, place: int, side: int) -> int:
    """The cells that a block covers, one bit each, row by row."""
    line, length, across = block
    step, first = (1, line * side + place) if across else (side, place * side + line)
    return sum(1 << first + step * cell for cell in range(length))


@functools.lru_cache(maxsize=32)
def cover(blocks: tuple[Block, ...], side: int) -> tuple[tuple[int, ...], ...]:
    """`cell_bits` of every block at every place."""
    return tuple(tuple(cell_bits(block, place, side) for place in range(side - block[1] + 1)) for block in blocks)


def slides(covered: tuple[tuple[int, ...], ...], places: Places) -> Iterator[Slide]:
    """Every legal slide."""
    taken = 0
    for bits, place in zip(covered, places, strict=True):
        taken |= bits[place]
    for number, (bits, place) in enumerate(zip(covered, places, strict=True)):
        others = taken ^ bits[place]
        for way in (range(place + 1, len(bits)), range(place - 1, -1, -1)):
            for to in way:
                if bits[to] & others:
                    break
                yield number, to - place


def after(places: Places, slide: Slide) -> Places:
    number, by = slide
    return (*places[:number], places[number] + by, *places[number + 1 :])


@functools.lru_cache(maxsize=16)
def known_distances(blocks: tuple[Block, ...], side: int) -> dict[Places, int]:
    """A cache of `distances` for these blocks."""
    return {}


def distances(blocks: tuple[Block, ...], side: int, places: Places) -> dict[Places, int]:
    """Slides to freedom from every position that can be reached from `places`: two searches, forward and backward."""
    known = known_distances(blocks, side)
    if places in known:
        return known
    covered = cover(blocks, side)
    ways: dict[Places, list[Places]] = {places: []}
    queue = [places]
    for position in queue:
        ways[position] = [after(position, slide) for slide in slides(covered, position)]
        for reached in ways[position]:
            if reached not in ways:
                ways[reached] = []
                queue.append(reached)
    queue = [position for position in ways if position[0] == len(covered[0]) - 1]
    known.update(dict.fromkeys(queue, 0))
    for position in queue:
        for reached in ways[position]:
            if reached not in known:
                known[reached] = known[position] + 1
                queue.append(reached)
    return known


def shortest_way(blocks: tuple[Block, ...], side: int, places: Places) -> list[Slide]:
    """The slides that free the key, the first ones in the order of `slides`. Raises `ValueError` if there are none."""
    known = distances(blocks, side, places)
    if places not in known:
        raise ValueError("these blocks of Free the Key hold the key for ever")
    covered = cover(blocks, side)
    way: list[Slide] = []
    while known[places]:
        way.append(next(one for one in slides(covered, places) if known[after(places, one)] < known[places]))
        places = after(places, way[-1])
    return way


def corner(blocks: tuple[Block, ...], places: Places, number: int) -> tuple[int, int]:
    """Column and row of a block's first cell."""
    line, _, across = blocks[number]
    return (places[number], line) if across else (line, places[number])


def words(blocks: tuple[Block, ...], places: Places, slide: Slide) -> str:
    """A slide in words, the block's place, direction and length: "3 1 down 2"."""
    number, by = slide
    column, row = corner(blocks, places, number)
    direction = ("right" if by > 0 else "left") if blocks[number][2] else ("down" if by > 0 else "up")
    return f"{column} {row} {direction} {abs(by)}"


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One drag. With probability `skill` the first of a shortest way, else any legal slide.

    The thought says where the key is, the slide, and the slide that should follow.
    """
    blocks = tuple(
        (one["row"] if one["across"] else one["column"], one["length"], one["across"]) for one in state["blocks"]
    )
    places = tuple(one["column"] if one["across"] else one["row"] for one in state["blocks"])
    way = shortest_way(blocks, state["side"], places)
    if rng.random() >= skill:
        way = [rng.choice(list(slides(cover(blocks, state["side"]), places)))]
    number, by = way[0]
    thought = f"key {places[0]} {blocks[0][0]}, {words(blocks, places, way[0])}"
    if len(way) > 1:
        thought += f", then {words(blocks, after(places, way[0]), way[1])}"
    column, row = corner(blocks, places, number)
    end = (column + by, row) if blocks[number][2] else (column, row + by)
    points = {"start_point": cell_point(state, column, row), "end_point": cell_point(state, *end)}
    return Move(thought, "drag", points)
