"""The reference player of Harbor's tasks: it brings the task's own solution into the computer and runs it."""

from __future__ import annotations

import base64
import io
import random
import shlex
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax.tasks.benchmarks.harbor.folder import SOLVE
from tars_jax.tasks.games.moves import Move

SOLUTION = "/solution"
ENDED = "/tmp/.solution.ended"  # a file that the last command leaves
_PIECE, _TYPED = 24_000, 1500  # characters of one command, called or typed
_PACKED = f"/tmp/.{SOLUTION[1:]}.b64"


def solve(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One move. `state`: of TerminalBenchEnvironment. With less skill it gives up at a moment by chance."""
    if rng.random() >= skill:
        return _finished()
    if state["solution"] is None:
        return Move("This step has no solution.", "next_step", {}) if state["more"] else _finished()
    by = _typed if state["screen"] else _called
    pieces = _pieces(Path(state["solution"]), _TYPED if state["screen"] else _PIECE)
    turn = state["turn"]  # of this stage
    if turn < len(pieces):
        put = f"printf %s {pieces[turn]} {'>>' if turn else '>'} {_PACKED}"
        return by("The solution comes to the computer.", put)
    if turn == len(pieces):
        return by("It is run.", _command(state["solution_env"]))
    if state["ended"]:
        return Move("This step is done.", "next_step", {}) if state["more"] else _finished()
    if state["screen"]:
        return Move("It is still running.", "wait", {"time": 1})
    return Move("It is still running.", "execute_bash", {"command": ""})


def _called(thought: str, command: str) -> Move:
    return Move(thought, "execute_bash", {"command": command})


def _typed(thought: str, command: str) -> Move:
    return Move(thought, "type", {"content": f"{command}\n"})


def _finished() -> Move:
    return Move("That is all.", "finished", {"content": ""})


def _command(env: Mapping[str, str]) -> str:
    variables = " ".join(f"{name}={shlex.quote(text)}" for name, text in env.items())
    log = "/logs/agent/oracle.txt"
    run = f"DEBIAN_FRONTEND=noninteractive {variables} {SOLUTION}/{SOLVE}"
    steps = (
        f"rm -rf {SOLUTION} {ENDED}", f"mkdir -p {SOLUTION}", f"base64 -d {_PACKED} | tar xz -C {SOLUTION}",
        f"rm {_PACKED}", f"chmod +x {SOLUTION}/{SOLVE}", f"({run}) > {log} 2>&1",
    )  # fmt: skip
    return f"{' && '.join(steps)}; echo $? > {ENDED}"


def _pieces(folder: Path, size: int) -> list[str]:
    """The folder as an archive, in base64."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name)
    text = base64.b64encode(buffer.getvalue()).decode()
    return [text[at : at + size] for at in range(0, len(text), size)]
