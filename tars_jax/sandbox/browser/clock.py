"""The virtual clock as an init script, and the calls on it (see clock.js and animations.js)."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
CLOCK_SCRIPT = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in ("clock.js", "animations.js"))


def begin_expression(seed: int, expression: str, *, canvas: bool, read: str | None) -> str:
    """Time 0 and chance from `seed`, then `expression`, then what observe_expression gives at time 0."""
    observed = observe_expression(0, canvas=canvas, read=read)
    return f"(async () => {{ __clock.reset({int(seed)}); await ({expression}); return {observed}; }})()"


def observe_expression(advance_ms: float, *, canvas: bool, read: str | None) -> str:
    """Moves time and gives {data: value of `read`, image: data URL of the page's canvas, or null where it has none}."""
    return f"__clock.observe({float(advance_ms)!r}, {'true' if canvas else 'false'}, () => ({read or 'null'}))"
