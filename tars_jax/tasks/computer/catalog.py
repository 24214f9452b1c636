"""The tasks of a computer by name, and how one level of them is drawn, solved and judged."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.tasks.computer.browsing import BROWSER_AND_SHELL_TASKS, BROWSER_TASKS
from tars_jax.tasks.computer.desktop import DESKTOP_TASKS
from tars_jax.tasks.computer.scene import ComputerScene, MakeScene, SceneOutcome
from tars_jax.tasks.computer.shell_and_desktop import PROCESS_TASKS, TOGETHER_TASKS
from tars_jax.tasks.computer.steps import next_call, to_json
from tars_jax.tasks.computer.terminal import TERMINAL_TASKS
from tars_jax.tasks.games.moves import Move

# The parts of a computer that tasks need, by sandbox/computer/equipped/parts.py.
_BY_PARTS: tuple[tuple[tuple[str, ...], Mapping[str, MakeScene]], ...] = (
    (("shell",), TERMINAL_TASKS),
    (("shell",), PROCESS_TASKS),
    (("desktop",), DESKTOP_TASKS),
    (("shell", "desktop"), TOGETHER_TASKS),
    (("desktop", "browser"), BROWSER_TASKS),
    (("shell", "desktop", "browser"), BROWSER_AND_SHELL_TASKS),
)
TASKS: Mapping[str, MakeScene] = {name: make for _, tasks in _BY_PARTS for name, make in tasks.items()}
NEEDS: Mapping[str, tuple[str, ...]] = {name: parts for parts, tasks in _BY_PARTS for name in tasks}
# Where the desktop does nothing but show a browser, which may be one without a desktop.
WITHOUT_DESKTOP = {*BROWSER_TASKS, *BROWSER_AND_SHELL_TASKS} - {"show_page"}  # which shows a file of the computer
# Files are moved by a file manager or by a shell: scenes that have `commands`.
EITHER_WAY = ("rename_in_files", "delete_in_files", "make_folder", "move_in_files")
HARDEST = 3  # level
MOST_WAITS = 12  # of a player in a row, for what comes late
WAIT_S = 0.5


@dataclasses.dataclass(frozen=True)
class SceneLevel:
    """One level of a task: its scene, and what it is called."""

    name: str
    scene: ComputerScene

    def verify(self, seen: SceneOutcome) -> str:
        """Verifies the computer's state: the first thing that is still wrong; empty: the task is done. A question is
        answered with `finished` alone."""
        if self.scene.answer is not None and seen.answer is None:
            return "there is no answer yet"
        return self.scene.goal(seen) or self.scene.kept(seen)

    def by_shell(self) -> SceneLevel:
        """The level with its solution by commands."""
        return dataclasses.replace(self, scene=dataclasses.replace(self.scene, solution=self.scene.commands))

    def state(self, turn: int, wrong: str = "", waited: int = 0) -> dict[str, Any]:
        """The state that `reference_player` plays from, before the agent's turn of this number, from 0; turns in which
        it waited are not counted. `waited`: turns in a row. An environment with a desktop adds "windows" and "size"."""
        words = sorted({*self.scene.files, *self.scene.first.folders})
        return {
            "steps": to_json(self.scene.solution), "answer": self.scene.answer, "turn": turn, "words": words,
            "wrong": wrong, "waited": waited, "windows": [], "size": [],
        }  # fmt: skip


def check_level(task: Any, level: Any) -> None:
    """Raises InputError for a task that there is none of, and for a level that none has."""
    if task not in ("", *TASKS):
        raise InputError(f"task must be one of {', '.join(TASKS)}, or empty for any; got {task!r}")
    if type(level) is not int or not 1 <= level <= HARDEST:
        raise InputError(f"level must be a whole number from 1 to {HARDEST}; got {level!r}")


def tasks_for(parts: Sequence[str]) -> list[str]:
    """Tasks that a computer with these parts can have."""
    return [name for name in NEEDS if suits(name, parts)]


def suits(task: str, parts: Sequence[str]) -> bool:
    """Whether a computer with these parts can have a task."""
    return {*NEEDS[task]} - ({"desktop"} if task in WITHOUT_DESKTOP else set()) <= {*parts}


def draw_level(task: str, level: int, seed: int, parts: Sequence[str] = ("shell",)) -> SceneLevel:
    """Draws a level, the same for the same seed. An empty `task` draws one of those that a computer with these parts
    can have.

    Raises InputError as `check_level`.
    """
    check_level(task, level)
    rng = random.Random(seed)
    name = task or rng.choice(tasks_for(parts))
    return SceneLevel(name, TASKS[name](rng, level))


def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """Does the steps of a level's solution, waits for what comes late, and gives the answer.

    A careless one takes another file or folder in a command, or clicks anywhere.
    """
    steps, turn, answer = state["steps"], state["turn"], state["answer"]
    patient = bool(state["size"]) and state["waited"] < MOST_WAITS
    later = Move("", "wait", {"time": WAIT_S})
    if turn >= len(steps):
        return later if patient and answer is None else Move("", "finished", {"content": answer or ""})
    if (call := next_call(steps[turn], state["windows"], state["size"])) is None:
        return later if patient else Move("", "finished", {"content": ""})
    function, parameters = call
    if rng.random() >= skill:
        if function != "execute_bash":
            return Move("", "click", {"point": (rng.randint(0, 1000), rng.randint(0, 1000))})
        parameters = {"command": _careless(parameters["command"], state["words"], rng)}
    return Move("", function, parameters)


def _careless(command: str, words: list[str], rng: random.Random) -> str:
    """The command with one of the level's names exchanged; one that names none is forgotten."""
    parts = command.split(" ")
    named = [index for index, part in enumerate(parts) if part in words]
    if not named:
        return "ls"
    index = rng.choice(named)
    alike = [word for word in words if ("." in word) == ("." in parts[index])]
    return " ".join([*parts[:index], rng.choice(alike), *parts[index + 1 :]])
