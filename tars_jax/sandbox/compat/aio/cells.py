"""What AIO tells of code that ran, in nbformat's shape, and its sessions of kernels."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from tars_jax.sandbox.computer.guest_machine import Ran
from tars_jax.sandbox.tools.kernels import Kernel


@dataclasses.dataclass
class KernelSession:
    kernel: Kernel
    made: float = dataclasses.field(default_factory=time.time)
    count: int = 0  # of its cells
    busy: int = 0  # calls that wait for a cell

    async def is_busy(self) -> bool:
        return self.busy > 0

    async def close(self) -> None:
        await self.kernel.close()


def status_of(ran: Ran) -> str:
    """Of a program."""
    return "timeout" if ran.timed_out else "error" if ran.status else "ok"


def streams(stdout: str, stderr: str) -> list[dict[str, Any]]:
    said = (("stdout", stdout), ("stderr", stderr))
    return [{"output_type": "stream", "name": name, "text": text} for name, text in said if text]


def error_output(name: str, value: str, text: str) -> dict[str, Any]:
    """`text`: the traceback."""
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": text.splitlines()}
