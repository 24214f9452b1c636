"""A stub of stable-retro, for machines without it: it plays tests/envs/own_cartridge.py alone, by the same calls."""

from __future__ import annotations

import functools
import gzip
import struct
import types
from pathlib import Path
from typing import Any

import numpy as np

_BUTTONS = ("A", "B", "SELECT", "START", "RIGHT", "LEFT", "UP", "DOWN", "R", "L")  # by their bits
_paths: list[Path] = []


class _Integrations:
    CUSTOM_ONLY = "custom"

    @staticmethod
    def add_custom_path(path: str) -> None:
        _paths.append(Path(path))


data = types.SimpleNamespace(Integrations=_Integrations)
State = types.SimpleNamespace(NONE=None)
Actions = types.SimpleNamespace(ALL="all")


class _Played:
    buttons = (*_BUTTONS, None)

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        assert (folder / "rom.gba").is_file() and (folder / "data.json").is_file()

    def load_state(self, name: str, inttype: str) -> None:
        self._saved = gzip.decompress((self._folder / f"{name}.state").read_bytes())

    def reset(self) -> tuple[np.ndarray, dict[str, int]]:
        self._color, self._lives = struct.unpack("<HB", self._saved[12:15])
        self._held = 0
        return _screen(self._color), {}

    def step(self, pressed: list[bool]) -> tuple[np.ndarray, float, bool, bool, dict[str, int]]:
        held = sum(down << bit for bit, down in enumerate(pressed)) if True in pressed else 0
        new, self._held = held & ~self._held, held
        self._color += new
        self._lives -= new >> _BUTTONS.index("L") & 1
        return _screen(self._color), 0.0, self._lives == 0, False, {"lives": self._lives}


@functools.cache
def _screen(color: int) -> np.ndarray:
    parts = [(color >> shift & 31) << 3 for shift in (0, 5, 10)]
    return np.broadcast_to(np.array(parts, np.uint8), (160, 240, 3))


def make(game: str, state: Any, **options: Any) -> _Played:
    return _Played(_paths[-1] / game)
