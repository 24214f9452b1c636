"""The tasks of a computer by name, and how one level of them is drawn, solved and judged."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.tasks.computer.scene import MakeScene, Outcome, Scene
from tars_jax.tasks.computer.terminal import TERMINAL_TASKS
from tars_jax.tasks.games.moves import Move

TASKS: Mapping[str, MakeScene] = TERMINAL_TASKS
HARDEST = 3  # level


@dataclasses.dataclass(frozen=True)
class Level:
    """One level of a task: its scene, and what it is called."""

    name: str
    scene: Scene

    def verdict(self, seen: Outcome) -> str:
        """What is still wrong; empty: the task is done. A question is answered with `finished` alone."""
        if self.scene.answer is not None and seen.answer is None:
            return "there is no answer yet"
        return self.scene.goal(seen)

    def state(self, turn: int) -> dict[str, Any]:
        """What `reference_player` plays from, before the agent's turn of this number, from 0."""
        words = sorted({*self.scene.files, *self.scene.first.folders})
        return {"commands": list(self.scene.solution), "answer": self.scene.answer, "turn": turn, "words": words}


def check_level(task: Any, level: Any) -> None:
    """Raises InputError for a task that there is none of, and for a level that none has."""
    if task not in ("", *TASKS):
        raise InputError(f"task must be one of {', '.join(TASKS)}, or empty for any; got {task!r}")
    if type(level) is not int or not 1 <= level <= HARDEST:
        raise InputError(f"level must be a whole number from 1 to {HARDEST}; got {level!r}")


def draw_level(task: str, level: int, seed: int) -> Level:
    """The same for the same seed. An empty `task` draws one of all. Raises InputError as `check_level`."""
    check_level(task, level)
    rng = random.Random(seed)
    name = task or rng.choice(list(TASKS))
    return Level(name, TASKS[name](rng, level))


def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """Gives the commands of a level's solution, then the answer; a careless one takes another file or folder."""
    commands, turn, answer = state["commands"], state["turn"], state["answer"]
    if turn >= len(commands):
        return Move("", "finished", {"content": answer or ""})
    command = commands[turn]
    if rng.random() >= skill:
        command = _careless(command, state["words"], rng)
    return Move("", "execute_bash", {"command": command})


def _careless(command: str, words: list[str], rng: random.Random) -> str:
    """The command with one of the level's names exchanged; one that names none is forgotten."""
    parts = command.split(" ")
    named = [index for index, part in enumerate(parts) if part in words]
    if not named:
        return "ls"
    index = rng.choice(named)
    alike = [word for word in words if ("." in word) == ("." in parts[index])]
    return " ".join([*parts[:index], rng.choice(alike), *parts[index + 1 :]])
