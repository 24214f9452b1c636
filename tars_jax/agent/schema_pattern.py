r"""Regular expressions of the values that a JSON schema allows, as either grammar writes them.

A pattern describes a part of what a schema allows, never more: a text of at most 256 characters where its length is
bounded, an integer of at most ten digits where it is not, numbers of six decimal places, lists of at most 8 items that
need not be there, objects with the members that the schema names, texts with a `pattern` of one class of characters.
What a pattern cannot say (a schema that contains itself, any other `pattern`, `uniqueItems`, any object at all) is an
error that names the parameter.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent import grammar_text, grammar_tool
from tars_jax.agent.functions import parameter_schema, validator_of, written_value
from tars_jax.agent.schemas import ANNOTATIONS, kinds_of, resolved, to_json
from tars_jax.agent.value_patterns import any_of, character_class, characters_of, integers_between, numbers_between
from tars_jax.environment import Function

QUOTED_TEXT = r"(?:[^'\\\x00\n\r\t]|\\[\\'nrt])"
TAGGED_TEXT = r"(?:[^<\x00]|<[ =0-9])"
MOST_ITEMS = 8  # that may be left out
MOST_NEEDED_ITEMS = 64
MOST_CHARACTERS = 256
_LINE_OF_TAGGED_TEXT = r"[^<\x00\n]"  # one character each, and no line break that would belong to the layout
_JSON_TEXT = r'(?:[^"\\<\x00-\x1f\x7f]|\\["\\nrt])'
_FAR = 10**9  # where an integer has no bound
_MOST_MULTIPLES = 256
_DEPTH = 6
_KEYWORDS = {
    "string": {"minLength", "maxLength", "pattern"},
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    "boolean": set[str](),
    "null": set[str](),
    "array": {"items", "prefixItems", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
}
_ANY = ("string", "number", "boolean", "null")  # what is written where a schema asks for nothing

Parameter = tuple[str, str, bool]  # its name, the pattern of its value, whether it must be given


def parameter_patterns(function: Function, is_text: bool) -> list[Parameter]:
    """The parameters of a function, those that must be given first: behind one that may be left out, the pattern of a
    list says all others twice.

    Raises InputError for what a pattern cannot say.
    """
    root = function.parameters
    place = f"function {function.name}"
    _refuse(root.keys() - ANNOTATIONS - _KEYWORDS["object"] - {"type"}, place)
    required = list(root.get("required", ()))
    values = _Values(root, is_text, place)
    return [
        (
            name,
            dataclasses.replace(values, place=f"{place}: {name}").pattern(parameter_schema(function, name)),
            name in required,
        )
        for name in dict.fromkeys([*required, *root.get("properties", ())])
    ]


def listed(parameters: Sequence[tuple[str, bool]]) -> str:
    """Parameters in their order with ", " between those that are given."""
    firsts, optional = [], True
    for index, (parameter, required) in enumerate(parameters):
        rest = "".join(f"(?:, {each}){'' if needed else '?'}" for each, needed in parameters[index + 1 :])
        firsts.append(parameter + rest)
        if required:
            optional = False
            break
    return f"{any_of(firsts)}{'?' if optional else ''}" if firsts else ""


@dataclasses.dataclass(frozen=True)
class _Values:
    """Patterns of the values of one parameter."""

    root: Mapping[str, Any]
    is_text: bool  # the text form; else the tool form
    place: str  # the parameter, for errors

    def pattern(self, schema: Any, depth: int = 0) -> str:
        """At depth 0 as a whole value, below as JSON inside of one."""
        if depth > _DEPTH:
            raise InputError(
                f"{self.place} must not be nested more than {_DEPTH} deep for a pattern; got {schema!r:.80}"
            )
        schema = resolved(schema, self.root)
        keywords = schema.keys() - ANNOTATIONS
        if keywords & {"enum", "const"}:
            return self._choices(schema, depth)
        for union in ("anyOf", "oneOf"):
            if union in keywords:
                _refuse(keywords - {union}, self.place)
                return self._union(schema[union], union == "oneOf", depth)
        types = schema.get("type", _ANY)
        kinds = [types] if isinstance(types, str) else list(types)
        _refuse(keywords - {"type"}.union(*(_KEYWORDS[kind] for kind in kinds)), self.place)
        return any_of(self._kind(kind, schema, depth) for kind in kinds)

    def _choices(self, schema: Mapping[str, Any], depth: int) -> str:
        validator = validator_of(schema, self.root)
        values = [value for value in schema.get("enum", [schema.get("const")]) if validator.is_valid(value)]
        if not values:
            raise InputError(f"{self.place} must have a value; got {schema!r:.80}")
        return any_of(re.escape(self._written(value, schema, depth)) for value in values)

    def _written(self, value: Any, schema: Mapping[str, Any], depth: int) -> str:
        if self.is_text:
            return to_json(value) if depth else grammar_text.format_value(value)
        return grammar_tool.format_value(to_json(value) if depth else written_value(value, schema, self.root))

    def _union(self, schemas: Sequence[Any], one_only: bool, depth: int) -> str:
        seen = frozenset[str]()
        for each in schemas:
            kinds = kinds_of(each, self.root)
            if one_only and seen & kinds:
                raise InputError(f"{self.place} must be a oneOf of different kinds for a pattern; got {schemas!r:.80}")
            seen |= kinds
        return any_of(self.pattern(each, depth + 1 if depth else 0) for each in schemas)

    def _kind(self, kind: str, schema: Mapping[str, Any], depth: int) -> str:
        match kind:
            case "string":
                return self._string(schema, depth)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._number(schema)
            case "boolean":
                return "(?:true|false)"
            case "null":
                return "null"
            case "array":
                return self._array(schema, depth)
        return self._object(schema, depth)

    def _string(self, schema: Mapping[str, Any], depth: int) -> str:
        bounded, pattern = "minLength" in schema or "maxLength" in schema, schema.get("pattern")
        least = max(schema.get("minLength", 0), int(pattern is not None and pattern.endswith("+$")))
        count = _count(least, min(schema.get("maxLength", MOST_CHARACTERS), MOST_CHARACTERS), self)
        count = count if bounded or least else "*"
        if pattern is not None:
            text = self._of_class(pattern, depth) + count
            return f'"{text}"' if depth else f"'{text}'" if self.is_text else text
        if depth:
            return f'"{_JSON_TEXT}{count}"'
        if self.is_text:
            return f"'{QUOTED_TEXT}{count}'"
        return f"{_LINE_OF_TAGGED_TEXT if bounded else TAGGED_TEXT}{count}"

    def _of_class(self, pattern: str, depth: int) -> str:
        """One character of those that a schema's pattern allows and that can be written here."""
        characters = characters_of(pattern) or ()
        if depth:
            spelled = [to_json(each)[1:-1] for each in characters if each != "<"]
        elif self.is_text:
            spelled = [grammar_text.format_value(each)[1:-1] for each in characters]
        else:
            spelled = [each for each in characters if each not in "<\n"]
        if not spelled:
            about = f"{self.place} must have a pattern of one class of characters, as ^[a-z]*$, for a pattern of calls"
            raise InputError(f"{about}; got {pattern!r:.80}")
        single, escaped = [each for each in spelled if len(each) == 1], [each for each in spelled if len(each) > 1]
        return any_of([*([character_class(single)] if single else []), *map(re.escape, escaped)])

    def _integer(self, schema: Mapping[str, Any]) -> str:
        low, high, open_low, open_high = self._bounds(schema)
        first = math.ceil(low) + (open_low and math.ceil(low) == low)
        last = math.floor(high) - (open_high and math.floor(high) == high)
        step = schema.get("multipleOf", 1)
        if step == 1:
            self._check_bounds(first <= last, schema)
            return integers_between(first, last)
        if step != int(step) or "minimum" not in schema or (last - first) // step > _MOST_MULTIPLES:
            raise InputError(f"{self.place}: multipleOf must be of few integers for a pattern; got {schema!r:.80}")
        multiples = range(-(-first // int(step)) * int(step), last + 1, int(step))
        self._check_bounds(len(multiples) > 0, schema)
        return any_of(map(str, multiples))

    def _number(self, schema: Mapping[str, Any]) -> str:
        pattern = numbers_between(*self._bounds(schema))
        self._check_bounds(pattern is not None, schema)
        return str(pattern)

    def _bounds(self, schema: Mapping[str, Any]) -> tuple[float, float, bool, bool]:
        """Low, high, and whether each is itself left out."""
        if any(isinstance(schema.get(key), bool) for key in ("exclusiveMinimum", "exclusiveMaximum")):
            raise InputError(
                f"{self.place} must have numbers as bounds; got {schema!r:.80}, as in JSON schema's draft 4"
            )
        lows = [(schema[key], key != "minimum") for key in ("minimum", "exclusiveMinimum") if key in schema]
        highs = [(schema[key], key != "maximum") for key in ("maximum", "exclusiveMaximum") if key in schema]
        low, open_low = max(lows, default=(None, False))
        high, open_high = min(highs, default=(None, False), key=lambda bound: (bound[0], not bound[1]))
        if low is None:
            low = min(-_FAR, (high or 0) - _FAR)
        if high is None:
            high = max(_FAR, low + _FAR)
        return low, high, open_low, open_high

    def _check_bounds(self, possible: bool, schema: Mapping[str, Any]) -> None:
        if not possible:
            raise InputError(f"{self.place} must have a number between its bounds; got {schema!r:.80}")

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        least, firsts = schema.get("minItems", 0), schema.get("prefixItems", ())
        most = min(schema.get("maxItems", MOST_NEEDED_ITEMS), max(MOST_ITEMS, min(least, MOST_NEEDED_ITEMS)))
        if least > most:
            raise InputError(f"{self.place} must have room for {least} items; a pattern has at most {most}")
        items = [self.pattern(each, depth + 1) for each in firsts[:most]]
        rest = most - len(items)
        item = self.pattern(schema.get("items", True), depth + 1) if rest else ""
        if not items:
            more = f"(?:, {item}){_count(max(0, least - 1), most - 1, self)}" if most else ""
            return rf"\[{item}{more}\]" if least else rf"\[(?:{item}{more})?\]"
        tail = f"(?:, {item}){_count(max(0, least - len(items)), rest, self)}" if rest else ""
        for index in reversed(range(len(items))):
            tail = f"{', ' if index else ''}{items[index]}{tail}"
            tail = tail if index < least else f"(?:{tail})?"
        return rf"\[{tail}\]"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        if not properties or not set(required) <= properties.keys():
            raise InputError(f"{self.place} must be an object with named properties for a pattern; got {schema!r:.80}")
        members = [
            (f"{re.escape(self._written(name, {}, depth + 1))}: {self.pattern(each, depth + 1)}", name in required)
            for name, each in sorted(properties.items(), key=lambda member: member[0] not in required)
        ]
        return rf"\{{{listed(members)}\}}"


def _count(least: int, most: int, values: _Values) -> str:
    if least > most:
        raise InputError(f"{values.place} must have room for {least}; a pattern has at most {most}")
    return f"{{{least},{most}}}"


def _refuse(keywords: set[str], place: str) -> None:
    if keywords:
        raise InputError(f"{place} must have a schema that a pattern can say; got {', '.join(sorted(keywords))}")
