"""Data sets as environments: dialogs of one turn and of several, their rewards, and options that are none."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import ToolCall
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs.registry import EnvironmentResources, EnvironmentSpec, load_environment

HERE = f"{__name__}:"
DIALOG = [
    {"role": "user", "content": "One?"}, {"role": "assistant", "content": "1"},
    {"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"},
]  # fmt: skip


def data(folder: Path, *records: Mapping[str, Any]) -> str:
    path = folder / "with a space.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def sums(folder: Path) -> str:
    return data(folder, *({"prompt": f"{n} + 1 =", "answer": str(n + 1)} for n in range(10)))


def dialogs(folder: Path) -> str:
    return data(folder, *({"messages": [{**DIALOG[0], "content": f"{n}: One?"}, *DIALOG[1:]]} for n in range(10)))


def play(spec: EnvironmentSpec, *texts: str, seed: int = 0) -> tuple[str, list[Observation | Transition]]:
    """The instruction, the first observation and what each answer leads to."""

    async def go() -> tuple[str, list[Observation | Transition]]:
        environment = spec.checked(EnvironmentResources())
        try:
            found: list[Observation | Transition] = [await environment.reset(Task("t", "prompts", seed, {}, 9))]
            for text in texts:
                found.append(await environment.step([ToolCall("answer", {"text": text})]))
            return environment.instruction, found
        finally:
            await environment.close()

    return asyncio.run(go())


async def user(messages: Sequence[Mapping[str, str]], state: dict[str, Any]) -> Any:
    state["asked"] = state.get("asked", 0) + 1
    if messages[-1]["content"] == state["answer"] or state["asked"] == 3:
        return None
    return [{"role": "user", "content": f"No, {messages[-1]['content']} is wrong ({state['turn']})."}]


def says_a_number(messages: Any, state: Any) -> Any:
    return 5


def asks_for_more(messages: Any, state: Any, more: Any) -> Any:
    return None


def test_a_turn_alone_is_over_with_its_answer(tmp_path: Path) -> None:
    spec = load_environment("prompts", {"data": sums(tmp_path)})
    instruction, (first, last) = play(spec, "7")
    assert isinstance(first, Observation) and isinstance(last, Transition)
    assert first.text == "" and instruction == first.info["prompt"] == first.info["record"]["prompt"]
    assert last.terminated and last.success is None and last.reward == 0.0
    assert last.observation.info["messages"] == [{"role": "assistant", "content": "7"}]
    assert spec.default_max_steps({}) == 1


def test_the_user_goes_on_as_the_record_does(tmp_path: Path) -> None:
    spec = load_environment("prompts", {"data": dialogs(tmp_path), "max_turns": 5})
    instruction, (_, second, third) = play(spec, "1", "3")
    assert instruction.endswith("One?") and isinstance(second, Transition) and isinstance(third, Transition)
    assert (second.observation.text, second.terminated) == ("Two?", False)
    assert second.observation.info["messages"] == [{"role": "assistant", "content": "1"}, DIALOG[2]]
    assert third.terminated and third.observation.text == ""
    only = load_environment("prompts", {"data": dialogs(tmp_path)})
    assert play(only, "2")[0].endswith("One?\nassistant: 1\nuser: Two?")


def test_the_user_goes_on_as_a_function_says(tmp_path: Path) -> None:
    spec = load_environment("prompts", {"data": sums(tmp_path), "env_response": f"{HERE}user"})
    _, (_, second, third, fourth) = play(spec, "x", "y", "z")
    assert isinstance(second, Transition) and isinstance(third, Transition) and isinstance(fourth, Transition)
    assert (second.observation.text, third.observation.text) == ("No, x is wrong (1).", "No, y is wrong (2).")
    assert [each.terminated for each in (second, third, fourth)] == [False, False, True]
    bounded = load_environment("prompts", {"data": sums(tmp_path), "env_response": f"{HERE}user", "max_turns": 2})
    _, (_, _, last) = play(bounded, "x", "y")
    assert isinstance(last, Transition) and last.terminated
    bad = load_environment("prompts", {"data": sums(tmp_path), "env_response": f"{HERE}says_a_number"})
    with pytest.raises(EnvironmentFailure, match="env_response must return a text, messages or None; got 5"):
        play(bad, "x")


def test_what_records_answer_is_shown_and_is_the_reference(tmp_path: Path) -> None:
    spec = load_environment("prompts", {"data": sums(tmp_path), "choices": [str(n) for n in range(1, 11)]})
    _, (first,) = play(spec, seed=4)
    assert isinstance(first, Observation) and spec.reference is not None
    answer = first.info["record"]["answer"]
    assert spec.reference(first.info["state"], random.Random(0), 1.0).parameters == {"text": answer}
    assert spec.reference(first.info["state"], random.Random(0), 0.0).parameters["text"] in map(str, range(1, 11))
    verification = spec.verification(Task("t", "prompts", 4, {}, 1))
    assert (verification.by, verification.reference) == ("judge", answer)
    nobody = load_environment("prompts", {"data": data(tmp_path, {"prompt": "a"}, {"prompt": "b"})})
    assert nobody.reference is None


def test_rewards_are_a_judge_that_knows_the_columns(tmp_path: Path) -> None:
    spec = load_environment("prompts", {"data": sums(tmp_path), "rewards": {"mine:exact": 1}})
    assert spec.judge == ("rewards", {"functions": {"mine:exact": 1}, "columns": ["prompt", "answer"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option data must be text; got nothing"),
        ({"data": "gone.jsonl"}, "option data must be a file of .*; got 'gone.jsonl'"),
        ({"dta": "a.jsonl"}, "option data must be text"),
        ({"max_turns": 0}, "option max_turns must be a whole number"),
        ({"choices": "ab"}, "option choices must be an array"),
        ({"choices": [1]}, "option choices must be a list of texts"),
        ({"columns": {"prompt": 1}}, "option columns must be an object"),
        ({"columns": {"answer": "solution"}}, "must have the field solution, which the option columns says is answer"),
        ({"held_out": 0}, "data must hold prompts to train on and others to evaluate on"),
        ({"shufle": True}, "an option must be one of data, .*; got 'shufle'"),
        ({"env_response": "nowhere:f"}, "'nowhere' must be a module that can be imported"),
        ({"env_response": f"{HERE}HERE"}, "option env_response must be a function"),
        ({"env_response": f"{HERE}asks_for_more"}, "option env_response must take messages and state"),
    ],
)
def test_options_that_are_none_are_told(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    known = {} if not options or {"dta", "data"} & options.keys() else {"data": sums(tmp_path)}
    with pytest.raises(InputError, match=message):
        load_environment("prompts", {**known, **options})
