"""Config of a desktop. Nothing here needs X."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tars_jax import InputError


@dataclasses.dataclass(frozen=True)
class Settle:
    """Limits of the wait for the effect of an action, in milliseconds of real time."""

    first_ms: float = 200.0  # for a first change; without one the action has no effect that shows
    quiet_ms: float = 25.0  # without a further change, after which the screen has settled
    bound_ms: float = 2000.0  # at most, in all

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not 0 <= value <= 600_000:
                raise InputError(f"settle.{field.name} must be milliseconds, 0 to 600000; got {value!r}")


@dataclasses.dataclass(frozen=True)
class DesktopConfig:
    width: int = 1280
    height: int = 720
    background: int = 0x2C3E50  # of the screen, 0xRRGGBB
    window_manager: bool = True
    settle: Settle = dataclasses.field(default_factory=Settle)
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of its programs, over what they have

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            if not 64 <= getattr(self, name) <= 8192:
                raise InputError(f"desktop.{name} must be 64 to 8192 pixels; got {getattr(self, name)!r}")
