"""Functions by the schemas of their arguments, and arguments as models write them: numbers as text, unknown fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Function


class ToolError(InputError):
    """Refusal that the agent is told instead of a result."""


class Arguments:
    """Raises ToolError, which says what was wrong, for what cannot be meant."""

    def __init__(self, given: Mapping[str, Any], known: Sequence[str]) -> None:
        if unknown := [name for name in given if name not in known]:
            raise ToolError(f"an argument must be one of {', '.join(known)}; got {unknown[0]!r}")
        self._given = given

    def text(self, name: str, default: str | None = None) -> str:
        value = self._given.get(name)
        if value is None:
            if default is None:
                raise ToolError(f"{name} must be given; got nothing")
            return default
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        if not isinstance(value, str):
            raise ToolError(f"{name} must be text; got {value!r:.80}")
        return value

    def one_of(self, name: str, choices: Sequence[str]) -> str:
        value = self.text(name)
        if value not in choices:
            raise ToolError(f"{name} must be one of {', '.join(choices)}; got {value!r:.80}")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self._read(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise ToolError(f"{name} must be a number; got {self._given.get(name)!r:.80}")
        return value

    def whole(self, name: str) -> int:
        value = self.number(name)
        if value != int(value):
            raise ToolError(f"{name} must be a whole number; got {value!r}")
        return int(value)

    def flag(self, name: str) -> bool:
        value = self._read(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise ToolError(f"{name} must be true or false; got {value!r:.80}")

    def range(self, name: str) -> list[int] | None:
        """Two line numbers, or nothing."""
        value = self._read(name)
        if value is None or value == []:
            return None
        if not isinstance(value, list) or len(value) != 2:
            raise ToolError(f"{name} must be two line numbers, as in [1, 20]; got {value!r:.80}")
        first, last = (Arguments({name: each}, [name]).whole(name) for each in value)
        return [first, last]

    def _read(self, name: str) -> Any:
        """A value, of which text may be the JSON."""
        value = self._given.get(name)
        if isinstance(value, str):
            try:
                return json.loads(value.strip().lower() if value.strip().lower() in ("true", "false") else value)
            except ValueError:
                return value.strip() or None
        return value


def function(name: str, description: str, required: Sequence[str], /, **properties: Mapping[str, Any]) -> Function:
    """One that takes these arguments, by their JSON schemas, and no others."""
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Function(name, description, schema)
