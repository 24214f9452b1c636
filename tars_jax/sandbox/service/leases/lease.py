"""A lease: an id that one holder has at one place, until it is released or its time is over."""

from __future__ import annotations

import dataclasses
import re

from tars_jax import InputError

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
LONGEST = {"holder": 128, "place": 256, "once": 64, "data": 8192}  # characters
LEAST_SECONDS, MOST_SECONDS = 0.05, 7 * 86400.0


@dataclasses.dataclass(frozen=True)
class Lease:
    """As it was when the manager answered."""

    id: str
    holder: str  # who claimed it
    place: str  # where the thing is that the id stands for
    fence: int  # greater than that of every lease before; whoever keeps the thing refuses a smaller one
    seconds: float  # that a claim or a renewal gives
    left_s: float  # until it ends, by the manager's clock
    data: str = ""  # the holder's own, told to whoever looks it up


class LeaseHeld(Exception):
    """Somebody else has it now; it may be free after `left_s` seconds."""

    def __init__(self, id: str, left_s: float) -> None:
        super().__init__(f"lease {id} is held by another for {left_s:.1f} more seconds, unless that one renews it")
        self.id, self.left_s = id, left_s


class LeaseEnded(Exception):
    """Nobody holds it with this fence: released, expired, or never claimed."""

    def __init__(self, id: str, why: str) -> None:
        super().__init__(f"lease {id[:128]} is not held: {why}")
        self.id, self.why = id, why


def require_id(id: str) -> None:
    """Raises InputError for what cannot be an id."""
    if not isinstance(id, str) or not ID.fullmatch(id):
        raise InputError(
            f"id must be 1 to 128 letters, digits and ._:@- that begin with a letter or digit; got {id!r:.80}"
        )


def require_seconds(seconds: float) -> None:
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise InputError(f"seconds must be {LEAST_SECONDS:g} to {MOST_SECONDS:g}; got {seconds!r:.80}")


def require_text(name: str, value: str) -> None:
    if not isinstance(value, str) or len(value) > LONGEST[name]:
        raise InputError(f"{name} must be text of at most {LONGEST[name]} characters; got {value!r:.80}")


def require_claim(id: str, seconds: float, **texts: str) -> None:
    """`texts`: fields of LONGEST by their names. Raises InputError."""
    require_id(id)
    require_seconds(seconds)
    for name, value in texts.items():
        require_text(name, value)


def require_renewal(id: str, seconds: float | None, data: str | None) -> None:
    """None: as it was. Raises InputError."""
    require_id(id)
    if seconds is not None:
        require_seconds(seconds)
    if data is not None:
        require_text("data", data)
