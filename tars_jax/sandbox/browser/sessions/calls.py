"""Calls of a page, as data: written to journals and recordings, sent to the service, carried out again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import short_repr
from tars_jax.sandbox.browser import events as input_events
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.page import ActsOnPage
from tars_jax.sandbox.browser.screenshots import PageObservation

LONGEST_ADVANCE_MS = 600_000.0
MAX_EVENTS = 10_000
MAX_SEED = 2**53


@dataclasses.dataclass(frozen=True)
class Start:
    expression: str
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)]
    read: str | None = None

    async def on(self, page: ActsOnPage) -> PageObservation:
        return await page.start(self.expression, seed=self.seed, read=self.read)


@dataclasses.dataclass(frozen=True)
class Act:
    events: Annotated[tuple[InputEvent, ...], Meta(max_length=MAX_EVENTS, description=f"at most {MAX_EVENTS} events")]
    advance_ms: Annotated[float, Meta(ge=0, le=LONGEST_ADVANCE_MS)]
    read: str | None = None
    rate: Annotated[float, Meta(gt=0, le=1e9)] = (
        math.inf
    )  # virtual seconds a second; what the page shows after it is the same

    async def on(self, page: ActsOnPage) -> PageObservation:
        return await page.act(self.events, advance_ms=self.advance_ms, read=self.read, rate=self.rate)


@dataclasses.dataclass(frozen=True)
class Evaluate:
    expression: str

    async def on(self, page: ActsOnPage) -> Any:
        return await page.evaluate(self.expression)


Call: TypeAlias = Start | Act | Evaluate
KINDS: Mapping[str, type[Any]] = {"start": Start, "act": Act, "evaluate": Evaluate}


def call_to_json(call: Call) -> dict[str, Any]:
    """Plain values with the field `call`: start, act or evaluate. Numbers of numpy become plain ones."""
    values = {"call": type(call).__name__.lower(), **_plain(call)}
    if values.get("rate") == math.inf:
        del values["rate"]
    return values


def call_from_json(value: Any) -> Call:
    """The inverse of call_to_json. Raises InputError that names the field."""
    if not isinstance(value, dict):
        raise InputError(f"call must be an object; got {short_repr(value)}")
    kind = KINDS.get(value["call"]) if isinstance(value.get("call"), str) else None
    if kind is None:
        raise InputError(f"call must be start, act or evaluate; got {short_repr(value.get('call'))}")
    call: Call = decoded({name: each for name, each in value.items() if name != "call"}, kind)
    if isinstance(call, Act):
        input_events.real_seconds(call.advance_ms, call.rate)
        for event in call.events:
            _check_device(event)
    return call


def checked(call: Call) -> Call:
    """The call as a journal will read it back, numbers of numpy as plain ones. Raises InputError for any other."""
    return call_from_json(call_to_json(call))


def event_to_json(event: InputEvent) -> dict[str, Any]:
    return _plain(event)


def event_from_json(value: Any, where: str = "event") -> InputEvent:
    """An event from {"type": "MouseDown", "x": 3, ...}. Raises InputError that names the field, `where` before it."""
    kind: Any = InputEvent
    event: InputEvent = decoded(value, kind, f"{where}.")
    _check_device(event)
    return event


def _check_device(event: InputEvent) -> None:
    """An unknown key or button is refused before the first event is sent."""
    input_events.InputDevices().command(event)


def _plain(value: Any) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(value, enc_hook=lambda number: number.item())
    return values
