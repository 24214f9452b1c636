"""Containers that outlive a kill of their owner: what it leaves behind, and how the next process takes it over.

An owner calls `stay` and keeps what that returns in a file of its own, and calls `keep` for each container that is to
wait for the next owner. The launcher holds them meanwhile. The next owner takes the launcher over, adopts the
containers that it knows of, and ends the others.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from pathlib import Path
from typing import Protocol, TypeGuard, runtime_checkable

from tars_jax.sandbox.computer.adopting import Adopted
from tars_jax.sandbox.computer.container import Container, Isolation
from tars_jax.sandbox.computer.launching import LauncherProcess
from tars_jax.sandbox.computer.runs import RunFolder
from tars_jax.sandbox.computer.snapshots import Snapshots
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure


@dataclasses.dataclass(frozen=True)
class KeptIsolation:
    """An isolation as the next owner needs to know it. The secret is for nobody else."""

    isolation: str  # its name
    run: str  # folder
    secret: str = dataclasses.field(repr=False)


class Reattachment:
    """Reattachment of one isolation: its launcher outlives its owner."""

    def __init__(self, name: str, run: RunFolder, launcher: LauncherProcess) -> None:
        self._name, self._run, self._launcher = name, run, launcher
        self._adopted: dict[str, Adopted] = {}

    async def stay(self) -> KeptIsolation:
        """Lets containers be kept from now on: begin with it, as those from before have no disk that can be seen."""
        secret = secrets.token_hex(32)
        await self._launcher.stay(secret)
        return KeptIsolation(self._name, str(self._run.path), secret)

    async def keep(self, id: str, seconds: float) -> None:
        """Lets a container and its files live so long without an owner; 0: it ends with this one.

        An `id` of no container keeps the files of this isolation, snapshots among them.
        """
        await self._launcher.keep(id, seconds)

    def hold(self, adopted: list[Adopted]) -> None:
        self._adopted = {each.plan["id"]: each for each in adopted}

    def take(self, id: str) -> Adopted:
        """Raises SandboxFailure where the owner before did not have it, or it was kept no more."""
        if id not in self._adopted:
            raise SandboxFailure("container", "it has ended with its owner")
        return self._adopted.pop(id)

    def left(self) -> list[Adopted]:
        """Containers that nobody took; they are forgotten here."""
        adopted, self._adopted = self._adopted, {}
        return list(adopted.values())


@runtime_checkable
class KeepsContainers(Isolation, Protocol):
    """An isolation whose containers can outlive their owner, where `can_keep` says so."""

    can_keep: bool
    reattachment: Reattachment
    snapshots: Snapshots

    async def adopt(self, id: str, spec: ContainerSpec) -> Container:
        """A container that the owner before had. Raises SandboxFailure where it has ended."""
        ...

    async def end_others(self) -> None:
        """Ends those of the owner before that were not adopted."""
        ...


def can_keep(isolation: Isolation | None) -> TypeGuard[KeepsContainers]:
    return isinstance(isolation, KeepsContainers) and isolation.can_keep


async def write_kept_isolation(isolation: KeepsContainers, file: Path) -> None:
    """Writes what the next owner needs. Raises SandboxFailure where the disk does not take it."""
    kept = await isolation.reattachment.stay()
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(json.dumps(dataclasses.asdict(kept)).encode())
    except OSError as error:
        raise SandboxFailure("disk", f"{file} cannot be written: {error.strerror}") from error
