"""One level of a computer task as plain data, and the verifier of the state that an agent left behind.

    random numbers -> ComputerScene -> home folder, programs,
    windows -> the agent acts -> SceneOutcome -> what is still wrong

A verdict reads files, processes, windows, what the local site was asked, and the answer. None of it is the output of
the agent's shell, or what a program inside says of itself.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tars_jax.sandbox.computer.home import File, Tree
from tars_jax.sandbox.computer.processes import Process
from tars_jax.tasks.computer.site import Site, SiteRequest
from tars_jax.tasks.computer.steps import Step

TRASH = ".local/share/Trash/"  # of desktops, below the home folder
COLORS = ("red", "green", "blue", "amber", "violet", "white", "black", "silver")
FOLDERS = ("box", "desk", "shelf", "chest", "attic")
FRUITS = ("apple", "plum", "fig", "lemon", "grape", "melon", "cherry", "olive", "mango", "quince")
NAMES = ("Ada Byron", "Bob Moss", "Çem Öz", "Dora Lund", "Eve Stone", "Finn Holt")


@dataclasses.dataclass(frozen=True)
class DesktopWindow:
    """A window of the desktop."""

    title: str
    program: str  # the name of the file that the process runs which says that the window is its own; empty: none does


@dataclasses.dataclass(frozen=True)
class SceneOutcome:
    """State when an agent has ended, or after each of its turns."""

    files: Tree
    folders: frozenset[str] = frozenset()  # all of them, also empty ones
    answer: str | None = None  # what it said with `finished`; None: it has not ended
    windows: tuple[DesktopWindow, ...] = ()
    processes: tuple[Process, ...] = ()
    ports: frozenset[int] = frozenset()  # that programs listen at
    requests: tuple[SiteRequest, ...] = ()  # that the site got, in order
    elsewhere: tuple[str, ...] = ()  # where else files hold what the scene `deletes`; absolute paths, or of the home

    def shows(self, program: str, words: str) -> bool:
        """Whether a window of a program has a title with these words."""
        return any(words in window.title and program in window.program for window in self.windows)


Goal: TypeAlias = Callable[[SceneOutcome], str]  # the first thing that is wrong; empty: nothing, the task is done


@dataclasses.dataclass(frozen=True)
class ComputerScene:
    """A level: what is there at first, what is asked for, and how both are judged.

    `solution` holds the steps that do it from the home folder, for reference players and tests; `answer` is what is
    said after them, where something is asked. `commands` do what the steps on a screen do, where a shell can.
    """

    instruction: str
    files: Tree
    goal: Goal
    solution: tuple[Step, ...]
    commands: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    folders: tuple[str, ...] = ()  # further ones, empty
    answer: str | None = None
    programs: tuple[tuple[str, ...], ...] = ()  # that run in the background
    opens: tuple[tuple[str, ...], ...] = ()  # applications that are on the desktop, with what they show
    typed: str = ""  # into the last of them
    site: Site | None = None  # at site.ADDRESS, for programs inside
    deletes: tuple[str, ...] = ()  # of `files`, those that are to be nowhere, by any name; the trash is nowhere

    @property
    def first(self) -> SceneOutcome:
        """State before anything was done."""
        parents = {"/".join(path.split("/")[:depth]) for path in self.files for depth in range(1, path.count("/") + 1)}
        return SceneOutcome(dict(self.files), frozenset({*self.folders, *parents}))

    def kept(self, seen: SceneOutcome) -> str:
        """The first thing wrong where a file that was to be deleted lies elsewhere; empty: nothing."""
        kept = [path for path in seen.elsewhere if not in_trash(path)]
        return f"what was to be deleted is in {kept[0]}" if kept else ""


MakeScene: TypeAlias = Callable[[random.Random, int], ComputerScene]  # chance and the level, from 1


def expect(outcome: SceneOutcome, files: Tree, *, ignoring: Callable[[str], bool] = lambda path: False) -> str:
    """The first thing wrong where exactly these files should be there; empty: nothing.

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


def in_trash(path: str) -> bool:
    """Whether a file of the home has been deleted as file managers do it."""
    return path.startswith(TRASH)


def same_text(file: File | None, wanted: str) -> bool:
    """Whether a file says that, whatever white space ends its lines and itself."""
    return file is not None and _lines(file.text) == _lines(wanted)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def pick(rng: random.Random, words: Sequence[str], count: int) -> list[str]:
    """Different ones, in any order."""
    return rng.sample(list(words), count)


def sentence(rng: random.Random, words: Sequence[str], length: int) -> str:
    return " ".join(rng.choice(words) for _ in range(length))
