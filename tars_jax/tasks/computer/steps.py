"""Steps of a task's solution: commands for a shell, and acts with mouse and keyboard, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Gui:
    """One GUI action, done once the active window's title holds `window`; a click, once any window's does."""

    function: str  # its name among the agent's actions
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    window: str = ""  # empty: at once
    at: tuple[int, int] | None = None  # pixels from the left and top of its content; less than 0: from right and bottom


Step: TypeAlias = str | Gui  # a command of bash is a text


def keys(*pressed: str, window: str = "") -> Gui:
    """Keys that are held down together."""
    return Gui("hotkey", {"key": " ".join(pressed)}, window)


def write(text: str, window: str = "") -> Gui:
    return Gui("type", {"content": text}, window)


def click(x: int, y: int, window: str, function: str = "click") -> Gui:
    return Gui(function, {}, window, (x, y))


def to_json(steps: Sequence[Step]) -> list[Any]:
    return [step if isinstance(step, str) else dataclasses.asdict(step) for step in steps]


def next_call(step: Any, windows: Sequence[Json], size: Sequence[int]) -> tuple[str, dict[str, Any]] | None:
    """Function and parameters of a step of `to_json`; None while its window is not there.

    `windows` have title, active, x, y, width and height; `size` is the screen's.
    """
    if isinstance(step, str):
        return "execute_bash", {"command": step}
    active = next((window for window in windows if window["active"]), None)
    parameters = dict(step["parameters"])
    if step["at"] is not None:
        target = next((window for window in windows if step["window"] in window["title"]), None)
        if target is None:
            return None
        x, y = step["at"]
        x += target["x"] + (target["width"] if x < 0 else 0)
        y += target["y"] + (target["height"] if y < 0 else 0)
        parameters["point"] = (round(1000 * x / size[0]), round(1000 * y / size[1]))
    elif step["window"] and (active is None or step["window"] not in active["title"]):
        return None
    return step["function"], parameters
