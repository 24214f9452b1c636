"""A reference player of Snake Solver: the shortest order of the fruits, each by a shortest way, then the exit."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move

DIRECTIONS = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}
SHUT = 10**6  # a move that never comes
SEARCHED = 1500  # orders of fruits, in part or whole, that are looked at

LOOKAHEAD = 4  # moves of the way that a thought names, at most

Cell = tuple[int, int]  # column, row
Body = tuple[Cell, ...]  # head first


def neighbours(size: int) -> dict[Cell, list[Cell]]:
    return {
        (column, row): [
            (column + dx, row + dy)
            for dx, dy in DIRECTIONS.values()
            if 0 <= column + dx < size and 0 <= row + dy < size
        ]
        for column in range(size)
        for row in range(size)
    }


class Garden:
    """The part of a state that stays the same while the snake moves, with the searches over it."""

    def __init__(self, size: int, walls: Sequence[Cell], exit_cell: Cell) -> None:
        self.beside = neighbours(size)
        self.walls = frozenset(walls)
        self.exit = exit_cell
        self._looked = 0

    def way(self, body: Body, goal: Cell, closed: frozenset[Cell]) -> list[Cell] | None:
        """The cells of the first shortest way of the head to `goal`, past walls and `closed`; None if there is none.

        A part of the body is in the way until the tail has drawn it in. What follows the first step of this way is the
        way from the cell that it leads to.
        """
        opens = {cell: len(body) - index for index, cell in enumerate(body)}
        opens.update(dict.fromkeys(self.walls | closed, SHUT))
        opens[goal] = 0
        before: dict[Cell, Cell] = {}
        frontier, move = [body[0]], 0
        while frontier and goal not in before:
            reached = []
            move += 1
            for place in frontier:
                for cell in self.beside[place]:
                    if cell not in before and opens.get(cell, 0) <= move:
                        before[cell] = place
                        reached.append(cell)
            frontier = reached
        if goal not in before:
            return None
        way = [goal]
        while len(way) < move:
            way.append(before[way[-1]])
        return way[::-1]

    def distances(self, goal: Cell) -> dict[Cell, int]:
        """Lengths of shortest ways to `goal` past the walls alone."""
        found = {goal: 0}
        queue = [goal]
        for place in queue:
            for cell in self.beside[place]:
                if cell not in found and cell not in self.walls:
                    found[cell] = found[place] + 1
                    queue.append(cell)
        return found

    def tour(self, body: Body, fruits: frozenset[Cell]) -> list[Cell] | None:
        """The cells of a way through all fruits to the exit, the shortest over all orders; None if there is none.

        Branch and bound: a part of an order is given up when even the tour past the walls alone that completes it is
        too long.
        """
        to_exit = self.distances(self.exit)
        between = {fruit: self.distances(fruit) for fruit in fruits}

        @functools.cache
        def least(place: Cell, left: frozenset[Cell]) -> float:
            if not left:
                return to_exit.get(place, math.inf)
            return min(between[fruit].get(place, math.inf) + least(fruit, left - {fruit}) for fruit in left)

        best: list[Cell] | None = None
        self._looked = 0

        def search(snake: Body, left: frozenset[Cell], so_far: list[Cell]) -> None:
            nonlocal best
            self._looked += 1
            goals = []
            for goal in sorted(left or {self.exit}):
                rest = left - {goal}
                bound = between[goal].get(snake[0], math.inf) + least(goal, rest) if left else least(snake[0], left)
                goals.append((bound, goal, rest))
            for bound, goal, rest in sorted(goals, key=lambda entry: entry[:2]):
                if len(so_far) + bound >= (len(best) if best else math.inf) or self._looked > SEARCHED:
                    return
                way = self.way(snake, goal, rest | {self.exit} if left else rest)
                if way is None:
                    continue
                if left:
                    search((*reversed(way), *snake)[: len(snake) + 1], rest, so_far + way)
                elif best is None or len(so_far + way) < len(best):
                    best = so_far + way

        search(body, fruits, [])
        return best


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One arrow key. With probability `skill` along the shortest tour, else (or where no tour is left) a legal one."""
    body = tuple((column, row) for column, row in state["body"])
    fruits = frozenset((column, row) for column, row in state["fruits"])
    garden = Garden(state["size"], [(column, row) for column, row in state["walls"]], tuple(state["exit"]))
    tour = garden.tour(body, fruits)
    column, row = body[0]
    if tour is None:
        direction = rng.choice(state["legal"])
        return Move(f"head {column} {row}, no way out, {direction}", "hotkey", {"key": direction})
    steps = [
        next(name for name, step in DIRECTIONS.items() if step == (x - from_x, y - from_y))
        for (from_x, from_y), (x, y) in zip((body[0], *tour), tour[:LOOKAHEAD], strict=False)
    ]
    goal = next(cell for cell in tour if cell in fruits or cell == garden.exit)
    direction = steps[0] if rng.random() < skill else rng.choice(state["legal"])
    thought = f"{column} {row} to {goal[0]} {goal[1]}, {' '.join(steps)}, {direction}"
    return Move(thought, "hotkey", {"key": direction})
