"""PyAutoGUI for programs of a desktop, where launch/pyautogui.sh has installed it: OSWorld's controllers call it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from tars_jax.sandbox.computer.spec import ContainerSpec

_INSIDE = "/opt/pyautogui"


def pyautogui_folder() -> Path | None:
    """PyAutoGUI's folder, by TARS_JAX_PYAUTOGUI where that is set; None: it is not installed."""
    folder = Path(os.environ.get("TARS_JAX_PYAUTOGUI") or Path(__file__).parents[3] / ".cache" / "pyautogui").resolve()
    return folder if (folder / "made-by").is_file() else None


def with_pyautogui(room: ContainerSpec, folder: Path) -> ContainerSpec:
    """The container with PyAutoGUI for all its programs, unless those have packages of their own."""
    environment = {"PYTHONPATH": f"{_INSIDE}/packages", **room.environment}
    return dataclasses.replace(room, binds={**room.binds, _INSIDE: folder}, environment=environment)
