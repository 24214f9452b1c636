"""Contract 1 where a program that knows nothing of us has played, through chat completions alone.

Several at once, as agents of others do: one keeps its whole history, one drops all pictures but the last, one
compacts its history, one has a second agent ask in between, one is a client of the computer tool, by responses. What
was recorded is what the learner computes anew, images and experts included.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from tars_jax.agent.computer_form import ComputerForm
from tars_jax.environment import Task
from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.data_urls import encode_image, exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.rollout.recorded_episode import trajectory_of_recorded
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.ppo import make_score_fn
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.checks import check_rewarded
from tars_jax.trajectory.context import context_of
from tests.training.test_same_log_probs import ENGINE, TOKENIZER, model, parameters

__all__ = ["model", "parameters"]  # fixtures
TURNS = 5
Messages = list[dict[str, Any]]


def whole(messages: Messages) -> Messages:
    return messages


def last_picture(messages: Messages) -> Messages:
    """As agents do to whom pictures are dear."""
    text = [
        {**each, "content": each["content"][:1]} if isinstance(each["content"], list) else each for each in messages
    ]
    return [*text[:-1], messages[-1]]


def compacted(messages: Messages) -> Messages:
    return messages if len(messages) < 6 else [{"role": "user", "content": "You have looked around."}, messages[-1]]


def play(client: openai.OpenAI, rewrite: Callable[[Messages], Messages], seed: int, second: bool) -> None:
    rng, messages, other = np.random.default_rng(seed), Messages(), Messages()
    for turn in range(TURNS):
        picture = {"url": encode_image(rng.integers(0, 256, (96, 96, 3), np.uint8))}
        shown = [{"type": "text", "text": f"{turn}"}, {"type": "image_url", "image_url": picture}]
        messages.append({"role": "user", "content": shown})
        ask: Any = {"model": "nano", "messages": rewrite(messages), "max_tokens": 10, "temperature": 0.3}
        if turn % 2:
            chunks = client.chat.completions.create(**ask, stream=True)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        else:
            text = client.chat.completions.create(**ask).choices[0].message.content
        messages.append({"role": "assistant", "content": text})
        if second:
            other.append({"role": "user", "content": f"You check. Step {turn}?"})
            checking: Any = {"model": "nano", "messages": other, "max_tokens": 4}
            checked = client.chat.completions.create(**checking)
            other.append({"role": "assistant", "content": checked.choices[0].message.content})


def play_responses(client: openai.OpenAI, seed: int) -> None:
    """The loop of a client of OpenAI's computer tool."""
    rng, previous, calls = np.random.default_rng(seed), None, list[Any]()
    for turn in range(TURNS):
        url = encode_image(rng.integers(0, 256, (96, 96, 3), np.uint8))
        shown: list[Any] = [
            {"type": "computer_call_output", "call_id": call.call_id,
             "output": {"type": "computer_screenshot", "image_url": url}}
            for call in calls
        ]  # fmt: skip
        said = [{"type": "input_text", "text": f"{turn}"}]
        asked: Any = [
            *shown,
            {"role": "user", "content": said if shown else [*said, {"type": "input_image", "image_url": url}]},
        ]
        found = client.responses.create(
            model="nano", input=asked, previous_response_id=previous, tools=[{"type": "computer"}], max_output_tokens=10
        )
        previous, calls = found.id, [item for item in found.output if item.type == "computer_call"]


WAYS = [(whole, False), (last_picture, False), (compacted, False), (whole, True)]


