"""What a node opens: sandboxes by the name of their spec; computers are the first kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_object
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.guest_client import Ran
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure


class Sandbox(Protocol):
    """One that is open. All raise SandboxFailure when it is gone."""

    async def ended(self) -> None:
        """Returns when it is gone, whoever ended it."""
        ...

    async def check(self) -> None:
        """Returns when it answers."""
        ...

    async def run(self, argv: Sequence[str], stdin: bytes, timeout_s: float) -> Ran: ...

    async def close(self) -> None:
        """Twice is once."""
        ...


class Opener(Protocol):
    """An async context manager; what it opened ends with it."""

    @property
    def specs(self) -> frozenset[str]: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def open(self, spec: str) -> Sandbox:
        """Raises SandboxFailure."""
        ...


class ComputerSandbox:
    """A computer as a node's `Sandbox`; its parts run on `computer.machine`."""

    def __init__(self, computer: Computer) -> None:
        self.computer = computer

    async def ended(self) -> None:
        await self.computer.container.wait()

    async def check(self) -> None:
        await self.computer.machine.run(["/bin/true"], b"", timeout_s=10)

    async def run(self, argv: Sequence[str], stdin: bytes, timeout_s: float) -> Ran:
        return await self.computer.machine.run(argv, stdin, timeout_s=timeout_s)

    async def close(self) -> None:
        await self.computer.close()


class ComputerOpener:
    """Opens computers by named container specs."""

    def __init__(self, specs: Mapping[str, ContainerSpec], isolation: str = "auto") -> None:
        self._specs, self._computers = dict(specs), Computers(isolation)

    @property
    def specs(self) -> frozenset[str]:
        return frozenset(self._specs)

    async def __aenter__(self) -> Self:
        await self._computers.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._computers.__aexit__()

    async def open(self, spec: str) -> Sandbox:
        if spec not in self._specs:
            raise SandboxFailure("node", f"it knows no spec {spec!r}")
        return ComputerSandbox(await self._computers.open(self._specs[spec]))


def read_specs(file: Path | None) -> tuple[dict[str, ContainerSpec], dict[str, int]]:
    """Specs and how many of each to keep ready, from {"small": {"memory_mib": 256, "warm": 2}}.

    Without a file: one spec, "default", and none ready. Raises InputError that names file and field.
    """
    if file is None:
        return {"default": ContainerSpec()}, {}
    specs, warm = dict[str, ContainerSpec](), dict[str, int]()
    for name, value in read_object(file).items():
        if not isinstance(value, dict) or not name or len(name) > 64:
            raise InputError(f"{file}: {name[:64]!r} must be an object, and its name of 1 to 64 characters; got others")
        fields = Fields(value, f"{file}: {name}.")
        warm[name] = fields.integer("warm", 0, 0, 10_000) or 0
        try:
            specs[name] = ContainerSpec(**_limits(fields))
        except InputError as error:
            raise InputError(f"{file}: {name}: {error}") from error
    if not specs:
        raise InputError(f"{file} must name a spec at least; got none")
    return specs, warm


def _limits(fields: Fields) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name in ("memory_mib", "processes", "disk_mib", "shared_memory_mib"):
        if (value := fields.integer(name, None, 1, 1 << 30)) is not None:
            given[name] = value
    if fields.value("cpus") is not None:
        given["cpus"] = fields.number("cpus", 1.0, 0.01, 1024)
    if unread := fields.unread():
        raise InputError(
            f"{unread[0]} is no field of a spec: memory_mib, processes, disk_mib, shared_memory_mib, cpus, warm"
        )
    return given
