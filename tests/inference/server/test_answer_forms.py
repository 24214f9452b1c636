"""Answers that must be calls of tools, or JSON: whatever the weights say, and streamed as OpenAI's client reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jax
import jsonschema
import openai
import pytest

from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.data_urls import exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.inference.server.answer_forms import form_pattern
from tars_jax.model.presets import preset
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.training.state import fresh_parameters

pytestmark = pytest.mark.slow
LOOK = {"type": "object", "properties": {"way": {"enum": ["left", "right"]}, "far": {"type": "boolean"}},
        "required": ["way", "far"]}  # fmt: skip
TOOLS: Any = [
    {"type": "function", "function": {"name": "look", "parameters": LOOK}},
    {"type": "function", "function": {"name": "stop"}},
]
NAMED: Any = {"type": "function", "function": {"name": "stop"}}
MESSAGES: Any = [{"role": "user", "content": "Where?"}]


@pytest.fixture(scope="module")
def client() -> Iterator[openai.OpenAI]:
    """Of a server of random weights, which would never call anything by themselves."""
    tokenizer = load_tokenizer()
    model = preset("nano", tokenizer.vocabulary)
    parameters = fresh_parameters(model, jax.random.key(1), make_mesh({}))
    settings = EngineConfig(slots=2, max_length=640, max_new_tokens=120, row_buckets=(2,), length_buckets=(64, 512))
    with Engine(model, parameters, settings, image=tokenizer.image, stop=tokenizer.end, seed=0) as engine:
        turns = TurnFormat(tokenizer, lambda height, width: 1)
        served = Served(
            "nano", engine, tokenizer, turns, exact, tokenizer.end, parameters, lambda path: parameters,
            token_bytes=tokenizer.token_bytes,
        )  # fmt: skip
        config = ServerConfig(port=0)
        with (
            serving(make_app(served, config), config) as address,
            openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0, timeout=600) as client,
        ):
            yield client


def test_a_call_that_is_required_comes_and_fits_its_schema(client: openai.OpenAI) -> None:
    names = set()
    for seed in range(6):
        answer = client.chat.completions.create(
            model="nano", messages=MESSAGES, tools=TOOLS, tool_choice="required", seed=seed, temperature=1.5
        )
        (choice,) = answer.choices
        assert choice.finish_reason == "tool_calls" and choice.message.content is None
        assert choice.message.tool_calls is not None
        (call,) = choice.message.tool_calls
        assert call.type == "function"
        names.add(call.function.name)
        if call.function.name == "look":
            jsonschema.validate(json.loads(call.function.arguments), LOOK)
        else:
            assert json.loads(call.function.arguments) == {}
    assert names <= {"look", "stop"}


def test_a_named_function_is_called_and_streamed(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="nano", messages=MESSAGES, tools=TOOLS, tool_choice=NAMED, stream=True, seed=3
        )
    )
    deltas = [chunk.choices[0].delta for chunk in chunks]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert [call.index for call in calls] == [0, 0] and calls[0].id and calls[1].id is None
    assert calls[0].function is not None and calls[0].function.name == "stop"
    assert "".join((call.function.arguments or "") if call.function else "" for call in calls) == "{}"
    assert not any(delta.content for delta in deltas) and chunks[-1].choices[0].finish_reason == "tool_calls"


def test_json_mode_and_schemas_are_kept_to(client: openai.OpenAI) -> None:
    ask: Any = {"model": "nano", "messages": MESSAGES, "temperature": 1.5, "max_tokens": 120}
    for seed in range(4):
        (choice,) = client.chat.completions.create(**ask, seed=seed, response_format={"type": "json_object"}).choices
        assert isinstance(json.loads(choice.message.content), dict) and choice.finish_reason == "stop"
    schema: Any = {"type": "json_schema", "json_schema": {"name": "look", "strict": True, "schema": LOOK}}
    (choice,) = client.chat.completions.create(**ask, seed=1, response_format=schema).choices
    jsonschema.validate(json.loads(choice.message.content), LOOK)
    chunks = client.chat.completions.create(**ask, seed=1, response_format=schema, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == choice.message.content


def test_beside_tools_an_answer_is_json_or_a_call(client: openai.OpenAI) -> None:
    schema: Any = {"type": "json_schema", "json_schema": {"name": "look", "schema": LOOK}}
    ask: Any = {"model": "nano", "messages": MESSAGES, "tools": TOOLS, "response_format": schema, "temperature": 2.0}
    kinds = set()
    for seed in range(8):
        (choice,) = client.chat.completions.create(**ask, seed=seed).choices
        kinds.add(choice.finish_reason)
        if choice.finish_reason == "stop":
            jsonschema.validate(json.loads(choice.message.content), LOOK)
        else:
            assert choice.message.tool_calls[0].function.name in ("look", "stop")
    assert kinds <= {"stop", "tool_calls"}
    (choice,) = client.chat.completions.create(**ask, tool_choice=NAMED, seed=1).choices
    assert choice.message.tool_calls[0].function.name == "stop"


def test_who_is_not_forced_is_as_free_as_before(client: openai.OpenAI) -> None:
    free: Any = {"model": "nano", "messages": MESSAGES, "max_tokens": 8, "seed": 5}
    before = client.chat.completions.create(**free, tools=TOOLS, tool_choice="auto").choices[0].message.content
    other = [{"type": "function", "function": {"name": "turn", "parameters": LOOK}}]
    client.chat.completions.create(**{**free, "max_tokens": 100}, tools=other, tool_choice="required")  # type: ignore[call-overload]
    assert client.chat.completions.create(**free, tools=TOOLS, tool_choice="auto").choices[0].message.content == before


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "fly"}}}, "one of tools"),
        ({"tools": TOOLS, "tool_choice": "any"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": "required", "max_tokens": 3}, "max_tokens|max_new_tokens"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
                "x": {"not": {"type": "string"}}}}}}], "tool_choice": "required"},
            "schemas that can be compiled",
        ),
        ({"response_format": {"type": "xml"}}, "response_format.type must be text, json_object or json_schema"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, "json_schema.schema must be"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"not": {}}}}},
            "response_format must have schemas that can be compiled",
        ),
        ({"response_format": {"type": "json_object"}, "extra_body": {"constraint": "x"}}, "text beside a constraint"),
    ],
)  # fmt: skip
def test_choices_that_cannot_be(client: openai.OpenAI, fields: Any, words: str) -> None:
    with pytest.raises(openai.BadRequestError, match=words):
        client.chat.completions.create(model="nano", messages=MESSAGES, **fields)


def test_a_tool_without_parameters_is_called_without_arguments() -> None:
    assert r'"name": "stop", "arguments": \{' in form_pattern(TOOLS[1:], None)
