"""Managers of leases as real processes, for tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.ports import free_port
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[4]
KEY = "a-key-for-tests"
FETCHED = ROOT / ".cache" / "valkey" / "valkey-server"  # by launch/valkey.sh
# A Valkey, or else a Redis; None where there is neither.
STORE = str(FETCHED) if FETCHED.is_file() else shutil.which("valkey-server") or shutil.which("redis-server")


class Manager:
    """A process; `start` again after `kill` with the same file and port."""

    def __init__(self, where: str, folder: Path, module: str = "tars_jax.sandbox.service.leases", *more: str) -> None:
        self._where, self._key, self.port = where, folder / "key", free_port()
        self._module, self._more = module, more
        self._key.write_text(KEY)
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable, "-P", "-m", self._module, self._where,
                f"--key-file={self._key}", f"--port={self.port}", *self._more,
            ],
            cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip().startswith("http://")

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def manager(folder: Path, where: str = "") -> Iterator[Manager]:
    running = Manager(where or str(folder / "leases.sqlite"), folder)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()
