"""The policy as a generative outcome reward model (ORM): it reads an episode and says 1 or 0 after its reasoning.

What it reads is the full text history and the last screenshots (UI-TARS-2, 2.5.2); `tars_jax/agent/judging.py` writes
the question and reads the verdict, in training as here.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import numpy as np

from tars_jax import InputError
from tars_jax.agent.judging import SCREENSHOTS, Question, question_about, verdict_of
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation, Task
from tars_jax.inference import Sampled, Sampling
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.judges.judge import Judgement, JudgeUnavailable, UnreadableVerdict
from tars_jax.trajectory import Trajectory

READINGS = 3  # answers that are asked for before the verdict counts as unreadable


class Session(Protocol):
    """A live context of a model."""

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled: ...


class Model(Protocol):
    """An engine, or a client of our policy server."""

    def session(self, seed: int) -> AbstractAsyncContextManager[Session]: ...


class OutcomeRewardModel:
    """Judges by a model's likeliest verdict; where that cannot be read, by sampled ones."""

    def __init__(
        self,
        model: Model,
        writer: PromptWriter,
        longest: int,
        *,
        grammar: str = "text",
        screenshots: int = SCREENSHOTS,
    ) -> None:
        """`longest`: tokens of a question that leave the model room for its answer."""
        self._model, self._writer, self._longest = model, writer, longest
        self._grammar, self._screenshots = grammar, screenshots

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """1 and success, or 0 and none. Raises JudgeUnavailable where the episode is too long for the model, or the
        model does not answer; UnreadableVerdict where no answer of several says 1 or 0."""
        instruction = trajectory.metadata.get("instruction") or task.instruction
        question = question_about(trajectory, instruction, self._writer, self._screenshots)
        if len(question.tokens) > self._longest:
            raise JudgeUnavailable(
                f"the reward model reads at most {self._longest} tokens; got {len(question.tokens)} of {trajectory.id}"
            )
        text = ""
        for number in range(READINGS):
            text = await self._answer(question, number)
            verdict = verdict_of(text, self._grammar)
            if verdict is not None:
                return Judgement(float(verdict), verdict)
        raise UnreadableVerdict(f"the reward model must say 1 or 0; got {text!r:.100}, the last of {READINGS} answers")

    async def _answer(self, question: Question, number: int) -> str:
        sampling = Sampling(temperature=0.0 if number == 0 else 1.0)
        pixels = [Observation(screenshot).pixels for screenshot in question.screenshots]
        images = [each for each in pixels if each is not None]
        try:
            async with self._model.session(zlib.crc32(question.id.encode()) + number) as session:
                sampled = await session.respond(question.tokens, images, restart=True, sampling=sampling)
        except (PolicyUnavailable, InputError) as error:  # of this question: the model itself is open
            raise JudgeUnavailable(f"the reward model did not take the question: {error}") from error
        return self._writer.read(sampled.tokens)
