"""A reference player of Tiles Master: depth-first search for a way to clear the table that never fills the tray."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

SEARCHED = 20_000  # positions looked at before a search gives up

Tile = Mapping[str, Any]


def blockers_of(tiles: Sequence[Tile]) -> list[int]:
    """For each tile the set of tiles that lie on it, as bits in the order of `tiles`."""
    return [
        sum(
            1 << index
            for index, other in enumerate(tiles)
            if other["layer"] > tile["layer"]
            and abs(other["column"] - tile["column"]) < 2
            and abs(other["row"] - tile["row"]) < 2
        )
        for tile in tiles
    ]


def bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class TileTable:
    """The tiles at the beginning of a search. A position is the set of tiles left: the tray follows from it."""

    def __init__(self, tiles: Sequence[Tile], tray: Sequence[str], places: int) -> None:
        self.kinds = [tile["kind"] for tile in tiles]
        self.blockers = blockers_of(tiles)
        self.covers = [
            sum((above >> tile & 1) << index for index, above in enumerate(self.blockers)) for tile in range(len(tiles))
        ]
        self.everything = (1 << len(tiles)) - 1
        self.tray = Counter(tray)
        self.places = places
        self._dead: set[int] = set()

    def ranked(self, left: int, tray: Counter[str]) -> list[int]:
        """The free tiles of a position, the most promising first.

        Best is a kind that is complete with free tiles alone, begun ones first; then one that stands in the tray; then
        the tile that covers the most.
        """
        free = [tile for tile in bits(left) if not self.blockers[tile] & left]
        open_kinds = Counter(self.kinds[tile] for tile in free)

        def rank(tile: int) -> tuple[bool, int, int, int, int]:
            kind = self.kinds[tile]
            uncovers = (self.covers[tile] & left).bit_count()
            return tray[kind] + open_kinds[kind] < 3, -tray[kind], -open_kinds[kind], -uncovers, tile

        return sorted(free, key=rank)

    def clear(self) -> list[int] | None:
        """The tiles in the order of a way that wins; None if there is none (or none was found in `SEARCHED` positions).

        What follows a first move is the way from the position after it: the player needs no memory.
        """
        self._dead.clear()
        return self._search(self.everything, self.tray, [])

    def _search(self, left: int, tray: Counter[str], way: list[int]) -> list[int] | None:
        if not left:
            return way
        if left in self._dead or len(self._dead) > SEARCHED:
            return None
        held = sum(tray.values())
        for tile in self.ranked(left, tray):
            kind = self.kinds[tile]
            third = tray[kind] == 2
            if not third and held + 1 >= self.places:
                continue
            after = tray.copy()
            after[kind] = 0 if third else after[kind] + 1
            found = self._search(left ^ (1 << tile), after, [*way, tile])
            if found is not None:
                return found
        self._dead.add(left)
        return None


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click. With probability `skill` the next tile of a way that wins, else any free tile."""
    tiles, tray = state["tiles"], state["tray"]
    table = TileTable(tiles, tray, state["places"])
    if rng.random() < skill:
        way = table.clear() or table.ranked(table.everything, table.tray)
        tile = tiles[way[0]]
    else:
        tile = rng.choice([tile for tile in tiles if tile["free"]])
    kind, column, row = tile["kind"], tile["column"], tile["row"]
    thought = f"{len(tray)} in tray, {kind} {tray.count(kind)}, take {kind} {column} {row}"
    return Move(thought, "click", {"point": cell_point(state, column / 2, row / 2)})
