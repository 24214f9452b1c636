"""Files and folders put into the home folder of a machine, by its own tar, which Windows has, too."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.computer.home import Given, packed
from tars_jax.sandbox.failures import SandboxFailure

UNPACK = ("tar", "x", "--no-same-owner", "-p", "-f", "-")  # from its input, in the folder that it runs in
UNPACKS_S = 60.0


async def put(machine: GuestMachine, files: Given, folders: Sequence[str] = ()) -> None:
    """Raises InputError for a path that does not lie in the home folder, SandboxFailure."""
    done = await machine.run(UNPACK, packed(files, tuple(folders)), timeout_s=UNPACKS_S)
    require_put(done.status, done.stderr)


def require_put(status: int, stderr: bytes) -> None:
    """Raises SandboxFailure."""
    if status != 0:
        raise SandboxFailure("guest", f"the home folder could not be filled: {stderr[:200]!r}")
