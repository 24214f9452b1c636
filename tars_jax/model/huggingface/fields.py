"""Fields of JSON files: what one lacks or misspells is an InputError that names file and field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError

LARGEST = 2**20  # of a size: none comes near, and what is made of far larger ones ends in memory or in integers of C


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; raises InputError when it is none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold a JSON object, got {type(content).__name__}")
    return content


def json_object(path: Path, values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section of a file, empty where there is none."""
    found = values.get(name)
    if found is not None and not isinstance(found, dict):
        raise InputError(f"{path}: {name} must be a JSON object, got {found!r}")
    return found or {}


def three(path: Path, name: str, values: Any, *, positive: bool = False) -> Any:
    numbers = isinstance(values, list | tuple) and len(values) == 3 and all(map(is_number, values))
    if not numbers or (positive and min(values) <= 0):
        raise InputError(f"{path}: {name} must be three {'positive ' * positive}numbers, got {values!r}")
    return tuple(values)


def is_number(value: Any) -> bool:
    """One that a float can hold, as JSON may have integers that none can."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


class Fields:
    """A section of a file, with defaults for what it leaves out. Null is left out, too."""

    def __init__(
        self, path: Path, section: Mapping[str, Any], defaults: Mapping[str, Any] | None = None, prefix: str = ""
    ) -> None:
        said = {name: value for name, value in section.items() if value is not None}
        self.path, self.values, self.prefix = path, {**(defaults or {}), **said}, prefix

    def integer(self, *names: str, least: int = 1, most: int = LARGEST) -> int:
        """The first of several spellings that is there."""
        value = next((self.values[name] for name in names if name in self.values), None)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            kind = "a positive integer" if least == 1 else f"an integer of {least} or more"
            raise self._wrong(names[0], kind, value)
        if value > most:
            raise self._wrong(names[0], f"at most {most}", value)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value: Any = self.values.get(name, default)
        if not is_number(value) or value <= 0:
            raise self._wrong(name, "a positive number", value)
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def blocks(self, name: str) -> tuple[int, ...]:
        values = self.values.get(name)
        if not isinstance(values, list) or not all(isinstance(block, int) and block >= 0 for block in values):
            raise self._wrong(name, "a list of blocks", values)
        return tuple(values)

    def require(self, name: str, only: Any, default: Any = None) -> None:
        value = self.values.get(name, default)
        if value != only:
            raise self._wrong(name, repr(only), value)

    def _wrong(self, name: str, takes: str, value: Any) -> InputError:
        return InputError(f"{self.path}: {self.prefix}{name} must be {takes}, got {value!r}")
