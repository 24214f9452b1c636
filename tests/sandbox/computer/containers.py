"""Containers of each kind that works on this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.container import Isolation
from tars_jax.sandbox.computer.gvisor import runsc_program
from tars_jax.sandbox.computer.isolation import open_isolation
from tars_jax.sandbox.computer.spec import ContainerSpec
from tests.waiting import PATIENCE_S


class Traces:
    """What the containers of a folder take of the machine, beside the folder itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokens: set[str] = set()

    def note(self) -> None:
        """To be called while containers live: their control groups have names of their run."""
        self._tokens |= {run.name.removeprefix("run-") for run in self._folder.glob("run-*")}

    def left(self) -> list[str]:
        folder = str(self._folder)
        groups = [group for group, _, _ in os.walk("/sys/fs/cgroup") if "/tars_jax-" in group]  # others come and go
        found = [group for group in groups if any(token in group for token in self._tokens)]
        found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if folder in line]
        for file in [*Path("/sys/block").glob("loop*/loop/backing_file"), *Path("/proc").glob("[0-9]*/cmdline")]:
            with contextlib.suppress(OSError):
                if int(file.parent.name) != os.getpid() if file.name == "cmdline" else True:
                    found += [str(file)] if folder.encode() in file.read_bytes() else []
        return found + [str(run) for run in self._folder.glob("run-*")]


async def output(isolation: Isolation, script: str, spec: ContainerSpec | None = None) -> list[str]:
    """The lines that a shell script says in a container of its own."""
    container = await isolation.launch(spec or ContainerSpec(), ["/bin/sh", "-c", script])
    try:
        assert await container.wait(PATIENCE_S) is not None
        return container.read(f"{container.run_folder}/log").decode().splitlines()
    finally:
        await container.close()


@contextlib.asynccontextmanager
async def opened(folder: Path, kind: str) -> AsyncIterator[Isolation]:
    isolation = await open_isolation(folder, kind)
    try:
        yield isolation
    finally:
        await isolation.close()


needs_gvisor = pytest.mark.skipif(runsc_program() is None, reason="needs runsc (sudo ./launch/gvisor.sh)")
of_each_kind = pytest.mark.parametrize(
    "kind", ["namespaces", pytest.param("gvisor", marks=[needs_gvisor, pytest.mark.slow])]
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="own namespaces need root")
