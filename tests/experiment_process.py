"""An experiment in a process of its own, as a user starts it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading

from tars_jax.pipelines.checkout import ROOT
from tests.waiting import wait_until


class ExperimentProcess:
    """One that runs, and what it has said."""

    def __init__(self, experiment: str, *flags: str) -> None:
        """`flags` without --config."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "experiments", experiment, *(f"--config.{flag}" for flag in flags)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def says(self, words: str) -> None:
        """Waits for it; before a line a model may be compiled, so the limit is that of the next line."""
        seen = 0
        while True:
            ended, lines = not self._reader.is_alive(), self.said[seen:]
            if any(words in line for line in lines):
                return
            assert not ended, "".join(self.said)
            seen += len(lines)
            wait_until(functools.partial(self._has_more, seen))

    def kill(self) -> None:
        """At once, with all that it holds."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def ends_well(self) -> None:
        assert self._process.wait() == 0, "".join(self.said)

    def _has_more(self, seen: int) -> bool:
        """Than so many lines; or there will be none."""
        return len(self.said) > seen or not self._reader.is_alive()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.said.append(line)
