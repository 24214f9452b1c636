"""A manager and nodes as real processes that open real computers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.waiting import PATIENCE_S, wait_until

SMALL: dict[str, Any] = {
    "memory_mib": 128,
    "processes": 32,
    "disk_mib": 32,
    "parts": ["shell", "files"],
}  # of which some are ready
OTHER: dict[str, Any] = {**SMALL, "memory_mib": 96}
ANN, BOB = "the-key-of-ann", "the-key-of-bob"
OWNERS = {"ann": {"key": ANN}, "bob": {"key": BOB, "sessions": 1}}


ROOT = Path(__file__).parents[4]
KEY = "a-key-for-tests"


class Manager:
    """A process; `start` again after `kill` with the same port."""

    def __init__(self, folder: Path, *more: str) -> None:
        self._key, self.port, self._more = folder / "key", free_port(), more
        self._key.write_text(KEY)
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-P", "-m", "tars_jax.sandbox.service.nodes.manager", f"--key-file={self._key}"]
        self.process = subprocess.Popen(
            [*command, f"--port={self.port}", *self._more],
            cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip().startswith("http://")

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(PATIENCE_S)


class NodeProcess:
    def __init__(self, folder: Path, name: str, managers: list[str], capacity: int, more: tuple[str, ...] = ()) -> None:
        self.name, self._folder = name, folder
        self._arguments = [*managers, f"--name={name}", f"--capacity={capacity}", *more]
        self.start()

    def start(self) -> None:
        """The temporary folder is the node's own, as on a machine of its own."""
        own = self._folder / f"tmp-{self.name}"
        own.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [
                sys.executable, "-P", "-m", "tars_jax.sandbox.service.nodes", *self._arguments,
                f"--key-file={self._folder / 'key'}", f"--warm={self._folder / 'warm.json'}",
            ],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(own)},
        )  # fmt: skip

    def joined(self) -> str:
        """Its id, when it has joined."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"node {self.name} ended with {self.process.wait()}"
        return line.split()[0]

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(PATIENCE_S)


class Cluster:
    def __init__(
        self, folder: Path, nodes: int, capacity: int, dead_s: float, more: tuple[str, ...], warm: int
    ) -> None:
        self.folder = folder
        (folder / "warm.json").write_text(json.dumps({"small": {**SMALL, "warm": warm}}))
        (folder / "owners.json").write_text(json.dumps(OWNERS))
        self.manager = Manager(folder, f"--owners={folder / 'owners.json'}")
        more = (f"--dead-s={dead_s}", f"--heartbeat-s={min(1.0, dead_s / 5)}", *more)
        self.nodes = [
            NodeProcess(folder, f"node{number}", [self.manager.address], capacity, more) for number in range(nodes)
        ]
        self.ids = [node.joined() for node in self.nodes]

    def kill_node(self, id: str) -> None:
        self.nodes[self.ids.index(id)].kill()

    def close(self) -> None:
        for node in self.nodes:
            if node.process.poll() is None:
                node.kill(signal.SIGTERM)
        if self.manager.process.poll() is None:
            self.manager.kill(signal.SIGTERM)

    def left(self) -> list[str]:
        """Processes, mounts and control groups of the nodes' computers, as they are now."""
        folder = str(self.folder).encode()
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if file.parent.name != str(os.getpid()) and folder in file.read_bytes():
                    found.append(file.read_bytes().decode(errors="replace").replace("\0", " "))
        found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(self.folder) in line]
        return found

    def nothing_left(self) -> None:
        """Of what lives; files that a killed node left the next start of it removes."""
        wait_until(lambda: not self.left())


@contextlib.contextmanager
def cluster(
    folder: Path, nodes: int = 2, capacity: int = 3, dead_s: float = 3.0, more: tuple[str, ...] = (), warm: int = 1
) -> Iterator[Cluster]:
    running = Cluster(folder, nodes, capacity, dead_s, more, warm)
    try:
        yield running
    finally:
        running.close()
    running.nothing_left()
