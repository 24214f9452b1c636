"""A part of a computer: calls by their names, over one machine."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.sessions.calls import MAX_EVENTS, event_from_json
from tars_jax.web.protocol import RequestFields

Work: TypeAlias = Callable[[], Awaitable[Any]]
Reader: TypeAlias = Callable[[RequestFields], Work]
LONGEST_S = 3600.0  # that one call may wait
MAIN = "main"  # the shell or the kernel that is there without being opened
NAME = 64  # characters of another one's name


class SessionPart:
    """A part of a session, and a `Part` of a computer (computer/part.py); this base class keeps nothing open. Others of
    the same form can be plugged in: see parts.py."""

    calls: Mapping[str, Reader]
    """By name. A reader takes the call's fields, and gives the work that answers with JSON.

    Raises RequestError for fields that cannot be; the work raises what errors.py knows.
    """
    kept: Callable[[], None] = staticmethod(lambda: None)  # called when `snapshot` is another one

    def own(self) -> set[int]:
        """Processes inside that are the part itself, and no program that somebody left running."""
        return set()

    def words(self) -> str:
        """The last words that were seen, for a list that has no picture; empty: nothing yet."""
        return ""

    def snapshot(self) -> Any:
        """Snapshot of the part, as JSON."""
        return None

    async def detach(self) -> None:
        """Detaches the part: nothing connects it with the inside. Raises InputError while one is used."""

    async def attach(self) -> None:
        """Does nothing: the part attaches with the next call."""

    async def close(self) -> None:
        """Closes the part; a second call does nothing."""


def name_of(fields: RequestFields, kind: str) -> str:
    """Of the shell or the kernel that a call is for."""
    name = fields.text(kind, MAIN)
    if not 0 < len(name) <= NAME:
        raise fields.error(kind, f"a name of 1 to {NAME} characters")
    return name


def seconds(fields: RequestFields, default: float, name: str = "timeout_s") -> float:
    return fields.number(name, default, 0.0, LONGEST_S)


def read_act(fields: RequestFields, longest_ms: float, why_no_read: str) -> tuple[list[InputEvent], float]:
    """Events and milliseconds of a call `act`: {events, advance_ms?}. Raises RequestError, InputError."""
    given = fields.array("events")
    if len(given) > MAX_EVENTS:
        raise fields.error("events", f"at most {MAX_EVENTS}")
    events = [event_from_json(event, f"events[{index}]") for index, event in enumerate(given)]
    advance_ms = fields.number("advance_ms", 0.0, 0.0, longest_ms)
    if fields.value("read") is not None:
        raise fields.error("read", f"left out: {why_no_read}")
    return events, advance_ms


def data_of(fields: RequestFields, name: str) -> bytes:
    """Bytes that came as {name: text} or as {name_base64: ...}."""
    packed = f"{name}_base64"
    if fields.value(packed) is None:
        return fields.text(name).encode()
    try:
        return base64.b64decode(fields.text(packed), validate=True)
    except (binascii.Error, ValueError) as error:
        raise fields.error(packed, "base64") from error


def as_json(name: str, data: bytes) -> dict[str, str]:
    """Text where it is such, otherwise base64: the inverse of `data_of`."""
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}
