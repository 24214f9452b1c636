"""What can be asked of a page, as data: written to journals and recordings, sent to the service, carried out again."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any, TypeAlias

from tars_jax import InputError
from tars_jax.sandbox.browser import events as input_events
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.page import ActsOnPage
from tars_jax.sandbox.browser.screenshots import PageObservation

EVENTS: dict[str, type[Any]] = {
    name: getattr(input_events, name)
    for name in ("MouseMove", "MouseDown", "MouseUp", "Wheel", "KeyDown", "KeyUp", "InsertText")
}
LONGEST_ADVANCE_MS = 600_000.0
MAX_EVENTS = 10_000
MAX_SEED = 2**53
MAX_CLICKS = 10_000  # in a row at one place


@dataclasses.dataclass(frozen=True)
class Start:
    expression: str
    seed: int
    read: str | None = None

    async def on(self, page: ActsOnPage) -> PageObservation:
        return await page.start(self.expression, seed=self.seed, read=self.read)


@dataclasses.dataclass(frozen=True)
class Act:
    events: tuple[InputEvent, ...]
    advance_ms: float
    read: str | None = None
    rate: float = math.inf  # virtual seconds a second; what the page shows after it is the same

    async def on(self, page: ActsOnPage) -> PageObservation:
        return await page.act(self.events, advance_ms=self.advance_ms, read=self.read, rate=self.rate)


@dataclasses.dataclass(frozen=True)
class Evaluate:
    expression: str

    async def on(self, page: ActsOnPage) -> Any:
        return await page.evaluate(self.expression)


Call: TypeAlias = Start | Act | Evaluate


def call_to_json(call: Call) -> dict[str, Any]:
    """Plain values with the field `call`: start, act or evaluate."""
    match call:
        case Start():
            return {"call": "start", **dataclasses.asdict(call)}
        case Act(events, advance_ms, read, rate):
            written = {"events": list(map(event_to_json, events)), "advance_ms": advance_ms, "read": read}
            return {"call": "act", **written, **({} if rate == math.inf else {"rate": rate})}
        case Evaluate():
            return {"call": "evaluate", **dataclasses.asdict(call)}


def call_from_json(value: Any) -> Call:
    """The inverse of call_to_json. Raises InputError that names the field."""
    fields = _object(value, "call")
    match fields.get("call"):
        case "start":
            _known(fields, "call", "expression", "seed", "read")
            return Start(_text(fields, "expression"), _seed(fields), _read(fields))
        case "act":
            _known(fields, "call", "events", "advance_ms", "read", "rate")
            events = fields.get("events", [])
            if not isinstance(events, list) or len(events) > MAX_EVENTS:
                raise InputError(f"events must be an array of at most {MAX_EVENTS} events; got {_shown(events)}")
            advance_ms = _number(fields, "advance_ms", "")
            if not 0 <= advance_ms <= LONGEST_ADVANCE_MS:
                raise InputError(f"advance_ms must be 0 to {LONGEST_ADVANCE_MS:.0f}; got {advance_ms!r}")
            read = [event_from_json(event, f"events[{index}]") for index, event in enumerate(events)]
            rate = math.inf if fields.get("rate") is None else _number(fields, "rate", "")
            input_events.real_seconds(advance_ms, rate)
            return Act(tuple(read), advance_ms, _read(fields), rate)
        case "evaluate":
            _known(fields, "call", "expression")
            return Evaluate(_text(fields, "expression"))
        case other:
            raise InputError(f"call must be start, act or evaluate; got {_shown(other)}")


def checked(call: Call) -> Call:
    """The call as a journal will read it back, numbers of numpy as plain ones. Raises InputError for any other."""
    return call_from_json(call_to_json(call))


def event_to_json(event: InputEvent) -> dict[str, Any]:
    return {"type": type(event).__name__, **dataclasses.asdict(event)}


def event_from_json(value: Any, where: str = "event") -> InputEvent:
    """An event from {"type": "MouseDown", "x": 3, ...}. Raises InputError that names the field, `where` before it."""
    fields = _object(value, where)
    kind = EVENTS.get(fields["type"]) if isinstance(fields.get("type"), str) else None
    if kind is None:
        raise InputError(f"{where}.type must be one of {', '.join(EVENTS)}; got {_shown(fields.get('type'))}")
    parts = {field.name: field for field in dataclasses.fields(kind)}
    _known(fields, "type", *parts, where=f"{where}.")
    values: dict[str, Any] = {}
    for name, field in parts.items():
        if name not in fields and field.default is not dataclasses.MISSING:
            continue
        if field.type == "float":
            values[name] = _number(fields, name, f"{where}.")
        elif field.type == "int":
            if not _is_whole(fields[name]) or not 1 <= fields[name] <= MAX_CLICKS:
                raise InputError(
                    f"{where}.{name} must be a whole number, 1 to {MAX_CLICKS}; got {_shown(fields[name])}"
                )
            values[name] = int(fields[name])
        else:
            values[name] = _text(fields, name, f"{where}.")
    event = kind(**values)
    input_events.InputDevices().command(event)  # an unknown key or button is refused before the first event is sent
    return event


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} must be an object; got {_shown(value)}")
    return value


def _known(fields: Mapping[str, Any], *names: str, where: str = "") -> None:
    for name in fields:
        if name not in names:
            raise InputError(f"{where}{name[:80]} must be one of the fields {', '.join(names)}; got another")


def _text(fields: Mapping[str, Any], name: str, where: str = "") -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not _encodes(value):
        raise InputError(f"{where}{name} must be text; got {_shown(value)}")
    return value


def _encodes(text: str) -> bool:
    """Whether it is free of halves of surrogate pairs, which the browser's protocol does not carry."""
    try:
        return text.encode() is not None
    except UnicodeEncodeError:
        return False


def _read(fields: Mapping[str, Any]) -> str | None:
    return None if fields.get("read") is None else _text(fields, "read")


def _seed(fields: Mapping[str, Any]) -> int:
    value: Any = fields.get("seed")
    if not _is_whole(value) or not 0 <= value <= MAX_SEED:
        raise InputError(f"seed must be a whole number from 0 to 2**53; got {_shown(value)}")
    return int(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _number(fields: Mapping[str, Any], name: str, where: str) -> float:
    value: Any = fields.get(name)
    # NaN and infinities are not within, and a whole number of hundreds of digits has no float
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not -1e9 <= value <= 1e9:
        raise InputError(f"{where}{name} must be a number; got {_shown(value)}")
    return float(value)


def _shown(value: Any) -> str:
    """A value in an error message, cut to a readable length."""
    return "missing" if value is None else repr(value)[:120]
