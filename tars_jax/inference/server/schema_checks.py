"""JSON schemas that an answer is sampled under: what an expression of them would not say is refused.

The compiler (outlines-core) passes over keywords that it does not know, doubles an item for each list around it, and
writes names as they are. An answer would then not be of its schema, or the expression larger than this machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError

MOST = 200_000  # characters of an expression, or states of what it is compiled to, as estimated
MOST_NESTED, MOST_SCHEMAS = 32, 5000
MOST_COUNTED = 1024  # items or characters that a schema may ask for
ANNOTATIONS = {
    "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated",
    "readOnly", "writeOnly", "strict",
}  # fmt: skip
KEYWORDS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "integer": set[str](),
    "number": set[str](),
    "boolean": set[str](),
    "null": set[str](),
}
FORMATS = ("uuid", "date-time", "date", "time")  # of others the compiler's texts may hold a quote
COUNTS = (("minItems", "maxItems"), ("minLength", "maxLength"))
VALUE, ANY = 40, 14_000  # of a plain value, and of any
# Of a pattern whose texts hold no quote and no backslash: characters, classes that say what is in them, and counts.
_PLAIN = r"\w \-:,/@#%&=~"
_PATTERN = re.compile(
    rf"\^?(?:[{_PLAIN}]|\\[dw.\-+*?()\[\]{{}}|$^/]|\[(?!\^)[{_PLAIN}.+*]+\]|[()|*+?]|\{{\d+(?:,\d*)?\}})*\$?"
)


def check_schema(schema: Any) -> None:
    """Raises InputError that names the place and what cannot be said."""
    if _Check(schema).size(schema, "schema", 0) > MOST:
        raise InputError(
            "schema must be smaller; its lists and objects within each other are too much for a constraint"
        )


class _Check:
    def __init__(self, root: Any) -> None:
        self._root, self._seen = root, 0

    def size(self, schema: Any, place: str, depth: int) -> float:
        """Approximate size of the schema's expression, which `MOST` bounds."""
        self._seen += 1
        place = place if len(place) < 100 else f"{place[:20]}...{place[-60:]}"
        if self._seen > MOST_SCHEMAS:
            raise InputError(f"{place} must be of at most {MOST_SCHEMAS} schemas, each counted where it is named")
        if schema is True:
            return ANY
        if not isinstance(schema, Mapping):
            raise InputError(f"{place} must be a schema, an object; got {json.dumps(schema)[:80]}")
        if depth > MOST_NESTED:
            raise InputError(f"{place} must not be nested more than {MOST_NESTED} deep")
        said = schema.keys() - ANNOTATIONS
        if "$ref" in said:
            self._refuse(said - {"$ref"}, place)
            return self.size(self._found(schema["$ref"], place), place, depth + 1)
        if said & {"enum", "const"}:
            return self._values(schema, said, place)
        for union in ("anyOf", "oneOf", "allOf"):
            if union in said:
                self._refuse(said - {union}, place)
                if not isinstance(schema[union], list) or not schema[union]:
                    raise InputError(f"{place}.{union} must be a list of schemas; got {json.dumps(schema[union])[:80]}")
                if union == "allOf" and len(schema[union]) > 1:
                    raise InputError(f"{place}.allOf must be of one schema for a constraint; got {len(schema[union])}")
                return sum(self.size(each, f"{place}.{union}", depth + 1) + 4 for each in schema[union])
        return self._typed(schema, said, place, depth)

    def _typed(self, schema: Mapping[str, Any], said: set[str], place: str, depth: int) -> float:
        given = schema.get("type")
        kinds = [given] if isinstance(given, str) else given
        if kinds is None:
            kinds = [kind for kind in ("object", "array", "string") if said & KEYWORDS[kind]][:1]
        if not isinstance(kinds, list) or not all(isinstance(kind, str) and kind in KEYWORDS for kind in kinds):
            raise InputError(f"{place}.type must be of {', '.join(KEYWORDS)}; got {json.dumps(given)[:80]}")
        self._refuse(said - {"type"}.union(*(KEYWORDS[kind] for kind in kinds)), place)
        for least, most in COUNTS:
            low, high = schema.get(least, 0), schema.get(most, MOST_COUNTED)
            if type(low) is not int or type(high) is not int or not 0 <= low <= high or high > MOST_COUNTED:
                raise InputError(f"{place} must have {least} and {most} of 0 to {MOST_COUNTED}; got {low} and {high}")
        if "pattern" in said and not _is_plain_pattern(schema["pattern"]):
            raise InputError(
                f"{place}.pattern must be one whose texts hold no quote, of characters, [classes], groups and counts; "
                f"got {json.dumps(schema['pattern'])[:80]}"
            )
        if "pattern" in said:
            self._refuse(said & {"minLength", "maxLength", "format"}, place)
        if "format" in said and schema["format"] not in FORMATS:
            given = json.dumps(schema["format"])[:80]
            raise InputError(f"{place}.format must be of {', '.join(FORMATS)} for a constraint; got {given}")
        found = float(VALUE if kinds else ANY) + schema.get("maxLength", schema.get("minLength", 0))
        if "object" in kinds:
            found += self._object(schema, place, depth)
        if "array" in kinds:
            found += self._array(schema, place, depth)
        return found

    def _object(self, schema: Mapping[str, Any], place: str, depth: int) -> float:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(properties, Mapping) or not isinstance(required, list):
            raise InputError(f"{place} must have an object of properties and a list of those that are required")
        if missing := [name for name in required if name not in properties]:
            raise InputError(f"{place}.required must be of its properties; got {json.dumps(missing[0])[:80]}")
        if isinstance(schema.get("additionalProperties"), Mapping) and properties:
            raise InputError(f"{place}.additionalProperties must be true or false beside properties; got a schema")
        for name in properties:
            if json.dumps(name, ensure_ascii=False) != f'"{name}"':
                raise InputError(f"{place}.properties must have names without quotes and escapes; got {name!r:.80}")
        sizes = [self.size(each, f"{place}.{name}", depth + 1) + len(name) + 8 for name, each in properties.items()]
        more = schema.get("additionalProperties")
        extra = 0.0 if properties or more is False else ANY
        if isinstance(more, Mapping):
            extra = 2 * self.size(more, f"{place}.additionalProperties", depth + 1)
        optional = len(properties) - len(set(required))
        return sum(sizes) * (max(1, optional) if len(set(required)) == 0 else 1) + extra

    def _array(self, schema: Mapping[str, Any], place: str, depth: int) -> float:
        firsts = schema.get("prefixItems", [])
        if not isinstance(firsts, list):
            raise InputError(f"{place}.prefixItems must be a list of schemas; got {json.dumps(firsts)[:80]}")
        items, count = schema.get("items", True), schema.get("maxItems", schema.get("minItems", 0))
        item = 0.0 if items is False else self.size(items, f"{place}.items", depth + 1)
        return (2 + count) * item + 2 * sum(self.size(each, f"{place}.prefixItems", depth + 1) for each in firsts)

    def _values(self, schema: Mapping[str, Any], said: set[str], place: str) -> float:
        self._refuse(said - {"enum", "const", "type"}, place)
        values = schema.get("enum", [schema.get("const")])
        if not isinstance(values, list) or not values:
            raise InputError(f"{place}.enum must be a list of values; got {json.dumps(values)[:80]}")
        if "const" in schema and schema["const"] not in values:
            raise InputError(f"{place}.const must be one of its enum; got {json.dumps(schema['const'])[:80]}")
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds is not None and (wrong := [each for each in values if not any(_is(each, kind) for kind in kinds)]):
            raise InputError(f"{place}.enum must be of the type {', '.join(kinds)}; got {json.dumps(wrong[0])[:80]}")
        return float(sum(2 * len(json.dumps(each)) for each in values))

    def _found(self, reference: Any, place: str) -> Any:
        parts = reference.split("/") if isinstance(reference, str) else []
        found = self._root
        for part in parts[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        if parts[:1] != ["#"] or found is None:
            raise InputError(f"{place}.$ref must be of this schema, as #/$defs/NAME; got {json.dumps(reference)[:80]}")
        return found

    def _refuse(self, keywords: set[str], place: str) -> None:
        if keywords:
            raise InputError(f"{place} must be one that a constraint can say; got {', '.join(sorted(keywords))}")


def _is_plain_pattern(pattern: Any) -> bool:
    if not isinstance(pattern, str) or not _PATTERN.fullmatch(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _is(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a type of JSON schema."""
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
    return isinstance(value, dict)
