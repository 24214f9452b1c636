"""Sources of a service's computers: containers of this process, and others that plug in with the same form."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.contained_guest import ContainedGuest
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.computer.recording import CallRecording
from tars_jax.sandbox.computer.spec import ContainerSpec


class OpensComputers(Protocol):
    """A pool that keeps computers warm, for instance, or one that picks a node. An async context manager."""

    async def __aenter__(self) -> object:
        """Raises InputError where there can be none."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object: ...

    async def open(self, spec: ContainerSpec, snapshot: Snapshot | None = None) -> Computer:
        """A computer whose guest answers; with a snapshot's files, if one is given. Raises SandboxFailure."""
        ...

    async def remove_snapshot(self, snapshot: Snapshot) -> None:
        """Computers that were opened from it live on."""
        ...


class ContainedComputers(Computers):
    """`Computers` that also begin with the files of a snapshot. With `kept_in` they outlive a kill of the service."""

    async def open(self, spec: ContainerSpec | None = None, snapshot: Snapshot | None = None) -> Computer:
        if snapshot is None:
            return await super().open(spec)
        recording = CallRecording() if self.forks == "replay" else None
        guest = ContainedGuest(self.isolation(), spec or ContainerSpec(), snapshot, recording=recording)
        await guest.__aenter__()
        return Computer(guest, "files", self, snapshot)

    async def remove_snapshot(self, snapshot: Snapshot) -> None:
        if self._isolation is not None:
            await self._isolation.remove_snapshot(snapshot)
