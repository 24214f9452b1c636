"""Files and folders put into a machine, by its own tar, which Windows has, too."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.computer.guest.identity import PATH
from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.computer.home import Given, packed
from tars_jax.sandbox.failures import SandboxFailure

UNPACK = ("tar", "x", "--no-same-owner", "-p", "-f", "-")  # from its input, in the folder that it runs in
UNPACKS_S = 60.0


async def put(machine: GuestMachine, files: Given, folders: Sequence[str] = ()) -> None:
    """Raises InputError for a path that does not lie in the home folder, SandboxFailure."""
    done = await machine.run(UNPACK, packed(files, tuple(folders)), timeout_s=UNPACKS_S)
    require_put(done.status, done.stderr)


async def unpack(machine: GuestMachine, archive: bytes, folder: str) -> None:
    """A tar archive of any size, in a folder that is there. Raises SandboxFailure."""
    path_of_ours = {"PATH": PATH}  # whatever programs of the machine are told
    if len(archive) <= PIECE:
        done = await machine.run(UNPACK, archive, cwd=folder, env=path_of_ours, timeout_s=UNPACKS_S)
        require_put(done.status, done.stderr)
        return
    path = f"/tmp/.{secrets.token_hex(8)}.tar"
    try:
        for offset in range(0, len(archive), PIECE):
            piece = archive[offset : offset + PIECE]
            await machine.client.call("write", piece, root="/", path=path, offset=offset, mode=None)
        done = await machine.run([*UNPACK[:-1], path], cwd=folder, env=path_of_ours, timeout_s=UNPACKS_S * 10)
    finally:
        await machine.run(["rm", "-f", path], env=path_of_ours)
    require_put(done.status, done.stderr)


def require_put(status: int, stderr: bytes) -> None:
    """Checks that files were put into the computer. Raises SandboxFailure."""
    if status != 0:
        raise SandboxFailure("guest", f"the folder could not be filled: {stderr[:200]!r}")
