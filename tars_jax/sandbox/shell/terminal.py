"""A program on a terminal of its own in a computer: typed into, and read from any place of its output on."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Mapping, Sequence
from typing import Self

from tars_jax.sandbox.computer.guest_client import CALL_TIMEOUT_S, GuestClient, GuestError
from tars_jax.sandbox.failures import Broken

ENDED = "EIO"  # the guest's word for a terminal whose program has ended


@dataclasses.dataclass(frozen=True)
class TerminalOutput:
    start: int  # place of the data in all that was written: later than asked where the guest keeps no more
    data: bytes
    status: int | None  # of the program, once it has ended
    typed: int  # bytes that have arrived of those typed in


class GuestTerminal:
    def __init__(self, client: GuestClient, number: int) -> None:
        """`number`: the guest's, of a terminal that is open."""
        self._client, self.number = client, number

    @classmethod
    async def open(
        cls, client: GuestClient, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None,
        echo: bool = True, columns: int = 120, rows: int = 40,
    ) -> tuple[Self, int]:  # fmt: skip
        """The terminal, and the program's process inside.

        Raises GuestError for a program that cannot be started, Broken where programs inside have taken all terminals.
        """
        try:
            opened, _ = await client.call(
                "open_terminal", argv=list(argv), env=dict(env), cwd=cwd, echo=echo, columns=columns, rows=rows
            )
        except GuestError as error:
            if error.code == "ENOSPC":
                raise Broken(str(error)) from error
            raise
        return cls(client, opened["terminal"]), opened["process"]

    async def type(self, data: bytes, *, reset: bool = False) -> None:
        """`reset`: the terminal's modes are first those that it began with.

        Raises GuestError, of the code ENDED where the program has ended, and for a program that does not read.
        """
        await self._client.call("type", data, terminal=self.number, reset=reset)

    async def read(self, offset: int, timeout_s: float, *, most: int | None = None) -> TerminalOutput:
        """What was written from a place on, at most `most` bytes: at once, or as soon as there is some, it ends, or
        `timeout_s` is over.
        """
        answer, data = await self._client.call(
            "output", terminal=self.number, offset=offset, limit=most, timeout_s=timeout_s,
            patience_s=timeout_s + CALL_TIMEOUT_S,
        )  # fmt: skip
        return TerminalOutput(answer["start"], data, answer["status"], answer["typed"])

    async def signal(self, number: int = signal.SIGINT) -> None:
        """To the process group in the foreground."""
        await self._client.call("signal_terminal", terminal=self.number, signal=number)

    async def resize(self, columns: int, rows: int) -> None:
        await self._client.call("resize", terminal=self.number, columns=columns, rows=rows)

    async def close(self) -> None:
        """Ends every process of the terminal's session."""
        await self._client.call("close_terminal", terminal=self.number)
