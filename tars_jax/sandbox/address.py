"""Address of remote sandboxes: a sandbox service, or machines of one's own."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError

LEAST_KEY = 8  # characters


@dataclasses.dataclass(frozen=True)
class SandboxAddress:
    """`config.sandbox`, with the key itself, so that another process needs no file.

    Raises InputError for what cannot be.
    """

    service: str = ""  # http://HOST:PORT of a sandbox service: pages and computers are its; empty: this machine's
    guests: tuple[str, ...] = ()  # HOST:PORT of bare guests: computers are these, each one episode's at a time
    phones: tuple[str, ...] = ()  # serials of devices and emulators that adb knows, each one episode's at a time
    key: str = dataclasses.field(default="", repr=False)  # an owner's with the service, or the token of the guests

    def __post_init__(self) -> None:
        if self.service and not is_server_address(self.service):
            raise InputError(f"sandbox.address must be http://HOST:PORT of a sandbox service; got {self.service!r}")
        if self.service and self.guests:
            raise InputError("sandbox.address must be left out beside sandbox.guests: computers are in one place")
        for guest in self.guests:
            host_and_port(guest)
        for name in ("guests", "phones"):
            given = getattr(self, name)
            if len(set(given)) < len(given):
                raise InputError(f"sandbox.{name} must name each one once; got {', '.join(given)}")
        if (self.service or self.guests) and (len(self.key) < LEAST_KEY or not self.key.isprintable()):
            whose = "an owner's key beside sandbox.address" if self.service else "the guests' token"
            raise InputError(
                f"sandbox.key_file must be a file with {whose}, one line of {LEAST_KEY} characters or more"
            )


def read_address(
    address: str = "", guests: Sequence[str] = (), phones: Sequence[str] = (), key_file: str = ""
) -> SandboxAddress | None:  # fmt: skip
    """The address that the fields of `config.sandbox` name; None where they name none. Raises InputError that names the
    field."""
    key = ""
    if key_file:
        try:
            key = Path(key_file).expanduser().read_text("ascii").strip()
        except (OSError, ValueError) as error:
            raise InputError(f"sandbox.key_file must be a file of the key alone; {key_file}: {error}") from error
        if not (address or guests):
            raise InputError(f"sandbox.key_file must be left out without sandbox.address or guests; got {key_file!r}")
    if not (address or guests or phones):
        return None
    return SandboxAddress(address, tuple(guests), tuple(phones), key)


def is_server_address(address: str) -> bool:
    """Whether paths can be put behind it."""
    try:
        parts = urllib.parse.urlsplit(address)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not (parts.query or parts.fragment)
        )
    except ValueError:  # a port that is none, brackets that do not close
        return False


def host_and_port(guest: str) -> tuple[str, int]:
    """Splits HOST:PORT. Raises InputError."""
    if not is_guest(guest):
        raise InputError(f"sandbox.guests must be HOST:PORT of guests; got {guest!r}")
    host, _, port = guest.rpartition(":")
    return host.strip("[]"), int(port)


def is_guest(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and len(port) < 6 and 0 < int(port) < 65536
