"""One level of a computer task as plain data, and the verdict over what an agent left behind.

    random numbers -> Scene -> home folder -> the agent acts -> Outcome -> what is still wrong

A verdict reads files and the answer alone: no output of the agent's shell, and nothing that runs inside.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import TypeAlias

from tars_jax.sandbox.computer.home import File, Tree


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What is there when an agent has ended, or after each of its turns."""

    files: Tree
    folders: frozenset[str] = frozenset()  # all of them, also empty ones
    answer: str | None = None  # what it said with `finished`; None: it has not ended


Goal: TypeAlias = Callable[[Outcome], str]  # the first thing that is wrong; empty: nothing, the task is done


@dataclasses.dataclass(frozen=True)
class Scene:
    """A level: what is there at first, what is asked for, and how both are judged.

    `solution` holds commands of bash that do it from the home folder, for reference players and tests; `answer` is what
    is said after them, where something is asked.
    """

    instruction: str
    files: Tree
    goal: Goal
    solution: tuple[str, ...]
    folders: tuple[str, ...] = ()  # further ones, empty
    answer: str | None = None

    @property
    def first(self) -> Outcome:
        """What is there before anything was done."""
        parents = {"/".join(path.split("/")[:depth]) for path in self.files for depth in range(1, path.count("/") + 1)}
        return Outcome(dict(self.files), frozenset({*self.folders, *parents}))


MakeScene: TypeAlias = Callable[[random.Random, int], Scene]  # chance and the level, from 1


def expect(outcome: Outcome, files: Tree, *, ignoring: Callable[[str], bool] = lambda path: False) -> str:
    """What is wrong where exactly these files should be there; empty: nothing.

    `ignoring`: paths that may be there or not, with any content.
    """
    for path, file in files.items():
        if path not in outcome.files:
            return f"{path} is missing"
        if outcome.files[path].data != file.data:
            return f"{path} holds something else"
    for path in outcome.files:
        if path not in files and not ignoring(path):
            return f"{path} should not be there"
    return ""


def same_text(file: File | None, wanted: str) -> bool:
    """Whether a file says that, whatever white space ends its lines and itself."""
    return file is not None and _lines(file.text) == _lines(wanted)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
