"""A computer whose programs another process has written to the disk: what is needed to go on with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.container import Checkpoint, Snapshot
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.spec import ComputerRequest


@dataclasses.dataclass(frozen=True)
class SuspendedComputer:
    """A suspended computer, which is restored once."""

    checkpoint: Checkpoint
    token: str = dataclasses.field(repr=False)  # of its guest
    parts: Mapping[str, Any]  # their snapshots
    computers: Computers

    @classmethod
    def from_json(cls, value: Any, token: str, parts: Mapping[str, Any], computers: Computers) -> SuspendedComputer:
        """Raises SandboxFailure where the files have gone; KeyError, TypeError, ValueError for what is none."""
        checkpoint = _checkpoint(value)
        if not checkpoint.images.is_dir():
            raise SandboxFailure("container", "it was suspended, and has ended with the service that held it")
        return cls(checkpoint, token, parts, computers)

    def to_json(self) -> dict[str, Any]:
        return checkpoint_to_json(self.checkpoint)

    async def restore(self, spec: ComputerRequest) -> Computer:
        """Restores the computer. Raises SandboxFailure."""
        return await self.computers.restore(spec.container, self.checkpoint, self.token)

    async def remove(self) -> None:
        await self.computers.isolation().remove_checkpoint(self.checkpoint)


def checkpoint_to_json(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "snapshot": snapshot_to_json(checkpoint.snapshot), "images": str(checkpoint.images),
        "mounts": dict(checkpoint.mounts), "bytes": checkpoint.bytes,
        "disk": None if checkpoint.disk is None else str(checkpoint.disk), "user": checkpoint.user,
    }  # fmt: skip


def _checkpoint(value: Any) -> Checkpoint:
    disk = None if value["disk"] is None else Path(value["disk"])
    snapshot = snapshot_from_json(value["snapshot"])
    user = int(value["user"])
    return Checkpoint(snapshot, Path(value["images"]), dict(value["mounts"]), int(value["bytes"]), disk, user)


def snapshot_to_json(snapshot: Snapshot) -> dict[str, Any]:
    return {"name": snapshot.name, "layers": list(snapshot.layers), "bytes": snapshot.bytes}


def snapshot_from_json(value: Any) -> Snapshot:
    """Raises KeyError, TypeError, ValueError for what is none."""
    return Snapshot(str(value["name"]), tuple(dict(layer) for layer in value["layers"]), int(value["bytes"]))
