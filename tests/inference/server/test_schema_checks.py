"""A schema is refused, or every text that its expression matches is JSON of it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.inference.server.answer_forms import form_pattern

NAMES = st.text("abé \"'\\/\n", min_size=1, max_size=3)
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
COUNTS = st.integers(0, 3)
LEAVES = st.one_of(
    st.sampled_from([{"type": kind} for kind in ("integer", "number", "boolean", "null", "string")]),
    st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": COUNTS, "maxLength": COUNTS}),
    st.fixed_dictionaries({"type": st.just("integer")}, optional={"minimum": COUNTS, "multipleOf": COUNTS}),
    st.builds(lambda each: {"type": "string", "pattern": each}, st.sampled_from(["^a+$", "[ab]{2}", ".*", '"'])),
    st.builds(lambda each: {"type": "string", "format": each}, st.sampled_from(["uuid", "date", "email", "hostname"])),
    st.fixed_dictionaries({"enum": st.lists(VALUES, max_size=3)}, optional={"type": st.sampled_from(["string"])}),
    st.builds(lambda value: {"const": value}, VALUES),
    st.just({"type": ["string", "null"], "title": "a"}),
)  # fmt: skip


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, min_size=1, max_size=3)},
        optional={"required": st.lists(NAMES, max_size=2), "additionalProperties": st.just(False)},
    )
    lists = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"minItems": COUNTS, "maxItems": COUNTS, "uniqueItems": st.just(True)},
    )
    unions = st.builds(
        lambda name, each: {name: each}, st.sampled_from(["anyOf", "allOf", "not"]), st.lists(inner, max_size=2)
    )
    return objects | lists | unions


@given(st.recursive(LEAVES, larger, max_leaves=6), st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_matched_is_json_of_the_schema(schema: dict[str, Any], data: st.DataObject) -> None:
    try:
        pattern = form_pattern([], schema)
    except InputError as error:
        assert "must" in str(error)
        return
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    assume(len(text) < 2000)
    jsonschema.validate(json.loads(text), schema)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema, "minItems": 1, "maxItems": 1}
    return schema


def twice(depth: int) -> dict[str, Any]:
    names = {f"n{number}": {"anyOf": [{"$ref": f"#/$defs/n{number + 1}"}] * 2} for number in range(depth)}
    return {"$ref": "#/$defs/n0", "$defs": {**names, f"n{depth}": {"type": "null"}}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (nested(40), "must not be nested more than 32 deep"),
        (nested(20), "schema must be smaller"),
        (twice(14), "at most 5000 schemas"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}, "not be nested"),
        ({"$ref": "#/$defs/b"}, "must be of this schema"),
        ({"type": "integer", "minimum": 3}, "got minimum"),
        ({"type": "array", "items": {"type": "null"}, "uniqueItems": True}, "got uniqueItems"),
        ({"type": "object", "properties": {'a"b': {"type": "null"}}}, "names without quotes"),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"]}, "must be of its properties"),
        ({"enum": []}, "must be a list of values"),
        ({"enum": ["a", 1], "type": "string"}, "must be of the type string"),
        ({"allOf": [{"type": "null"}, {"type": "boolean"}]}, "must be of one schema"),
        ({"type": "string", "maxLength": 10**9}, "of 0 to 1024"),
        ({"type": "string", "format": "email"}, "format must be of uuid"),
        ({"type": "string", "pattern": "(a"}, "pattern must be one whose texts hold no quote"),
        ({"type": "text"}, "type must be of object"),
        (3, "must be a schema"),
    ],
)  # fmt: skip
def test_what_a_constraint_cannot_say_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        form_pattern([], schema)


def test_schemas_as_frameworks_write_them_are_taken() -> None:
    made = {
        "$defs": {"Kind": {"enum": ["a", "b"], "title": "Kind", "type": "string"}},
        "additionalProperties": False,
        "description": "What to do.",
        "properties": {
            "kind": {"$ref": "#/$defs/Kind"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Note"},
            "when": {"format": "date-time", "type": "string"},
            "tags": {"items": {"type": "string", "pattern": "^[a-z0-9_-]+$"}, "maxItems": 20, "type": "array"},
            "more": {"additionalProperties": True, "type": "object"},
        },
        "required": ["kind", "note", "when", "tags", "more"],
        "title": "Plan",
        "type": "object",
    }
    assert form_pattern([{"type": "function", "function": {"name": "plan", "parameters": made}}], made)
