"""Recording of the calls through a guest, so that they can be repeated in another computer, and the results compared.

A replay begins where the recording began and makes the same calls, in the order in which they began and ended. Numbers
that the guest gives (processes, terminals, versions of files) are those of the new guest. An answer that is another one
is a SandboxFailure, "diverged".
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

from tars_jax.sandbox.failures import SandboxFailure

MOST_BYTES = 16 << 20
MOST_CALLS = 20_000
_UNRECORDED = ("hello", "leave", "terminals", "running")
_NUMBERS = ("process", "terminal", "watch", "version", "group")
_TIMES = ("modified",)
_LATE_S = 30.0  # for output that came at once when it was recorded
_PIECE = 1 << 20

Answer = tuple[Any, bytes]


class Calls(Protocol):
    """Calls of a guest's client."""

    async def call(self, call: str, data: bytes = b"", **arguments: Any) -> tuple[dict[str, Any], bytes]: ...


@dataclasses.dataclass
class _Call:
    name: str
    arguments: dict[str, Any]
    data: bytes
    answer: Answer | None = None  # None: it had not ended; with a text: the code of an error


class CallRecording:
    """Recorded calls of one guest. `whole` is false where something is missing: too much was said, or through a
    stream."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.order: list[tuple[str, int]] = []  # "begun" or "ended", and which
        self.whole = True
        self._bytes = 0

    def copied(self) -> CallRecording:
        return copy.deepcopy(self)

    def begun(self, name: str, arguments: Mapping[str, Any], data: bytes) -> int:
        """The number to be given to `ended`."""
        if name in _UNRECORDED or not self.whole or not self._takes(len(data)):
            return -1
        self.calls.append(_Call(name, dict(arguments), data))
        self.order.append(("begun", len(self.calls) - 1))
        return len(self.calls) - 1

    def ended(self, number: int, said: Any, data: bytes) -> None:
        if number >= 0 and self.whole and self._takes(len(data)):
            self.calls[number].answer = (said, data)
            self.order.append(("ended", number))

    def _takes(self, count: int) -> bool:
        self._bytes += count
        self.whole = self._bytes <= MOST_BYTES and len(self.calls) < MOST_CALLS
        if not self.whole:
            self.calls.clear()
            self.order.clear()
        return self.whole


async def replay(recording: CallRecording, client: Calls, error: type[Exception]) -> None:
    """Does again what was recorded. `error`: what a call raises that cannot be, with its `code`.

    Raises SandboxFailure: "diverged" for another answer, "container" for a recording that is not whole.
    """
    if not recording.whole:
        raise SandboxFailure("container", "the session's record must be whole to be replayed; got one with gaps")
    numbers: dict[tuple[str, Any], Any] = {}
    running: dict[int, asyncio.Task[Answer]] = {}
    try:
        for what, number in recording.order:
            call = recording.calls[number]
            if what == "begun":
                running[number] = asyncio.create_task(_again(call, client, numbers, error))
                await asyncio.sleep(0)  # it is sent before the next
            else:
                _compare(number, call, await running.pop(number), numbers)
    finally:
        for task in running.values():
            task.cancel()


async def _again(call: _Call, client: Calls, numbers: dict[tuple[str, Any], Any], error: type[Exception]) -> Answer:
    arguments = {
        key: numbers.get((key, value), value) if key in _NUMBERS else value for key, value in call.arguments.items()
    }
    try:
        if call.name == "output" and call.answer is not None and isinstance(call.answer[0], dict):
            return await _output(client, arguments, call.answer)
        return await client.call(call.name, call.data, **arguments)
    except error as wrong:
        return getattr(wrong, "code", ""), b""


async def _output(client: Calls, arguments: dict[str, Any], recorded: Answer) -> Answer:
    """As much of a terminal's output as was read before, however it was cut into pieces."""
    wanted, got = len(recorded[1]), bytearray()
    clock = asyncio.get_running_loop().time
    until, at, start = clock() + _LATE_S, arguments["offset"], None
    while True:
        rest = {**arguments, "offset": at, "limit": max(1, min(wanted - len(got), _PIECE)), "timeout_s": 1.0}
        if not wanted:
            rest["timeout_s"] = 0.0
        said, data = await client.call("output", **rest)
        start = said["start"] if start is None else start
        got += data[: wanted - len(got)]
        at = said["start"] + len(data)
        if len(got) >= wanted or clock() > until or (said["status"] is not None and not data):
            return {**said, "start": start}, bytes(got)


def _compare(number: int, call: _Call, answer: Answer, numbers: dict[tuple[str, Any], Any]) -> None:
    assert call.answer is not None
    (was, was_data), (said, data) = call.answer, answer
    if isinstance(was, dict) and isinstance(said, dict):
        numbers |= {(key, was[key]): said[key] for key in _NUMBERS if key in was and key in said}
    if call.name == "changes":  # of files, which the comparison of the home folder covers
        return
    if data == was_data and _lasting(was, call.name) == _lasting(said, call.name):
        return
    shown = was_data[:80], data[:80]
    if data == was_data:
        shown = str(_lasting(was, call.name))[:80].encode(), str(_lasting(said, call.name))[:80].encode()
    raise SandboxFailure(
        "diverged", f"call {number} ({call.name} {str(call.arguments)[:120]}) said {shown[0]!r}, and {shown[1]!r} now"
    )


def _lasting(said: Any, name: str) -> Any:
    """Without what differs from one run to the next: numbers, times."""
    if isinstance(said, list):
        return [_lasting(each, name) for each in said]
    if not isinstance(said, dict):
        return said
    kept = {key: _lasting(each, name) for key, each in said.items() if key not in (*_NUMBERS, *_TIMES)}
    if name == "output":  # what else was known when it was read is a matter of moments
        kept = {"start": said["start"]}
    return kept