@pytest.fixture(scope="module")
def recorded(model: ModelConfig, parameters: Parameters) -> list[list[Any]]:
    with Engine(model, parameters, ENGINE, image=TOKENIZER.image, stop=TOKENIZER.end, seed=0) as engine:
        turns = TurnFormat(TOKENIZER, lambda height, width: height * width // 1024)
        served = Served("nano", engine, TOKENIZER, turns, exact, TOKENIZER.end, parameters, lambda path: parameters)
        served = dataclasses.replace(served, computer=ComputerForm("text"))
        config = ServerConfig(port=0)
        with serving(make_app(served, config), config) as address, httpx.Client(base_url=address, timeout=600) as http:

            def episode(number: int) -> Any:
                opened = http.post("/v1/rl/episodes", json={"seed": number, "temperature": 1.0}).json()
                client = openai.OpenAI(base_url=f"{address}/v1", api_key=opened["key"], timeout=600)
                if number < len(WAYS):
                    play(client, *WAYS[number][:1], number, WAYS[number][1])
                else:
                    play_responses(client, number)
                return http.post(f"/v1/rl/episodes/{opened['id']}/finish", json={}).json()["windows"]

            with concurrent.futures.ThreadPoolExecutor(len(WAYS) + 1) as pool:
                return list(pool.map(episode, range(len(WAYS) + 1)))


@pytest.fixture(scope="module")
def trajectories(recorded: list[list[Any]]) -> list[Trajectory]:
    return [
        trajectory_of_recorded(
            windows,
            id=f"{number}",
            task=Task("same", "harness", number, {}, 10),
            reward=1.0,
            success=True,
            outcome=Outcome.FINISHED,
            metadata={},
        )
        for number, windows in enumerate(recorded)
    ]


@pytest.mark.slow
def test_the_learner_computes_what_was_recorded(
    model: ModelConfig, parameters: Parameters, trajectories: list[Trajectory]
) -> None:
    packer = Packer(model, PackingConfig(256, 8), image=TOKENIZER.image)
    rows = packer.pack(trajectories, rows_multiple=4, routes=True).rows
    scored = np.asarray(make_score_fn(model)(parameters, rows))
    assert rows.action_mask.sum() == sum(each.num_action_tokens for each in trajectories) > 100
    difference = np.abs(scored - rows.log_probs)[rows.action_mask]
    assert difference.max() < 1e-4 and np.median(difference) < 1e-5


@pytest.mark.slow
def test_windows_begin_where_the_history_was_rewritten(trajectories: list[Trajectory]) -> None:
    assert [len(each.windows) for each in trajectories] == [1, TURNS, TURNS - 2, 2, 1]
    assert [len(each.steps) for each in trajectories] == [TURNS, TURNS, TURNS, 2 * TURNS, TURNS]
    assert [len(each.windows[0].images) for each in trajectories] == [TURNS, 1, 3, TURNS, TURNS]
    for each in trajectories:
        assert sum(step.reward for step in each.steps) == each.reward == each.steps[-1].reward == 1
        written = [
            TOKENIZER.decode(w.tokens[w.action_mask & (w.steps == s)]) for w in each.windows for s in set(w.steps)
        ]
        assert sorted(text.removesuffix("<|end|>") for text in written) == sorted(step.response for step in each.steps)


@pytest.mark.slow
def test_what_was_drawn_otherwise_is_context_and_further_pictures_have_steps(recorded: list[list[Any]]) -> None:
    def made(windows: list[Any]) -> Trajectory:
        return trajectory_of_recorded(
            windows, id="x", task=Task("x", "harness", 0, {}, 10), reward=0.5, success=None, outcome=Outcome.TRUNCATED,
            metadata={"why": "time"},
        )  # fmt: skip

    [first, *rest] = recorded[0][0]
    found = made([[{**first, "free": False}, *rest]])
    whole = made(recorded[0])
    assert found.metadata["recorded"] == {"windows": 1, "answers": TURNS, "not_learned": 1}
    assert found.num_action_tokens == whole.num_action_tokens - len(first["answer"]["tokens"])
    assert (found.windows[0].tokens == whole.windows[0].tokens).all()
    *_, last = recorded[0][0]
    ended = made([[first, *rest[:-1], {**last, "free": False}]])  # its end alone carries the reward
    assert ended.num_action_tokens == whole.num_action_tokens - len(last["answer"]["tokens"]) + 1
    check_rewarded(ended, "recorded")
    assert context_of(ended) == [TURNS - 1]
    twice = made([[{**first, "images": first["images"] * 2}, *rest]])
    assert len(twice.steps) == TURNS + 1 and twice.windows[0].images[:3] == (0, 1, 2)
    assert twice.steps[0].response == "" and twice.steps[0].screenshot == twice.steps[1].screenshot
    assert made([]).steps == () and made([]).reward == 0
    nonsense: list[Any] = [[[{}]], [[{**first, "answer": {}}]], [[{**first, "images": ["data:image/png;base64,?"]}]]]
    for broken in nonsense:
        with pytest.raises(PolicyUnavailable):
            made(broken)
