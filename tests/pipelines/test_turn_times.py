"""Rounds of the agent loop, counted and timed around any player."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tars_jax.evaluation.tables import quantization_table
from tars_jax.inference.sampling import Sampled
from tars_jax.pipelines import turn_times
from tars_jax.pipelines.turn_times import TurnTimes, timed_player


class Clock:
    """Time that passes where it is told to."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(turn_times, "time", found)
    return found


def test_a_round_is_the_answer_and_what_the_environment_makes_of_it(clock: Clock) -> None:
    class Slow:
        async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
            if tokens == [9]:
                raise RuntimeError("away")
            clock.now += 2.0
            return Sampled(tuple(tokens), (0.0,) * len(tokens), (0,) * len(tokens))

    @contextlib.asynccontextmanager
    async def player(privileged: Any, task: Any) -> AsyncIterator[Slow]:
        yield Slow()

    async def episode(asked: Sequence[list[int]]) -> None:
        async with timed_player(player, times)(SimpleNamespace(), SimpleNamespace()) as session:  # type: ignore[arg-type]
            for tokens in asked:
                await session.respond(tokens, [], restart=True)
                clock.now += 0.5  # the environment acts

    times = TurnTimes()
    asyncio.run(episode([[1, 2, 3], [4]]))
    assert times == TurnTimes(rounds=2, tokens=4, thinking=4.0, seconds=5.0)
    assert times.tokens_per_second == 1.0 and times.seconds_per_round == 2.5
    with pytest.raises(RuntimeError, match="away"):
        asyncio.run(episode([[1], [9]]))
    assert times == TurnTimes(rounds=3, tokens=5, thinking=6.0, seconds=7.5)  # an answer that never came is no round
    assert times.plus(TurnTimes()) == times and TurnTimes().tokens_per_second == TurnTimes().seconds_per_round == 0


def test_the_table_has_both_sides_and_the_papers_marked() -> None:
    times = {
        "float": TurnTimes(10, 300, 10.0, 40.0).to_json(),
        "w4a8": TurnTimes(10, 300, 6.0, 25.0).to_json(),
    }
    result = {
        "suite": "miniwob", "episodes": 4, "pages": 2, "device": "1 x cpu", "time": times, "score_float": 0.75,
        "score_w4a8": 0.5, "return_float": 1.25, "return_w4a8": 1.0, "bytes": {"float": 3000, "w4a8": 700},
    }  # fmt: skip
    table = quantization_table(result)
    assert table.startswith("miniwob, 4 episodes of each side, 2 at a time, in turn on 1 x cpu.")
    rows = {
        row.split("|")[1].strip(): [cell.strip() for cell in row.split("|")[2:-1]] for row in table.splitlines()[2:]
    }
    assert rows[""] == ["float", "W4A8", "float (paper)", "W4A8 (paper)"]
    assert rows["score, %"] == ["75.0", "50.0", "47.5", "44.4"]
    assert rows["tokens/s"] == ["30.0", "50.0", "29.6", "47.0"]
    assert rows["seconds a round"] == ["4.000", "2.500", "4.0", "2.5"]
    assert rows["bytes"] == ["3,000", "700", "-", "-"]
