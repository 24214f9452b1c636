"""Config of a desktop. Nothing here needs X."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tars_jax.rules import between, check_fields, field

LIMIT = between(0, 600_000)


@dataclasses.dataclass(frozen=True)
class Settle:
    """Limits of the wait for the effect of an action, in milliseconds of real time."""

    first_ms: float = field(200.0, "of a first change; without one the action has no effect that shows", LIMIT)
    quiet_ms: float = field(25.0, "without a further change, after which the screen has settled", LIMIT)
    bound_ms: float = field(2000.0, "at most, in all", LIMIT)

    def __post_init__(self) -> None:
        check_fields(self, "settle")


@dataclasses.dataclass(frozen=True)
class DesktopConfig:
    """A desktop: its screen and what its programs find. Raises InputError for an impossible size."""

    width: int = field(1280, "width of the screen, in pixels", between(64, 8192))
    height: int = field(720, "height of the screen, in pixels", between(64, 8192))
    background: int = 0x2C3E50  # of the screen, 0xRRGGBB
    window_manager: bool = True
    settle: Settle = dataclasses.field(default_factory=Settle)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of its programs, over what they have

    def __post_init__(self) -> None:
        check_fields(self, "desktop")
