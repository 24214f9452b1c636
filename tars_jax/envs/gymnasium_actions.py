"""Action spaces of gymnasium as one function with a JSON schema."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema
import numpy as np
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.agent.actions import NAME_PATTERN
from tars_jax.agent.schemas import describe_schema
from tars_jax.agent.value_patterns import character_class
from tars_jax.environment import Function

MOST_NUMBERS = 32  # of an action, texts included
_KINDS = "Discrete, MultiDiscrete, MultiBinary, Box, Text, or Dict and Tuple of these"


class ActFunction:
    """The function `act` of an action space.

    A dictionary's entries are its parameters, where they have names that can be written so; of any other space the one
    parameter `action` is a sample. As JSON, a sample of
      Discrete is an integer, or one of `names`;
      MultiDiscrete, MultiBinary, Box: a list of integers or numbers, in the order of `numpy.ravel`;
      Text: a text; Tuple: a list; Dict: an object.

    Raises InputError for other spaces, for more than 32 numbers, and for names of anything but a Discrete's actions.
    """

    def __init__(self, name: str, space: spaces.Space[Any], names: Sequence[str] | None = None) -> None:
        if names is not None and not (isinstance(space, spaces.Discrete) and len(names) == space.n):
            raise InputError(f"{name}: option action_names must name the actions of {space}; got {len(names)} names")
        if (count := _count(name, space)) > MOST_NUMBERS:
            raise InputError(f"an action of {name} must have at most {MOST_NUMBERS} numbers; got {count}")
        self._space, self._names = space, names
        self._is_dict = isinstance(space, spaces.Dict) and all(re.fullmatch(NAME_PATTERN, str(key)) for key in space)
        if self._is_dict:
            parameters = _schema(space)
        else:
            action = _schema(space) if names is None else {"type": "string", "enum": list(names)}
            parameters = _object({"action": action})
        self.function = Function("act", "Does one action.", parameters)
        self._validator = jsonschema.Draft202012Validator(parameters)

    def sample(self, call: Any) -> Any:
        """The sample that a call of `act` means. Raises InputError for what is no sample."""
        function, parameters = getattr(call, "name", None), getattr(call, "parameters", None)
        if function != "act" or not isinstance(parameters, Mapping):
            wanted = ", ".join(self.function.parameters["properties"])
            raise InputError(f"a call must be act({wanted}); got {function or call!r:.60}")
        arguments = dict(parameters)
        self._check(arguments)
        if self._names is not None:
            assert isinstance(self._space, spaces.Discrete)
            return int(self._space.start) + self._names.index(arguments["action"])
        sample = _sample(self._space, arguments if self._is_dict else arguments["action"])
        if not self._space.contains(sample):  # such as a line break behind a text, which `$` of a pattern lets pass
            raise InputError(f"action must be of {self._space}; got {sample!r:.60}")
        return sample

    def _check(self, arguments: dict[str, Any]) -> None:
        properties: Mapping[str, Any] = self.function.parameters["properties"]
        if unknown := sorted(arguments.keys() - properties.keys()):
            raise InputError(f"a parameter of act must be one of {', '.join(properties)}; got {unknown[0]!r:.60}")
        for name, schema in properties.items():
            if not self._validator.evolve(schema=schema).is_valid(arguments.get(name)):
                raise InputError(f"{name} must be {describe_schema(schema, {})}; got {arguments.get(name)!r:.60}")


def _count(name: str, space: spaces.Space[Any]) -> int:
    """Numbers and texts of a sample."""
    match space:
        case spaces.Discrete() | spaces.Text():
            return 1
        case spaces.MultiDiscrete() | spaces.MultiBinary() | spaces.Box():
            return math.prod(space.shape)
        case spaces.Dict():
            return sum(_count(name, each) for each in space.spaces.values())
        case spaces.Tuple():
            return sum(_count(name, each) for each in space.spaces)
    raise InputError(f"the action space of {name} must be {_KINDS}; got {space}")


def _schema(space: spaces.Space[Any]) -> dict[str, Any]:
    match space:
        case spaces.Discrete():
            return _number("integer", int(space.start), int(space.start + space.n) - 1)
        case spaces.Text():
            lengths = {"minLength": space.min_length, "maxLength": space.max_length}
            return {"type": "string", **lengths, "pattern": f"^{character_class(space.character_list)}*$"}
        case spaces.Dict():
            return _object({str(key): _schema(each) for key, each in space.spaces.items()})
        case spaces.Tuple():
            return _list([_schema(each) for each in space.spaces])
        case spaces.MultiBinary():
            return _list([_number("integer", 0, 1)] * math.prod(space.shape))
        case spaces.MultiDiscrete():
            bounds = zip(np.ravel(space.start).tolist(), np.ravel(space.nvec).tolist(), strict=True)
            return _list([_number("integer", low, low + count - 1) for low, count in bounds])
    assert isinstance(space, spaces.Box)  # `_count` refuses all others
    kind = "number" if np.issubdtype(space.dtype, np.floating) else "integer"
    bounds = zip(np.ravel(space.low), np.ravel(space.high), strict=True)
    return _list([_number(kind, _shortest(low), _shortest(high)) for low, high in bounds])


def _sample(space: spaces.Space[Any], given: Any) -> Any:
    """Sample of the space, from JSON that fits its schema."""
    match space:
        case spaces.Discrete():
            return int(given)
        case spaces.Text():
            return given
        case spaces.Dict():
            return {key: _sample(each, given[str(key)]) for key, each in space.spaces.items()}
        case spaces.Tuple():
            return tuple(_sample(each, part) for each, part in zip(space.spaces, given, strict=True))
    return np.asarray(given, space.dtype).reshape(space.shape)


def _object(members: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(members), "required": list(members), "additionalProperties": False}


def _list(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    array = {"type": "array", "minItems": len(each), "maxItems": len(each)}
    if each and all(item == each[0] for item in each):
        return {**array, "items": each[0]}
    return {**array, "prefixItems": list(each)}


def _number(kind: str, low: float, high: float) -> dict[str, Any]:
    limits = {"minimum": low, "maximum": high}
    return {"type": kind} | {name: limit for name, limit in limits.items() if math.isfinite(limit)}


def _shortest(number: Any) -> float:
    """As one writes it: 0.07 for the float32 next to it, which rounds to the same."""
    return float(str(number)) if isinstance(number, np.floating) else int(number)
