"""Steps that are context: nothing of them is a target, for any learner, and every check of episodes still holds."""

from __future__ import annotations

import asyncio
import dataclasses

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.memory import MemoryConfig
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.data.retokenized import EpisodeReader, retokenize
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_answers
from tars_jax.trajectory.context import CONTEXT_STEPS, as_context, context_of
from tests.annotation.interactive.corridors import UP, WRITER, Said, begin, task

TOKENIZER = load_tokenizer()


def _as_it_is(height: int, width: int) -> tuple[int, int]:
    return height, width


def _half() -> Trajectory:
    async def play() -> Trajectory:
        said = Said((UP, UP))
        live = await begin(said, AskingGate("every_step"), of=task(length=2))
        live.decide(0, 0, None)
        await live.settled(30)
        live.setting = dataclasses.replace(live.setting, gate=AskingGate("on_call"))
        live.propose_again(1)
        await live.settled(30)
        trajectory = await live.trajectory()
        await live.close()
        assert trajectory is not None
        return trajectory

    return asyncio.run(play())


def test_only_what_a_person_took_is_learned_by_any_learner() -> None:
    trajectory = _half()
    assert trajectory.metadata[CONTEXT_STEPS] == [1, 2]
    for memory in (MemoryConfig(1, 4), MemoryConfig(0, 0), MemoryConfig(1, 1)):
        reader = EpisodeReader(WRITER, AgentConfig(memory=memory), TOKENIZER.image, TOKENIZER.vocabulary, _as_it_is)
        again = retokenize(trajectory, "Turn as the sign says.", reader)
        check_answers(again, "again")
        learned = {0: 0, 1: 0, 2: 0}
        for window in again.windows:
            for step in window.steps[window.action_mask]:
                learned[int(step)] += 1
        assert learned == {0: len(WRITER.response(UP)), 1: 0, 2: 1}


def test_context_that_is_no_step_is_refused() -> None:
    trajectory = _half()
    for given in ([3], [-1], "1", [True], [1.0]):
        odd = dataclasses.replace(trajectory, metadata={**trajectory.metadata, CONTEXT_STEPS: given})
        with pytest.raises(InputError, match="context_steps must be steps of 0 to 2"):
            context_of(odd)
    assert context_of(trajectory, 2) == [1]


def test_nothing_changes_where_nothing_is_context() -> None:
    trajectory = _half()
    same = as_context(trajectory, [])
    for before, after in zip(trajectory.windows, same.windows, strict=True):
        assert np.array_equal(before.action_mask, after.action_mask)
