"""Clients that know nothing of episodes: each conversation is kept by itself, by what was said in it alone."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tars_jax.inference.engine import Engine
from tars_jax.inference.server import Served, make_app, serving
from tars_jax.rollout.recorded_episode import KeptConversations
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory
from tests.inference.server.conftest import CODEC, SERVER
from tests.waiting import wait_until

Opens = Callable[..., contextlib.AbstractContextManager[openai.OpenAI]]


@pytest.fixture
def opens(served: Served, tmp_path: Path) -> Opens:
    """A server that keeps conversations below `tmp_path`, and a client of it."""

    @contextlib.contextmanager
    def opened(idle_seconds: float = 600.0, keep: Any = None) -> Iterator[openai.OpenAI]:
        config = dataclasses.replace(SERVER, idle_seconds=idle_seconds)
        keeping = dataclasses.replace(served, keep=keep or KeptConversations(tmp_path / "kept"))
        with serving(make_app(keeping, config), config) as address:
            yield openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=600)

    return opened


def kept(folder: Path) -> list[Trajectory]:
    return [load_trajectory(file) for file in sorted((folder / "kept").glob("*.trajectory"))]


def talk(client: openai.OpenAI, begin: str, turns: int) -> list[str]:
    messages: list[Any] = [{"role": "system", "content": "s"}, {"role": "user", "content": begin}]
    said = []
    for turn in range(turns):
        options: Any = {"temperature": 1.0, "max_tokens": 5, "stream": bool(turn % 2)}
        answer = client.chat.completions.create(model="tiny", messages=messages, **options)
        if turn % 2:
            said.append("".join(chunk.choices[0].delta.content or "" for chunk in answer))
        else:
            said.append(answer.choices[0].message.content)
        messages += [{"role": "assistant", "content": said[-1]}, {"role": "user", "content": f"{turn}"}]
    return said


def test_each_conversation_is_kept_when_the_server_ends(opens: Opens, tmp_path: Path) -> None:
    found: dict[str, list[str]] = {}
    with opens() as client:
        talks = [
            threading.Thread(target=lambda begin=begin: found.update({begin: talk(client, begin, 3)}))
            for begin in "abcd"
        ]
        for thread in talks:
            thread.start()
        for thread in talks:
            thread.join()
        several = [{"role": "user", "content": "several choices are nobody's conversation"}]
        client.chat.completions.create(model="tiny", messages=several, n=2, max_tokens=2)  # type: ignore[arg-type]
        assert not kept(tmp_path)
    trajectories = kept(tmp_path)
    assert sorted([step.response for step in each.steps] for each in trajectories) == sorted(found.values())
    for each in trajectories:
        [window] = each.windows
        assert CODEC.decode(window.tokens.tolist()).startswith("<|user|>s\n")
        assert each.success is None and each.reward == 0 and each.task["environment"] == "recorded"
        assert each.num_action_tokens > 0 and (window.log_probs[window.action_mask] < 0).all()
    with opens() as client:  # another server goes on
        talk(client, "e", 1)
    assert [each.id for each in kept(tmp_path)] == [f"{number:08d}" for number in range(5)]


def test_one_that_nobody_goes_on_with_is_over(opens: Opens, tmp_path: Path) -> None:
    with opens(idle_seconds=0.5) as client:
        talk(client, "a", 2)
        wait_until(lambda: len(kept(tmp_path)) == 1)
        talk(client, "a", 1)
        wait_until(lambda: len(kept(tmp_path)) == 2)
    assert [len(each.steps) for each in kept(tmp_path)] == [2, 1]


def test_a_rewritten_history_is_another_conversation(opens: Opens, tmp_path: Path) -> None:
    with opens() as client:
        for prompt in ("a", "b"):
            messages: list[Any] = [
                {"role": "user", "content": prompt},
                {"role": "assistant", "content": "never said"},
                {"role": "user", "content": "go on"},
            ]
            client.chat.completions.create(model="tiny", messages=messages, max_tokens=3)
    assert [len(each.steps) for each in kept(tmp_path)] == [1, 1]
    assert all("never said" in each.metadata["instruction"] for each in kept(tmp_path))


def test_what_cannot_be_kept_holds_up_nobody(opens: Opens, engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    def full(windows: Any) -> None:
        raise OSError("No space left on device")

    with opens(idle_seconds=0.2, keep=full) as client:
        talk(client, "a", 1)
        wait_until(lambda: "a conversation of 1 answers is lost" in caplog.text)
        assert talk(client, "b", 2)
    assert engine.statistics().sessions == 0
