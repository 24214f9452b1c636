"""A computer with its parts at one moment, which is opened again as often as wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.equipped.parts import EquippedComputer
from tars_jax.sandbox.computer.forks import SavedComputer
from tars_jax.sandbox.tools.forms import Toolbox


@dataclasses.dataclass(frozen=True, eq=False)
class SavedParts:
    """Files, programs, shells and windows as they were. It lasts until `remove`; what was opened lives on."""

    equipped: EquippedComputer
    saved: SavedComputer
    toolbox: Toolbox  # what the host knew of shells and kernels at the moment
    desktop: Mapping[str, Any] | None  # the same of a desktop; None: there is none

    @property
    def bytes(self) -> int:
        """That it takes on this machine's disk."""
        return self.saved.bytes

    async def open(self) -> EquippedComputer:
        """Raises SandboxFailure."""
        computer: Computer = await self.equipped.computer.opened(self.saved)
        desktop = None
        try:
            if self.desktop is not None:
                from tars_jax.sandbox.desktop import Desktop  # over X, whose library is an extra

                desktop = await Desktop.resumed(computer.machine, self.desktop)
                computer.machine.variables = desktop.env
            toolbox = self.toolbox.copied(computer.machine)
            return EquippedComputer(computer, desktop, toolbox, spec=self.equipped.spec)
        except BaseException:
            await computer.close()
            raise

    async def remove(self) -> None:
        """Twice is once."""
        await self.saved.remove()


async def save_parts(equipped: EquippedComputer) -> SavedParts:
    """This moment of it; programs stand still for that long.

    Raises InputError for a computer with more than a shell and a desktop, and where programs cannot be copied live;
    SandboxFailure.
    """
    more = {"page": equipped.page, "phone": equipped.phone, "mcp": equipped.foreign}
    if kept_open := [name for name, part in more.items() if part is not None]:
        raise InputError(f"parts must be of shell and desktop for a moment to be saved; got {kept_open[0]}")
    known: list[tuple[Toolbox, Mapping[str, Any] | None]] = []
    machine, desktop = equipped.computer.machine, equipped.desktop

    def at_the_moment() -> None:
        known.append((equipped.toolbox.copied(machine), None if desktop is None else desktop.state()))

    saved = await equipped.computer.save("live", at_the_moment)
    return SavedParts(equipped, saved, *known[0])
