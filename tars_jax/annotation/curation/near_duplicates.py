"""Near-duplicates: trajectories that show the same work, and instructions that ask for the same.

An instruction is the set of its pieces of four characters, in small letters and without signs; two are alike where the
Jaccard similarity of their sets is at least `asked`. One with other numbers in it is another one.
The work of a trajectory is the sequence of its calls, points on a grid of 25 by 25; two are alike where the longest
common subsequence is at least `done` of the longer one. A trajectory is a near-duplicate where both are so, in the same
application. All pairs that the thresholds mean are found: a pair of sets can only reach a Jaccard similarity t if
they share one of the rarest |x| - ceil(t |x|) + 1 pieces of each (prefix filtering, Chaudhuri et al. 2006).

Of several alike the first is kept, solved before others, then shorter.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
from collections.abc import Iterator, Sequence

from tars_jax.agent.actions import GRID
from tars_jax.annotation.curation.config import Similarity
from tars_jax.trajectory import Trajectory

PIECE = 4  # characters
CELLS = 25  # of the screen, each way
_POINT = re.compile(r"<point>\s*([\d.]+)\s+([\d.]+)\s*</point>")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclasses.dataclass(frozen=True)
class Work:
    """The parts of a trajectory that are compared."""

    id: str
    application: str
    instruction: str
    calls: tuple[str, ...]
    solved: bool

    @classmethod
    def of(cls, trajectory: Trajectory, application: str, instruction: str) -> Work:
        calls = tuple(call_shape(call) for step in trajectory.steps for call in step.action.split("\n\n"))
        return cls(trajectory.id, application, instruction, calls, trajectory.succeeded)


def near_duplicates(works: Sequence[Work], similar: Similarity) -> dict[int, int]:
    """Maps each near-duplicate that is left out to the one that is kept in its place, by their places."""
    order = sorted(range(len(works)), key=lambda place: (not works[place].solved, len(works[place].calls), place))
    rank = {place: number for number, place in enumerate(order)}
    asked = [pieces(work.instruction) for work in works]
    later = collections.defaultdict[int, list[int]](list)
    for pair in _candidates(works, asked, similar):
        first, second = sorted(pair, key=rank.__getitem__)
        later[first].append(second)
    replaced: dict[int, int] = {}
    for place in order:
        if place not in replaced:
            for other in later[place]:
                alike = jaccard(asked[place], asked[other]) >= similar.asked
                if other not in replaced and alike and _same_work(works[place], works[other], similar.done):
                    replaced[other] = place
    return replaced


def _candidates(
    works: Sequence[Work], asked: Sequence[frozenset[str]], similar: Similarity
) -> Iterator[tuple[int, int]]:
    """All pairs that may be alike, by that side which tells more apart: thousands may have the same instruction.

    A common subsequence of d times the longer one is as many calls in common, so that the Jaccard similarity of the two
    bags of calls is at least d / (2 - d).
    """
    done = [bag(work.calls) for work in works]
    if similar.done and max(collections.Counter(done).values(), default=0) < max(
        collections.Counter(asked).values(), default=0
    ):
        return similar_sets(done, similar.done / (2 - similar.done))
    return similar_sets(asked, similar.asked)


def _same_work(one: Work, other: Work, least: float) -> bool:
    if one.application != other.application or numbers(one.instruction) != numbers(other.instruction):
        return False
    longer = max(len(one.calls), len(other.calls))
    if min(len(one.calls), len(other.calls)) < least * longer:
        return False
    return longer == 0 or common(one.calls, other.calls) >= least * longer


def similar_sets(sets: Sequence[frozenset[str]], least: float) -> Iterator[tuple[int, int]]:
    """Pairs of places, the smaller first, whose sets have at least this Jaccard similarity (above 0)."""
    counts = collections.Counter(piece for each in sets for piece in each)
    seen = collections.defaultdict[str, list[int]](list)
    for place, each in enumerate(sets):
        rarest = sorted(each, key=lambda piece: (counts[piece], piece))
        prefix = rarest[: len(each) - math.ceil(least * len(each) - 1e-9) + 1]
        candidates = {other for piece in prefix for other in seen[piece]}
        for other in sorted(candidates):
            if jaccard(each, sets[other]) >= least:
                yield other, place
        for piece in prefix:
            seen[piece].append(place)


def bag(calls: Sequence[str]) -> frozenset[str]:
    """Each call with how many of its kind came before it; one thing for no call."""
    seen = collections.Counter[str]()
    found = set()
    for call in calls:
        seen[call] += 1
        found.add(f"{seen[call]} {call}")
    return frozenset(found or {""})


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    together = len(one | other)
    return len(one & other) / together if together else 1.0


def pieces(text: str) -> frozenset[str]:
    """Pieces of four characters; a shorter text is one piece."""
    plain = " ".join(re.findall(r"[^\W_]+", text.casefold()))
    return frozenset(plain[start : start + PIECE] for start in range(max(1, len(plain) - PIECE + 1)))


def numbers(text: str) -> tuple[str, ...]:
    return tuple(_NUMBER.findall(text))


def call_shape(call: str) -> str:
    """A call with its points in cells."""

    def cell(found: re.Match[str]) -> str:
        x, y = (min(CELLS - 1, int(float(each) * CELLS / GRID)) for each in found.groups())
        return f"{x},{y}"

    return _POINT.sub(cell, call.strip())


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for each in one:
        before = 0
        for place, same in enumerate(other, 1):
            before, row[place] = row[place], before + 1 if each == same else max(row[place], row[place - 1])
    return row[-1]
