"""Commands of the stand-in's shell: their output and their options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice


@dataclasses.dataclass(frozen=True)
class CommandOutput:
    """The output of a command, and its exit status."""

    stdout: bytes = b""
    stderr: bytes = b""
    status: int = 0


# Takes the device, the words behind its name, and its input. Raises InputError, or OSError of a file.
Command = Callable[[StandInDevice, list[str], bytes], CommandOutput]


def said(text: str, status: int = 0) -> CommandOutput:
    """Text and a newline."""
    return CommandOutput(f"{text}\n".encode(), b"", status)


def failed(text: str, status: int = 1) -> CommandOutput:
    return CommandOutput(b"", f"{text}\n".encode(), status)


def option(args: list[str], name: str) -> str | None:
    """The word behind `name`."""
    return args[args.index(name) + 1] if name in args[:-1] else None
