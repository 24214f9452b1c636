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
ENDED = "solution ended with"  # what the last command says, and nothing else should
_PIECE = 24_000  # characters of one command
_PACKED = f"/tmp/.{SOLUTION[1:]}.b64"


def solve(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One move. `state`: of TerminalBenchEnvironment. With less skill it gives up at a moment by chance."""
    if rng.random() >= skill:
        return _finished()
    if state["solution"] is None:
        return Move("This step has no solution.", "next_step", {}) if state["more"] else _finished()
    pieces = _pieces(Path(state["solution"]))
    turn = state["turn"]  # of this stage
    if turn < len(pieces):
        put = f"printf %s {pieces[turn]} {'>>' if turn else '>'} {_PACKED}"
        return Move("The solution comes to the computer.", "execute_bash", {"command": put})
    if turn == len(pieces):
        return Move("It is run.", "execute_bash", {"command": _command(state["solution_env"])})
    if ENDED in state["said"]:
        return Move("This step is done.", "next_step", {}) if state["more"] else _finished()
    return Move("It is still running.", "execute_bash", {"command": ""})


def _finished() -> Move:
    return Move("That is all.", "finished", {"content": ""})


def _command(env: Mapping[str, str]) -> str:
    variables = " ".join(f"{name}={shlex.quote(text)}" for name, text in env.items())
    log = "/logs/agent/oracle.txt"
    run = f"DEBIAN_FRONTEND=noninteractive {variables} ./{SOLVE}".replace(f"./{SOLVE}", f"{SOLUTION}/{SOLVE}")
    steps = (
        f"rm -rf {SOLUTION}", f"mkdir -p {SOLUTION}", f"base64 -d {_PACKED} | tar xz -C {SOLUTION}", f"rm {_PACKED}",
        f"chmod +x {SOLUTION}/{SOLVE}", f"({run}) > {log} 2>&1",
    )  # fmt: skip
    return f"{' && '.join(steps)}; echo {ENDED} $?"


def _pieces(folder: Path) -> list[str]:
    """The folder as an archive, in base64."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name)
    text = base64.b64encode(buffer.getvalue()).decode()
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
