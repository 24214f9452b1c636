"""The split of a data set's rows into those to train on and held-out ones, and their order.

Rows with the same prompt are on one side, whatever else they say: where rows say their own side ("train" or "eval")
that decides, else a hash of the prompt and the seed.
"""

from __future__ import annotations

import array
import dataclasses
import functools
import hashlib
import logging

import numpy as np

from tars_jax import InputError
from tars_jax.tasks.sampling import split_of_seed
from tars_jax.tasks.splits import EVAL, SPLITS, TRAIN

log = logging.getLogger(__name__)
_SAID = ("", *SPLITS)
_LEFT_OUT = -1
_BLOCKS = 2**20  # of seeds: a stream's pass over the rows has one of them


@dataclasses.dataclass(frozen=True)
class Sides:
    """The way in which rows are dealt out to splits."""

    held_out: float = 0.1  # the share of prompts for evaluation, where no row says its side
    seed: int = 0  # of which these are, and of the order
    shuffle: bool = True  # otherwise in the order of the file, over and over
    max_characters: int = 0  # longer prompts are left out; 0: none


class RowSplit:
    """Rows by the seeds of tasks: an even one stands for a row of the training side, an odd one for one held out."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._keys, self._said = array.array("Q"), array.array("b")
        self._asked, self._answered = array.array("q"), array.array("q")  # characters
        self._rows: dict[str, np.ndarray] = {}
        self._longest: list[tuple[str, int]] = []  # sides, and places among their rows

    def add(self, prompt: str, characters: int, side: str, further: int = 0, answer: int = 0) -> None:
        """Adds one more row. `characters`: of the prompt; `further`: of what else is told in its windows; `answer`: of
        the longest one that is shown to it."""
        left_out = 0 < self._sides.max_characters < characters
        key = hashlib.sha256(f"{self._sides.seed}:{prompt}".encode()).digest()[:8]
        self._keys.append(int.from_bytes(key, "big"))
        self._asked.append(characters + further)
        self._answered.append(answer)
        self._said.append(_LEFT_OUT if left_out else _SAID.index(side))

    def deal(self, where: str) -> None:
        """Splits the rows once all are there. Raises InputError for a side without rows; `where` they are, for its
        words."""
        keys = np.array(self._keys, np.uint64)
        if not keys.size:
            raise InputError(f"data must hold records; got none in {where}")
        self._rows = _sides_of(keys, np.array(self._said), self._sides)
        for split, rows in self._rows.items():
            if not rows.size:
                purpose = "train" if split == TRAIN else "evaluate"
                raise InputError(
                    f"data must hold prompts to train on and others to evaluate on (held_out={self._sides.held_out:g})"
                    f"; got none to {purpose} on among {len(keys)} records of {where}"
                )
        self._longest = [
            (split, int(np.argmax(np.array(lengths, np.int64)[rows])))
            for lengths in (self._asked, self._answered)
            for split, rows in self._rows.items()
        ]

    def row(self, seed: int) -> int:
        """The number of a task's row."""
        rows = self._rows[split_of_seed(seed)]
        return int(rows[(seed // 2) % len(rows)])

    def count(self, split: str) -> int:
        """Rows of a side."""
        return len(self._rows[split])

    def seed(self, split: str, index: int, stream: int) -> int:
        """Seed of task `index` of a stream: every row comes once before any comes again, in an order of that stream."""
        rows = len(self._rows[split])
        passed, place = divmod(index, rows)
        if self._sides.shuffle:
            place = int(_order(rows, self._sides.seed, stream, passed)[place])
        block = int.from_bytes(hashlib.sha256(f"{stream}:{passed}".encode()).digest()[:8], "big") % _BLOCKS
        return 2 * (block * rows + place) + SPLITS.index(split)

    def telling(self) -> list[int]:
        """Seeds of the longest prompt and the longest answer of each side: what a window has to hold."""
        return list(dict.fromkeys(2 * place + SPLITS.index(split) for split, place in self._longest))


def _sides_of(keys: np.ndarray, said: np.ndarray, sides: Sides) -> dict[str, np.ndarray]:
    """The numbers of each side's rows, by the keys of their prompts and what they say themselves."""
    kept = said != _LEFT_OUT
    told = bool((said > 0).any())
    if told:
        held = keys[said == _SAID.index(EVAL)]
    else:
        prompts = np.unique(keys[kept])  # ascending: hashes are as good as drawn
        share = max(1, round(sides.held_out * len(prompts))) if sides.held_out else 0
        held = prompts[: max(0, min(share, len(prompts) - 1))]
    is_held = np.isin(keys, held) & kept
    evaluated = said == _SAID.index(EVAL) if told else is_held
    if too_long := int((~kept).sum()):
        log.warning("%d records are left out, as their prompts are longer than max_characters", too_long)
    if both := int((is_held & ~evaluated).sum()):
        log.warning("%d records to train on are left out, as their prompts are evaluated on, too", both)
    return {TRAIN: np.flatnonzero(kept & ~is_held), EVAL: np.flatnonzero(evaluated)}


@functools.lru_cache(maxsize=16)
def _order(rows: int, seed: int, stream: int, passed: int) -> np.ndarray:
    """[rows] int64."""
    return np.random.default_rng([seed, stream, passed]).permutation(rows)
