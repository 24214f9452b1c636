"""A reference player of Sokoban: A* over pushes, with squares from which no box reaches a target left out."""

from __future__ import annotations

import functools
import heapq
import itertools
import random
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move

Place = tuple[int, int]  # row, column
STEPS: dict[str, Place] = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}


def beyond(place: Place, direction: str, count: int = 1) -> Place:
    down, across = STEPS[direction]
    return place[0] + count * down, place[1] + count * across


def places(board: tuple[str, ...], signs: str) -> frozenset[Place]:
    return frozenset(
        (row, column) for row, line in enumerate(board) for column, sign in enumerate(line) if sign in signs
    )


def distances(floor: frozenset[Place], targets: frozenset[Place]) -> dict[Place, int]:
    """Pushes that a lone box needs from a place to the nearest target; places without a way are missing."""
    found = dict.fromkeys(targets, 0)
    waiting = deque(targets)
    while waiting:
        place = waiting.popleft()
        for direction in STEPS:
            before, worker = beyond(place, direction), beyond(place, direction, 2)  # pulled back
            if before in floor and worker in floor and before not in found:
                found[before] = found[place] + 1
                waiting.append(before)
    return found


def walks(floor: frozenset[Place], boxes: frozenset[Place], worker: Place) -> dict[Place, tuple[str, ...]]:
    """The shortest walk to every place that the worker reaches without a push."""
    found: dict[Place, tuple[str, ...]] = {worker: ()}
    waiting = deque([worker])
    while waiting:
        place = waiting.popleft()
        for direction in STEPS:
            after = beyond(place, direction)
            if after in floor and after not in boxes and after not in found:
                found[after] = (*found[place], direction)
                waiting.append(after)
    return found


@functools.lru_cache(maxsize=64)
def solution(board: tuple[str, ...]) -> tuple[str, ...] | None:
    """Steps that solve a board: fewest pushes, then fewest steps, so that a plan stays one; None where none do."""
    floor, targets = places(board, " ?@$*+"), places(board, "?*+")
    home = distances(floor, targets)
    (worker,), boxes = places(board, "@+"), places(board, "$*")
    order = itertools.count()
    queue: list[tuple[int, int, int, int, Place, frozenset[Place], tuple[str, ...]]] = []
    seen: set[tuple[Place, frozenset[Place]]] = set()

    def add(pushes: int, worker: Place, boxes: frozenset[Place], steps: tuple[str, ...]) -> None:
        if all(box in home for box in boxes):
            left = sum(home[box] for box in boxes)
            heapq.heappush(queue, (pushes + left, len(steps), next(order), pushes, worker, boxes, steps))

    add(0, worker, boxes, ())
    while queue:
        _, _, _, pushes, worker, boxes, steps = heapq.heappop(queue)
        if boxes <= targets:
            return steps
        if (worker, boxes) in seen:
            continue
        seen.add((worker, boxes))
        reached = walks(floor, boxes, worker)
        for box in boxes:
            for direction in STEPS:
                stand, after = beyond(box, direction, -1), beyond(box, direction)
                if stand in reached and after in floor and after not in boxes:
                    add(pushes + 1, box, boxes - {box} | {after}, (*steps, *reached[stand], direction))
    return None


def legal(board: tuple[str, ...]) -> Iterator[str]:
    """The directions in which the worker can step or push."""
    floor, boxes, (worker,) = places(board, " ?@$*+"), places(board, "$*"), places(board, "@+")
    for direction in STEPS:
        after, further = beyond(worker, direction), beyond(worker, direction, 2)
        if after in floor and (after not in boxes or (further in floor and further not in boxes)):
            yield direction


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One arrow key. With probability `skill` the next step of a solution, else any legal one."""
    board = tuple(state["room"])
    steps = solution(board)
    directions = list(legal(board)) or list(STEPS)
    direction = steps[0] if steps and rng.random() < skill else rng.choice(directions)
    thought = f"{state['on_target']} of {state['boxes']} boxes home, {direction}"
    return Move(thought, "hotkey", {"key": direction})
