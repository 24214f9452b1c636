"""Episodes that a chat client plays with a key: recorded token by token, whatever it does to its history."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import pytest

from tars_jax.inference.chat_template import TurnFormat
from tests.inference.server.conftest import CODEC

Ask = Callable[..., Any]


class Trainer:
    """Opens episodes and takes what was played, by httpx."""

    def __init__(self, address: str, key: str = "") -> None:
        self.address = address
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=address, timeout=600, headers=headers)

    def open(self, **fields: Any) -> tuple[str, openai.OpenAI]:
        answer = self.http.post("/v1/rl/episodes", json=fields)
        assert answer.status_code == 201
        client = openai.OpenAI(base_url=f"{self.address}/v1", api_key=answer.json()["key"], max_retries=0, timeout=600)
        return answer.json()["id"], client

    def finish(self, id: str) -> list[list[dict[str, Any]]]:
        answer = self.http.post(f"/v1/rl/episodes/{id}/finish", json={})
        assert answer.status_code == 200, answer.text
        found: list[list[dict[str, Any]]] = answer.json()["windows"]
        return found


@pytest.fixture(scope="module")
def trainer(server: str) -> Iterator[Trainer]:
    trainer = Trainer(server)
    with trainer.http:
        yield trainer


def say(client: openai.OpenAI, messages: list[Any], **fields: Any) -> Any:
    answer: Any = client.chat.completions.create(
        messages=messages, extra_body={"return_token_ids": True}, **{"model": "tiny", "max_tokens": 6, **fields}
    )
    return answer


def played(turns: list[dict[str, Any]]) -> list[int]:
    return [token for turn in turns for token in (*turn["read"], *turn["answer"]["tokens"])]


def test_a_conversation_is_one_window_of_what_was_sampled(
    trainer: Trainer, turns: TurnFormat, picture: Callable[[int], str]
) -> None:
    id, client = trainer.open(seed=1)
    shown = {"type": "image_url", "image_url": {"url": picture(1)}}
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "look"}, shown]}]
    sampled, prompts = [], []
    for _ in range(3):
        found = say(client, messages)
        sampled.append(found.choices[0].token_ids)
        prompts.append(found.prompt_token_ids)
        messages += [found.choices[0].message, {"role": "user", "content": "go on"}]
    counts = trainer.http.get(f"/v1/rl/episodes/{id}").json()
    assert (counts["answers"], counts["windows"], counts["busy"]) == (3, 1, False)
    [window] = trainer.finish(id)
    assert [turn["answer"]["tokens"] for turn in window] == sampled
    assert [len(turn["images"]) for turn in window] == [1, 0, 0]
    assert all(turn["free"] and not turn["read_again"] for turn in window)
    assert all(len(turn["answer"]["log_probs"]) == len(turn["answer"]["tokens"]) for turn in window)
    assert prompts[2] == [*played(window[:2]), *window[2]["read"]]
    assert CODEC.decode(window[1]["read"]) == "<|end|><|user|>go on<|agent|>" and window[1]["asked"] == "go on"
    with pytest.raises(openai.AuthenticationError, match="an episode that is over"):
        say(client, messages)
    assert trainer.http.post(f"/v1/rl/episodes/{id}/finish", json={}).status_code == 404


def test_a_stream_is_recorded_and_one_that_its_client_leaves_is_not(trainer: Trainer) -> None:
    id, client = trainer.open()
    messages: list[Any] = [{"role": "user", "content": "one"}]
    with client.chat.completions.create(model="tiny", messages=messages, max_tokens=4000, stream=True) as stream:
        next(iter(stream))
    text = "".join(
        chunk.choices[0].delta.content or ""
        for chunk in client.chat.completions.create(model="tiny", messages=messages, max_tokens=5, stream=True)
    )
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "two"}]
    say(client, messages)
    windows = trainer.finish(id)
    assert [len(window) for window in windows] == [2] and windows[0][0]["text"] == text


def test_a_history_that_is_rewritten_at_every_turn_costs_a_window_a_turn(trainer: Trainer) -> None:
    id, client = trainer.open()
    for turn in range(3):
        say(client, [{"role": "system", "content": "abc"[: turn + 1]}, {"role": "user", "content": "go"}])
    windows = trainer.finish(id)
    assert [[turn["number"] for turn in window] for window in windows] == [[0], [1], [2]]


def test_more_windows_than_are_held_are_read_again_to_the_same_tokens(trainer: Trainer) -> None:
    id, client = trainer.open()
    agents: list[list[Any]] = [[{"role": "user", "content": f"agent {letter}"}] for letter in "abcdefg"]
    for _ in range(2):
        for messages in agents:
            found = say(client, messages)
            messages += [found.choices[0].message, {"role": "user", "content": "more"}]
    windows = trainer.finish(id)
    assert [len(window) for window in windows] == [2] * 7
    assert any(window[1]["read_again"] for window in windows)


def test_the_trainer_says_how_answers_are_drawn(trainer: Trainer) -> None:
    texts = set()
    for _ in range(3):
        id, client = trainer.open(temperature=1.0, seed=7)
        found = say(client, [{"role": "user", "content": "go"}], temperature=0, top_p=0.1, max_tokens=20)
        texts.add(found.choices[0].message.content)
        [[turn]] = trainer.finish(id)
        assert turn["free"]
    assert len(texts) == 1  # of the episode's own seed
    id, client = trainer.open(temperature=1.0, seed=8)
    assert say(client, [{"role": "user", "content": "go"}], max_tokens=20).choices[0].message.content not in texts
    trainer.finish(id)
    id, client = trainer.open()
    say(client, [{"role": "user", "content": "go"}], temperature=0)
    [[turn]] = trainer.finish(id)
    assert not turn["free"]  # nobody learns from what was sampled in another way


def test_what_an_episode_cannot_be_asked(trainer: Trainer) -> None:
    id, client = trainer.open()
    with pytest.raises(openai.BadRequestError, match="n must be 1 in a recorded episode; got 2"):
        say(client, [{"role": "user", "content": "go"}], n=2)
    with pytest.raises(openai.BadRequestError, match="messages"):
        say(client, [{"role": "assistant", "content": "go"}])
    with pytest.raises(openai.BadRequestError, match="window holds 4096 tokens"):
        say(client, [{"role": "user", "content": "a" * 5000}])
    assert trainer.finish(id) == []
    other = openai.OpenAI(base_url=f"{trainer.address}/v1", api_key="ep-nothing", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        say(other, [{"role": "user", "content": "go"}])
    assert trainer.http.post("/v1/rl/episodes", json={"temperature": -1}).status_code == 400
    assert trainer.http.get("/v1/rl/episodes/none").status_code == 404


def test_an_episode_has_so_many_answers_of_so_many_tokens(trainer: Trainer) -> None:
    id, client = trainer.open(answers=2, answer_tokens=3)
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for _ in range(2):
        assert say(client, messages, max_tokens=10**6, model="any-name").usage.completion_tokens <= 3
    for _ in range(3):
        with pytest.raises(openai.PermissionDeniedError, match="has had the 2 answers that it may have"):
            say(client, messages)
    found = trainer.http.post(f"/v1/rl/episodes/{id}/finish", json={}).json()
    assert found["refused"] == 3 and sum(map(len, found["windows"])) == 2 and found["reward"] is None


def test_a_program_says_its_reward_once_and_with_its_key(trainer: Trainer) -> None:
    id, client = trainer.open()

    def reward(body: Any, key: str = client.api_key) -> httpx.Response:
        return trainer.http.post("/v1/rl/reward", json=body, headers={"Authorization": f"Bearer {key}"})

    wrongs: list[Any] = [{}, {"reward": "1"}, {"reward": 1e9}, {"reward": 1, "success": 1}, {"reward": True}, [1]]
    for wrong in [*wrongs, {"rewrd": 1}]:
        assert reward(wrong).status_code == 400, wrong
    assert reward({"reward": 1}, "ep-nothing").status_code == 401
    assert reward({"reward": 1}, "another").status_code == 401
    assert reward({"reward": 0.5, "success": False}).json() == {"id": id}
    assert reward({"reward": 1}).status_code == 409
    found = trainer.http.post(f"/v1/rl/episodes/{id}/finish", json={}).json()
    assert (found["reward"], found["success"]) == (0.5, False)
    assert reward({"reward": 1}).status_code == 401


def test_two_programs_with_one_key_and_an_end_while_one_is_answered(trainer: Trainer) -> None:
    id, client = trainer.open()
    messages: list[Any] = [{"role": "user", "content": "go"}]
    found: list[Any] = []
    both = [threading.Thread(target=lambda: found.append(say(client, messages, max_tokens=40))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(found) == 2
    late: list[Any] = []

    def ask() -> None:
        try:
            late.append(say(client, messages, max_tokens=4000))
        except openai.APIStatusError as error:
            late.append(error.status_code)

    thread = threading.Thread(target=ask)
    thread.start()
    while not trainer.http.get(f"/v1/rl/episodes/{id}").json()["busy"] and not late:
        pass
    windows = trainer.finish(id)
    thread.join()
    assert late == [409] and [len(window) for window in windows] == [1, 1]


def test_the_key_of_an_episode_opens_answers_and_nothing_else(other_server: Any) -> None:
    with other_server(api_key="the-servers-own") as address:
        trainer = Trainer(address, "the-servers-own")
        id, client = trainer.open()
        assert say(client, [{"role": "user", "content": "go"}]).choices
        assert client.models.list().data
        own = {"Authorization": f"Bearer {client.api_key}"}
        assert httpx.post(f"{address}/v1/rl/episodes/{id}/finish", json={}, headers=own).status_code == 401
        assert httpx.get(f"{address}/v1/rl/weights", headers=own).status_code == 401
        by_name = openai.OpenAI(base_url=f"{address}/v1", api_key="the-servers-own", default_headers={"X-Episode": id})
        say(by_name, [{"role": "user", "content": "go"}])
        assert len(trainer.finish(id)) == 2


def test_others_are_answered_while_a_long_prompt_is_read(other_server: Any) -> None:
    with other_server(request_seconds=60.0) as address:
        trainer = Trainer(address)
        id, client = trainer.open()
        took: list[float] = []

        def ask() -> None:
            began = time.monotonic()
            with pytest.raises(openai.BadRequestError, match="window holds 4096 tokens"):
                say(client, [{"role": "user", "content": "a" * 160_000}])
            took.append(time.monotonic() - began)

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.1)
        began = time.monotonic()
        assert trainer.http.get("/health").status_code == 200
        waited = time.monotonic() - began
        thread.join()
        assert waited < max(took[0] / 3, 0.2) and trainer.finish(id) == []
