"""The sides of a benchmark as the driver has them: environments made from pins, and processes that take turns."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.benchmarks.peers.turns import WARM_UP

PEERS = Path(__file__).parent
ROOT = PEERS.parents[2]
CACHE = ROOT / ".cache" / "peers"

# A package "tests" that a peer brings along (verl does) would hide ours, which has no __init__.py.
OURS_FIRST = """
import runpy, sys, types
sys.modules["tests"] = types.ModuleType("tests")
sys.modules["tests"].__path__ = [sys.argv.pop(1)]
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""

Command = tuple[Path | str, str, list[str]]  # an interpreter, a module of this folder, its arguments


def peer_python(name: str) -> Path:
    """The interpreter of the environment of peers/NAME.txt, made where it is missing or was made from other pins.

    What stands in peers/NAME.alone.txt is installed without what it depends on.
    """
    folder, pins, alone = CACHE / name, PEERS / f"{name}.txt", PEERS / f"{name}.alone.txt"
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    wanted = pins.read_text() + (alone.read_text() if alone.exists() else "")
    if not installed.exists() or installed.read_text() != wanted:
        print(f"making {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", pins], check=True)
        if alone.exists():
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", alone], check=True)
        installed.write_text(wanted)
    return python


class Worker:
    """A side in its process; what it says beside its answers goes to a log."""

    def __init__(self, python: Path | str, module: str, arguments: list[str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [
                    python,
                    "-W",
                    "ignore",
                    "-c",
                    OURS_FIRST,
                    ROOT / "tests",
                    f"tests.benchmarks.peers.{module}",
                    *arguments,
                ],
                cwd=ROOT,
                env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def turn(self) -> dict[str, Any]:
        """Does its work once. Raises RuntimeError with the end of the log if the process ended."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError) as error:
            raise RuntimeError(f"{self._log}:\n{self._log.read_text()[-3000:]}") from error

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def take_turns(name: str, sides: Mapping[str, Command], turns: int) -> dict[str, list[dict[str, Any]]]:
    """The answers of each side, turn by turn; warm-up first, then `turns` of them. The order is turned round each time.

    Args:
        name: of the measurement, for its logs and for what it says of its progress.
    """
    answers: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    with contextlib.ExitStack() as stack:
        workers = {
            side: stack.enter_context(Worker(*command, CACHE / f"{name}{number}.log"))
            for number, (side, command) in enumerate(sides.items())
        }
        for turn in range(WARM_UP + turns):
            for side in list(sides)[:: 1 if turn % 2 else -1]:
                answers[side].append(workers[side].turn())
            print(f"{name}: turn {turn + 1} of {WARM_UP + turns}", file=sys.stderr, flush=True)
    return answers
