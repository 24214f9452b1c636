"""A computer with its parts at one moment, which is opened again as often as wanted."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.forks import Saved
from tars_jax.sandbox.computer.parts import EquippedComputer
from tars_jax.sandbox.tools.forms import Toolbox


@dataclasses.dataclass(frozen=True, eq=False)
class SavedParts:
    """Files, programs and shells as they were. It lasts until `remove`, and what was opened from it lives on."""

    equipped: EquippedComputer
    saved: Saved
    toolbox: Toolbox  # what the host knew of shells and kernels at the moment

    @property
    def bytes(self) -> int:
        """That it takes on this machine's disk."""
        return self.saved.bytes

    async def open(self) -> EquippedComputer:
        """Raises SandboxFailure."""
        computer: Computer = await self.equipped.computer.opened(self.saved)
        return EquippedComputer(computer, None, self.toolbox.copied(computer.machine), spec=self.equipped.spec)

    async def remove(self) -> None:
        """Twice is once."""
        await self.saved.remove()


async def save_parts(equipped: EquippedComputer) -> SavedParts:
    """This moment of it; programs stand still for that long.

    Raises InputError for a computer with more than a shell, and where programs cannot be copied live; SandboxFailure.
    """
    more = {"desktop": equipped.desktop, "page": equipped.page, "phone": equipped.phone, "mcp": equipped.foreign}
    if kept_open := [name for name, part in more.items() if part is not None]:
        raise InputError(f"parts must be a shell alone for a moment to be saved; got {kept_open[0]}")
    known: list[Toolbox] = []
    machine = equipped.computer.machine
    saved = await equipped.computer.save("live", lambda: known.append(equipped.toolbox.copied(machine)))
    return SavedParts(equipped, saved, known[0])
