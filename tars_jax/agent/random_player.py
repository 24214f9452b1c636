"""Random player without any skill: an action of a space, drawn at random."""

from __future__ import annotations

import contextlib
import random
import string
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, Click, Drag, Hotkey, Point, ToolCall
from tars_jax.agent.platform_prompt import EXAMPLES
from tars_jax.agent.schemas import DEPTH, resolved
from tars_jax.agent.value_patterns import PLACES, characters_of
from tars_jax.environment import ActionSpace, Function

_FAR = 100  # where a number has no bound
_MORE = 3  # characters and items beyond those that must be
_DEEP = 3  # levels, below which nothing is given that need not be


def random_action(space: ActionSpace, rng: random.Random) -> Action:
    """A random action: any function with any arguments; where there is none, clicks, drags and arrow keys anywhere,
    three to one to one; without a pointer any action as the guide has it."""
    if space.functions:
        function = rng.choice(space.functions)
        return ToolCall(function.name, _any_arguments(function, rng))
    if not {Click.name, Drag.name, Hotkey.name} <= {*space.actions}:
        return rng.choice([action for action, _ in EXAMPLES if action.name in space.actions])
    first, second = (Point(rng.randint(0, 1000), rng.randint(0, 1000)) for _ in range(2))
    match rng.choices(("click", "drag", "key"), (3, 1, 1))[0]:
        case "click":
            return Click(first)
        case "drag":
            return Drag(first, second)
        case _:
            return Hotkey((rng.choice(("up", "right", "down", "left")),))


def _any_arguments(function: Function, rng: random.Random) -> dict[str, Any]:
    """A value for each parameter that there can be one for."""
    schema = function.parameters
    return {name: random_value(each, schema, rng) for name, each in schema.get("properties", {}).items()}


def random_value(schema: Any, root: Mapping[str, Any], rng: random.Random, depth: int = 0) -> Any:
    """JSON that a schema allows, drawn at random: short texts and lists, numbers between -100 and 100 or, from the one
    bound that there is, 100 far.

    Args:
      root: what the schema's references lead into.

    Raises InputError where a value must contain itself, and for what nothing fits.
    """
    if depth > DEPTH:
        raise InputError(f"a schema must be nested less than {DEPTH} deep to draw a value; got {schema!r:.80}")
    schema = resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _first_that_can_be(rng.sample(schema[union], len(schema[union])), root, rng, depth)
    kinds = schema.get("type", "string")
    kind = kinds if isinstance(kinds, str) else rng.choice(kinds)
    match kind:
        case "boolean":
            return rng.random() < 0.5
        case "integer" | "number":
            return _any_number(schema, kind, rng)
        case "string":
            return _any_text(schema, rng)
        case "array":
            return _any_list(schema, root, rng, depth)
        case "object":
            members, needed = schema.get("properties", {}), schema.get("required", ())
            names = needed if depth > _DEEP else dict.fromkeys([*members, *needed])
            return {name: random_value(members.get(name, True), root, rng, depth + 1) for name in names}
    return None


def _first_that_can_be(schemas: Sequence[Any], root: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    for each in schemas[:-1]:
        with contextlib.suppress(InputError):
            return random_value(each, root, rng, depth + 1)
    return random_value(schemas[-1], root, rng, depth + 1)


def _any_number(schema: Mapping[str, Any], kind: str, rng: random.Random) -> int | float:
    """Random number with at most six decimal places, as the patterns of sampled calls."""
    low, high = (schema.get(name, schema.get(f"exclusive{name.title()}")) for name in ("minimum", "maximum"))
    low = -_FAR if low is None and high is None else high - _FAR if low is None else low
    high = low + (_FAR if low else 2 * _FAR) if high is None else high
    step = schema.get("multipleOf", 1)
    if kind == "integer":
        first = low // step + 1 if "exclusiveMinimum" in schema else -(-low // step)
        last = -(-high // step) - 1 if "exclusiveMaximum" in schema else high // step
        return int(step) * rng.randint(int(first), int(last))
    return min(max(round(rng.uniform(low, high), PLACES), low), high)


def _any_text(schema: Mapping[str, Any], rng: random.Random) -> str:
    letters = characters_of(schema["pattern"]) if "pattern" in schema else None
    least = schema.get("minLength", min(1, schema.get("maxLength", 1)))
    most = max(least, min(schema.get("maxLength", 1), least + _MORE))
    count = least if least == most else rng.randint(least, most)
    return "".join(rng.choice(letters or string.ascii_lowercase) for _ in range(count))


def _any_list(schema: Mapping[str, Any], root: Mapping[str, Any], rng: random.Random, depth: int) -> list[Any]:
    firsts, least = schema.get("prefixItems", ()), schema.get("minItems", 0)
    most = least if depth > _DEEP else min(schema.get("maxItems", least + _MORE), least + _MORE)
    count = rng.randint(least, most)
    schemas = [*firsts, *[schema.get("items", True)] * count][:count]
    return [random_value(each, root, rng, depth + 1) for each in schemas]
