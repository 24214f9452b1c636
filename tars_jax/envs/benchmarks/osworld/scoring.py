"""desktop-env's scorers as a second process: its packages are old, and have an environment of their own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure

SCORER = Path(__file__).with_name("scorer.py")
SCRIPT = "./launch/osworld.sh"
STARTS_IN_S = 120.0  # it imports some hundred packages
LONGEST_ANSWER = 1 << 22  # bytes
KIND = "verifier"


def scorer_python(package: str = "desktop_env") -> Path:
    """The Python that has scorers, or TARS_JAX_OSWORLD's. Raises InputError where they were not installed.

    `package`: that has to be installed there; empty: it comes from elsewhere.
    """
    folder = os.environ.get("TARS_JAX_OSWORLD") or Path(__file__).parents[4] / ".cache" / "osworld"
    python = Path(folder) / "bin" / "python"
    has_it = not package or any(Path(folder).glob(f"lib/python*/site-packages/{package}-*.dist-info"))
    if not (python.exists() and has_it):
        raise InputError(f"osworld must have desktop-env's scorers in {folder}; {SCRIPT} installs them")
    return python


class Scorer:
    """The process, which starts with the first of `start` and `score` and goes on until `close`."""

    def __init__(self, python: Path, program: Path = SCORER, *arguments: str) -> None:
        """`program`: what it runs, with its arguments; it says that it is ready, and answers line by line."""
        self._python, self._program = python, (str(program), *arguments)
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._one = asyncio.Lock()

    def start(self) -> None:
        """Begins to import what it needs, which nobody waits for."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._started())

    async def score(self, request: Mapping[str, Any], time_limit: float) -> tuple[float, dict[str, Any]]:
        """The score, 0 to 1, and its details. Raises EnvironmentFailure("verifier") where there is none in time."""
        async with self._one:
            self.start()
            assert self._starting is not None
            try:
                process = await asyncio.shield(self._starting)
                assert process.stdin is not None
                process.stdin.write(json.dumps({**request, "limit": time_limit}).encode() + b"\n")
                await process.stdin.drain()
                said = await asyncio.wait_for(_line(process), time_limit)
            except TimeoutError:
                await self.close()
                raise EnvironmentFailure(KIND, f"the scorer did not answer within {time_limit:g} s") from None
            except OSError as error:
                await self.close()
                raise EnvironmentFailure(KIND, f"the scorer has ended: {error}") from None
            except BaseException:
                await self.close()
                raise
        if "failure" in said:
            raise EnvironmentFailure(KIND, str(said["failure"]))
        try:
            return float(said["score"]), dict(said["details"])
        except (KeyError, TypeError, ValueError):
            raise EnvironmentFailure(KIND, f"the scorer answered {str(said)[:200]!r}, which is no score") from None

    async def _started(self) -> asyncio.subprocess.Process:
        try:
            process = await asyncio.create_subprocess_exec(
                self._python, "-I", "-X", "utf8", *self._program, stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=LONGEST_ANSWER,
                env={name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise EnvironmentFailure(KIND, f"{self._python} cannot be started: {error}; {SCRIPT} installs it") from None
        self._process = process
        try:
            said = await asyncio.wait_for(_line(process), STARTS_IN_S)
        except TimeoutError:
            raise EnvironmentFailure(KIND, f"the scorer was not ready within {STARTS_IN_S:g} s") from None
        if "failure" in said:
            raise EnvironmentFailure(KIND, f"{said['failure']}; {SCRIPT} installs it")
        return process

    async def close(self) -> None:
        """Ends it, and what it has started. Twice is once."""
        starting, self._starting = self._starting, None
        if starting is not None and not starting.done():
            starting.cancel()
        if starting is not None:
            with contextlib.suppress(asyncio.CancelledError, EnvironmentFailure, OSError):
                await starting
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _line(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        said = json.loads(line)
        if isinstance(said, dict):
            return said
    except ValueError as error:
        raise EnvironmentFailure(KIND, f"the scorer answered what is no JSON; {error}") from None
    raise EnvironmentFailure(KIND, f"the scorer answered {str(said)[:200]!r}")
