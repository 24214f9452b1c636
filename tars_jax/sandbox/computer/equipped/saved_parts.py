"""A computer with its parts at one moment, which is opened again as often as wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.equipped.parts import EquippedComputer
from tars_jax.sandbox.computer.forks import SavedComputer


@dataclasses.dataclass(frozen=True, eq=False)
class SavedParts:
    """Files, programs, shells and windows as they were. It lasts until `remove`; what was opened lives on."""

    equipped: EquippedComputer
    saved: SavedComputer
    snapshots: Mapping[str, Any]  # of the parts at the moment

    @property
    def bytes(self) -> int:
        """Bytes that it takes on this machine's disk."""
        return self.saved.bytes

    async def open(self) -> EquippedComputer:
        """Opens a copy of the saved computer. Raises SandboxFailure."""
        computer: Computer = await self.equipped.computer.opened(self.saved)
        try:
            return await self.equipped.restored(computer, self.snapshots)
        except BaseException:
            await computer.close()
            raise

    async def remove(self) -> None:
        """Removes the saved computer; a second call does nothing."""
        await self.saved.remove()


async def save_parts(equipped: EquippedComputer) -> SavedParts:
    """Saves this moment of the computer; programs stand still for that long.

    Raises InputError for a computer with more than a shell and a desktop, and where programs cannot be copied live;
    SandboxFailure.
    """
    more = {"page": equipped.page, "phone": equipped.phone, "mcp": equipped.foreign}
    if kept_open := [name for name, part in more.items() if part is not None]:
        raise InputError(f"parts must be of shell and desktop for a moment to be saved; got {kept_open[0]}")
    snapshots: dict[str, Any] = {}
    saved = await equipped.computer.save("live", lambda: snapshots.update(equipped.snapshots()))
    return SavedParts(equipped, saved, snapshots)
