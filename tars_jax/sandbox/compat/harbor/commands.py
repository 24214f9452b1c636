"""A command line in a computer, run to its end as a container runtime does it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.guest_client import GuestError

MOST_OUTPUT = 8 << 20  # bytes of each stream that are given back, half of them from its end
NO_SUCH = 126  # the status of what could not be started, as shells have it
FOREVER_S = 1e8


@dataclasses.dataclass(frozen=True)
class Done:
    """`status`: the exit status, minus the signal's number if one ended it. `timed_out`: it was killed."""

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


async def run_command(
    computer: Computer, command: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> Done:  # fmt: skip
    """Runs a line of bash; what it leaves in the background goes on.

    Its process group is killed after `timeout_s` (None: never), and where this call is cancelled. A folder or a
    program that is not there is a status of 126 with the reason in stderr. Raises SandboxFailure where the computer is
    gone.
    """
    limit_s = FOREVER_S if timeout_s is None else timeout_s
    try:
        ran = await computer.machine.run(
            ["/bin/bash", "-c", command], env=env, cwd=cwd, timeout_s=limit_s, limit=MOST_OUTPUT
        )  # fmt: skip
    except GuestError as error:
        return Done(NO_SUCH, b"", str(error).encode())
    stdout, stderr = _marked(ran.stdout, ran.stdout_cut), _marked(ran.stderr, ran.stderr_cut)
    return Done(ran.status, stdout, stderr, ran.timed_out)


def _marked(data: bytes, missing: int) -> bytes:
    if not missing:
        return data
    return data[: MOST_OUTPUT // 2] + b"\n[%d bytes left out]\n" % missing + data[MOST_OUTPUT // 2 :]
