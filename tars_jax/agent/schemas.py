"""JSON types that a JSON schema allows, and their names in sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tars_jax import InputError

KINDS = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
ANNOTATIONS = frozenset(
    {
        *("title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly"),
        *("$schema", "$id", "$comment", "$defs", "definitions"),
    }
)
DEPTH = 8  # levels of schemas that are looked into; a schema may contain itself
_NUMBER_KEYS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_SAID: dict[str, frozenset[str]] = {  # keywords that `describe_schema` puts in words
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "integer": _NUMBER_KEYS,
    "number": _NUMBER_KEYS,
    "boolean": frozenset(),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "null": frozenset(),
}
_NAMED = {"string": "a text", "boolean": "true or false", "null": "null"}
_LONGEST = 300  # characters of a description


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    if math.isfinite(number := float(text)):
        return number
    raise ValueError(f"{text} is too large")


DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


def read_json(text: str) -> Any:
    """A value of JSON, without NaN and Infinity. Raises ValueError for other texts."""
    try:
        return DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def to_json(value: Any) -> str:
    """The canonical text. Raises ValueError or TypeError for what JSON cannot say."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with its reference followed into `root`.

    Raises InputError for a reference that leads nowhere, to another document or in a circle.
    """
    for _ in range(DEPTH):
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if "$ref" not in schema:
            return dict(schema)
        schema = {**_target(schema["$ref"], root), **{key: value for key, value in schema.items() if key != "$ref"}}
    raise InputError(f"a reference of a schema must lead to a schema; got {schema['$ref']!r}, which leads in a circle")


def _target(reference: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    found: Any = root
    for step in str(reference).removeprefix("#").split("/")[1:]:
        step = unquote(step).replace("~1", "/").replace("~0", "~")
        found = found.get(step) if isinstance(found, Mapping) else None
    if not str(reference).startswith("#") or not isinstance(found, Mapping):
        raise InputError(f"a reference of a schema must be '#/...' and name a part of it; got {reference!r}")
    return dict(found)


def kind_of(value: Any) -> str:
    """The kind of a JSON value."""
    if isinstance(value, bool):
        return "boolean"
    kinds = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def kinds_of(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """The kinds of JSON that values of a schema may be; at least those."""
    if depth > DEPTH:
        return KINDS
    schema, found = resolved(schema, root), KINDS
    if "type" in schema:
        types = {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
        found &= types | ({"integer"} if "number" in types else set()) | ({"number"} if "integer" in types else set())
    if "enum" in schema:
        found &= {kind_of(value) for value in schema["enum"]}
    if "const" in schema:
        found &= {kind_of(schema["const"])}
    for union in ("anyOf", "oneOf"):
        if union in schema:
            found &= frozenset[str]().union(*(kinds_of(each, root, depth + 1) for each in schema[union]))
    for each in schema.get("allOf", ()):
        found &= kinds_of(each, root, depth + 1)
    return found


def describe_schema(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """Describes in words what a value must be: "an integer of 1 to 5", "a list of texts"; bounded."""
    words = _words(resolved(schema, root), root, depth)
    return words if len(words) <= _LONGEST else words[: _LONGEST - 4] + " ..."


def is_fully_described(schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether `describe_schema` says all that a schema asks for at its top."""
    keywords = resolved(schema, root).keys() - ANNOTATIONS
    if keywords & {"enum", "const", "anyOf", "oneOf"}:
        return keywords <= {"enum", "const", "anyOf", "oneOf", "type"}
    return keywords <= {"type"}.union(*(_SAID[kind] for kind in kinds_of(schema, root)))


def _words(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if "const" in schema:
        return to_json(schema["const"])
    if "enum" in schema:
        values = [to_json(value) for value in schema["enum"]]
        return values[0] if len(values) == 1 else f"one of {', '.join(values)}"
    for union in ("anyOf", "oneOf"):
        if union in schema and depth < DEPTH:
            return " or ".join(dict.fromkeys(describe_schema(each, root, depth + 1) for each in schema[union]))
    types = schema.get("type", ())
    kinds = [types] if isinstance(types, str) else list(types)
    return " or ".join(_kind_words(kind, schema, root, depth) for kind in kinds) or "any JSON value"


def _kind_words(kind: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if kind in ("integer", "number"):
        name = "an integer" if kind == "integer" else "a number"
        return name + _bounds(schema)
    if kind == "string":
        matching = f" that matches {schema['pattern']!r}" if "pattern" in schema else ""
        return "a text" + _counted(schema, "Length", "characters") + matching
    if kind == "array":
        firsts = schema.get("prefixItems", ()) if depth < DEPTH else ()
        words = [describe_schema(each, root, depth + 1) for each in firsts]
        if "items" in schema and depth < DEPTH and schema.get("maxItems", math.inf) > len(words):
            words.append(("further ones " if words else "each ") + describe_schema(schema["items"], root, depth + 1))
        return "a list" + _counted(schema, "Items", "items") + "".join(f", {each}" for each in words)
    if kind == "object":
        if not schema.get("properties") or depth >= DEPTH:
            return "an object"
        required = schema.get("required", ())
        members = (
            f"{name} ({'' if name in required else 'optional, '}{describe_schema(each, root, depth + 1)})"
            for name, each in schema["properties"].items()
        )
        return f"an object with {', '.join(members)}"
    return _NAMED[kind]


def _bounds(schema: Mapping[str, Any]) -> str:
    words = []
    if "minimum" in schema and "maximum" in schema:
        words.append(f"of {schema['minimum']} to {schema['maximum']}")
    else:
        words += [f"of at least {schema['minimum']}"] if "minimum" in schema else []
        words += [f"of at most {schema['maximum']}"] if "maximum" in schema else []
    words += [f"above {schema['exclusiveMinimum']}"] if "exclusiveMinimum" in schema else []
    words += [f"below {schema['exclusiveMaximum']}"] if "exclusiveMaximum" in schema else []
    words += [f"that is a multiple of {schema['multipleOf']}"] if "multipleOf" in schema else []
    return "".join(f" {each}" for each in words)


def _counted(schema: Mapping[str, Any], what: str, things: str) -> str:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if least is None and most is None:
        return ""
    if least is not None and most is not None:
        return f" of {least} {things}" if least == most else f" of {least} to {most} {things}"
    return f" of at least {least} {things}" if most is None else f" of at most {most} {things}"
