"""Spaces of gymnasium in an agent's terms: actions as one function with a JSON schema, observations as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.environment import Function

MOST_NUMBERS = 32  # of an observation that is text, and of an action
_DIGITS = 3


class ActFunction:
    """The function `act` of an action space: its one parameter `action` is a sample.

    Discrete: a whole number, or one of `names`. MultiDiscrete: a list of whole numbers. MultiBinary: of zeros and ones.
    Box: of numbers, in the order of `numpy.ravel`. Raises InputError for other spaces.
    """

    def __init__(self, name: str, space: spaces.Space[Any], names: Sequence[str] | None = None) -> None:
        if names is not None and not (isinstance(space, spaces.Discrete) and len(names) == space.n):
            raise InputError(f"{name}: option action_names must name the actions of {space}; got {len(names)} names")
        self._space, self._names = space, names
        self._bounds = _bounds(name, space)
        self._whole = not (isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating))
        schema = self._schema()
        parameters = {"type": "object", "properties": {"action": schema}, "required": ["action"]}
        self.function = Function("act", "Does one action.", {**parameters, "additionalProperties": False})

    def sample(self, call: Any) -> Any:
        """The sample that a call of `act` means. Raises InputError for what is no sample."""
        function, parameters = getattr(call, "name", None), getattr(call, "parameters", None)
        if function != "act" or not isinstance(parameters, Mapping):
            raise InputError(f"a call must be act(action); got {function or call!r:.60}")
        given = parameters.get("action")
        if self._names is not None:
            if given not in self._names:
                raise InputError(f"action must be one of {', '.join(self._names)}; got {given!r:.60}")
            return self._first + self._names.index(given)
        single = isinstance(self._space, spaces.Discrete)
        numbers = [given] if single else given
        if not (isinstance(numbers, list | tuple) and len(numbers) == len(self._bounds)):
            raise InputError(f"action must be {self._said()}; got {given!r:.60}")
        for number, (low, high) in zip(numbers, self._bounds, strict=True):
            if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
                raise InputError(f"action must be {self._said()}; got {given!r:.60}")
            if self._whole and number != int(number):
                raise InputError(f"action must be {self._said()}; got {given!r:.60}")
        if single:
            return int(numbers[0])
        return np.asarray(numbers, self._space.dtype).reshape(self._space.shape)

    @property
    def _first(self) -> int:
        return int(self._bounds[0][0])

    def _schema(self) -> dict[str, Any]:
        if self._names is not None:
            return {"type": "string", "enum": list(self._names)}
        kind = "integer" if self._whole else "number"
        each = [_number(kind, low, high) for low, high in self._bounds]
        if isinstance(self._space, spaces.Discrete):
            return each[0]
        count = len(each)
        array = {"type": "array", "minItems": count, "maxItems": count}
        if all(item == each[0] for item in each):
            return {**array, "items": each[0]}
        widest = _number(kind, min(low for low, _ in self._bounds), max(high for _, high in self._bounds))
        return {**array, "prefixItems": each, "items": widest}

    def _said(self) -> str:
        ranges = [f"{low:g} to {high:g}" for low, high in self._bounds]
        kind = "whole number" if self._whole else "number"
        if isinstance(self._space, spaces.Discrete):
            return f"a {kind} of {ranges[0]}"
        within = ranges[0] if len(set(ranges)) == 1 else ", ".join(ranges)
        return f"a list of {len(ranges)} {kind}s of {within}"


def is_readable(space: spaces.Space[Any]) -> bool:
    """Whether observations are few enough numbers, or text, to be read as such."""
    return _numbers(space) <= MOST_NUMBERS


def written(space: spaces.Space[Any], value: Any) -> str:
    """An observation as text: numbers rounded, a dictionary's entries by name, on a line each."""
    if isinstance(space, spaces.Dict):
        return "\n".join(f"{name}: {written(inner, value[name])}" for name, inner in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return "; ".join(written(inner, part) for inner, part in zip(space.spaces, value, strict=True))
    if isinstance(space, spaces.Text):
        return str(value)
    return ", ".join(map(_rounded, np.ravel(value).tolist()))


def _rounded(number: float) -> str:
    return f"{round(float(number), _DIGITS) + 0.0:.{_DIGITS}f}".rstrip("0").rstrip(".")  # + 0.0: of -0 and 0


def plain(value: Any) -> Any:
    """As JSON, for verification: arrays as lists if they are small; what is neither small nor JSON is left out."""
    if isinstance(value, Mapping):
        return {str(name): kept for name, each in value.items() if (kept := plain(each)) is not None}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return plain(value.tolist()) if value.size <= MOST_NUMBERS else None
    if isinstance(value, list | tuple):
        return [plain(each) for each in value] if len(value) <= MOST_NUMBERS else None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float) else None


def _bounds(name: str, space: spaces.Space[Any]) -> list[tuple[float, float]]:
    """The least and the largest value of every number of a sample."""
    match space:
        case spaces.Discrete():
            return [(int(space.start), int(space.start + space.n) - 1)]
        case spaces.MultiDiscrete():
            first = np.ravel(space.start).tolist()
            bounds = [(low, low + count - 1) for low, count in zip(first, np.ravel(space.nvec).tolist(), strict=True)]
        case spaces.MultiBinary():
            bounds = [(0, 1)] * math.prod(space.shape)
        case spaces.Box():
            bounds = list(zip(np.ravel(space.low).tolist(), np.ravel(space.high).tolist(), strict=True))
        case _:
            about = f"the action space of {name} must be Discrete, MultiDiscrete, MultiBinary or Box"
            raise InputError(f"{about}; got {space}")
    if len(bounds) > MOST_NUMBERS:
        raise InputError(f"an action of {name} must have at most {MOST_NUMBERS} numbers; got {len(bounds)}")
    return bounds


def _number(kind: str, low: float, high: float) -> dict[str, Any]:
    limits = {"minimum": low, "maximum": high}
    return {"type": kind} | {name: limit for name, limit in limits.items() if math.isfinite(limit)}


def _numbers(space: spaces.Space[Any]) -> float:
    """How many numbers an observation is; infinity for what cannot be written."""
    match space:
        case spaces.Discrete() | spaces.Text():
            return 1
        case spaces.MultiDiscrete() | spaces.MultiBinary() | spaces.Box():
            return math.prod(space.shape)
        case spaces.Dict():
            return sum(map(_numbers, space.spaces.values()))
        case spaces.Tuple():
            return sum(map(_numbers, space.spaces))
    return math.inf
