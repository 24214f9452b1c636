"""Fields of the JSON files of a checkpoint: what one lacks or misspells is an InputError that names file and field."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError, json_fields
from tars_jax.json_fields import is_number

LARGEST = 2**20  # of a size: none comes near, and what is made of far larger ones ends in memory or in integers of C


def json_object(path: Path, values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section of a file, empty where there is none."""
    found = values.get(name)
    if found is not None and not isinstance(found, dict):
        raise InputError(f"{path}: {name} must be a JSON object; got {found!r}")
    return found or {}


def three(path: Path, name: str, values: Any, *, positive: bool = False) -> Any:
    numbers = isinstance(values, list | tuple) and len(values) == 3 and all(map(is_number, values))
    if not numbers or (positive and min(values) <= 0):
        raise InputError(f"{path}: {name} must be three {'positive ' * positive}numbers; got {values!r}")
    return tuple(values)


class CheckpointFields(json_fields.Fields):
    """A section of a file, with defaults for what it leaves out. Null is left out, too."""

    def __init__(
        self, path: Path, section: Mapping[str, Any], defaults: Mapping[str, Any] | None = None, prefix: str = ""
    ) -> None:
        said = {name: value for name, value in section.items() if value is not None}
        super().__init__({**(defaults or {}), **said}, f"{path}: {prefix}")
        self.path = path

    def size(self, *names: str, least: int = 1, most: int = LARGEST) -> int:
        """A whole number under the first of several spellings that is there."""
        name = next((name for name in names if name in self.values), names[0])
        value = self.values.get(name)
        if type(value) is not int or value < least:
            raise self.error(name, "a positive integer" if least == 1 else f"an integer of {least} or more")
        if value > most:
            raise self.error(name, f"at most {most}")
        return value

    def positive(self, name: str, default: float | None = None) -> float:
        value: Any = self.values.get(name, default)
        if not is_number(value) or value <= 0:
            raise self.error(name, "a positive number")
        return float(value)

    def blocks(self, name: str) -> tuple[int, ...]:
        values = self.values.get(name)
        if not isinstance(values, list) or not all(isinstance(block, int) and block >= 0 for block in values):
            raise self.error(name, "a list of blocks")
        return tuple(values)

    def require(self, name: str, only: Any, default: Any = None) -> None:
        if self.values.get(name, default) != only:
            raise self.error(name, repr(only))
