"""Arguments drawn at random fit what a function asks for."""

from __future__ import annotations

import random
from typing import Any

import jsonschema
import pytest

from tars_jax import InputError
from tars_jax.agent.random_player import random_action
from tars_jax.environment import ActionSpace, Function

NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/node"}, "at": {"type": "integer"}},
    "required": ["at"],
}
SCHEMAS: list[Any] = [
    True,
    {"const": [1, "a"]},
    {"type": "null"},
    {"type": ["boolean", "null"]},
    {"type": "integer", "minimum": 7},
    {"type": "integer", "maximum": -(2**63) + 1, "minimum": -(2**63)},
    {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 3},
    {"type": "integer", "multipleOf": 5, "minimum": 3, "maximum": 12},
    {"type": "number"},
    {"type": "number", "maximum": -1e6},
    {"type": "number", "minimum": -0.07, "maximum": 0.07},
    {"type": "string", "minLength": 4},
    {"type": "string", "maxLength": 0},
    {"type": "string", "pattern": "^[XY]+$", "minLength": 2, "maxLength": 9},
    {"type": "array", "minItems": 2, "maxItems": 40, "items": {"enum": ["a", 5]}},
    {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "boolean"}],
        "items": {"type": "null"},
        "minItems": 3,
    },
    {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"$ref": "#/$defs/node"}]},
    NODE,
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_drawn_value_fits_the_schema(schema: Any) -> None:
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": {"node": NODE}}
    space, rng = ActionSpace("tools", functions=(Function("f", parameters=parameters),)), random.Random(1)
    drawn = [dict(random_action(space, rng).parameters) for _ in range(50)]  # type: ignore[union-attr]
    for arguments in drawn:
        jsonschema.validate(arguments, parameters, jsonschema.Draft202012Validator)
    if schema == SCHEMAS[6]:
        assert drawn == [{"x": 2}] * 50
    if schema == SCHEMAS[7]:
        assert {arguments["x"] for arguments in drawn} == {5, 10}


def test_what_must_contain_itself_cannot_be_drawn() -> None:
    endless = {"type": "object", "properties": {"next": {"$ref": "#/$defs/e"}}, "required": ["next"]}
    parameters = {"type": "object", "properties": {"x": endless}, "$defs": {"e": endless}}
    with pytest.raises(InputError, match="must be nested less than"):
        random_action(ActionSpace("tools", functions=(Function("f", parameters=parameters),)), random.Random(0))
