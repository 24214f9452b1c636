"""One shell of AIO's with what it remembers of its commands: of /v1/shell and of /v1/bash."""

from __future__ import annotations

import time
from collections import deque
from typing import Generic, Protocol, TypeVar

from tars_jax.sandbox.computer.guest_client import naming
from tars_jax.sandbox.shell import Shell

MOST_COMMANDS = 50  # that a session remembers


class HasStatus(Protocol):
    status: str


C = TypeVar("C", bound=HasStatus)
S = TypeVar("S", bound=Shell)


class CommandSession(Generic[S, C]):
    def __init__(self, id: str, shell: S) -> None:
        self.id, self.shell = id, shell
        self.made = time.time()
        self.commands: deque[C] = deque(maxlen=MOST_COMMANDS)

    async def open(self) -> None:
        with naming(cwd="exec_dir"):
            await self.shell.open()

    async def close(self) -> None:
        await self.shell.close()

    @property
    def last(self) -> C | None:
        return self.commands[-1] if self.commands else None

    @property
    def running(self) -> C | None:
        return self.last if self.last is not None and self.last.status == "running" else None

    async def is_busy(self) -> bool:
        await self.look()
        return self.running is not None

    async def look(self, wait_s: float = 0.0) -> None:
        """Takes what the running command has come to meanwhile."""
        raise NotImplementedError
