"""The policy as a generative outcome reward model (ORM): it reads an episode and says 1 or 0 after its reasoning.

What it reads is the full text history and the last screenshots (UI-TARS-2, 2.5.2: a "scalar reward"); what comes of it
is how probable success is. `tars_jax/agent/judge_prompt.py` writes the question and reads the score, in training as
here.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import numpy as np

from tars_jax import InputError
from tars_jax.agent.judge_prompt import ALTERNATIVES, SCREENSHOTS, JudgeQuestion, judge_question, success_probability
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation, Task
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.judges.calibration import IDENTITY, Calibration
from tars_jax.judges.judge import Judgement, JudgeUnavailable, UnreadableVerdict
from tars_jax.trajectory import Trajectory

REWARDS = ("score", "verdict")
READINGS = 3  # answers that are asked for before the verdict counts as unreadable


@dataclasses.dataclass(frozen=True)
class ScoreReading:
    """Reading of a score as reward and verdict. Raises InputError for values that mean nothing."""

    calibration: Calibration = IDENTITY
    reward: str = "score"  # the calibrated probability of success; or verdict: 1 for success, 0 for none
    threshold: float = 0.5  # success is a probability of at least this

    def __post_init__(self) -> None:
        if self.reward not in REWARDS:
            raise InputError(f"judge option reward must be one of {', '.join(REWARDS)}; got {self.reward!r}")
        is_number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not is_number or not 0 < self.threshold <= 1:
            raise InputError(f"judge option threshold must be more than 0, at most 1; got {self.threshold!r}")

    def __call__(self, score: float) -> Judgement:
        probability = self.calibration(score)
        success = probability >= self.threshold
        return Judgement(probability if self.reward == "score" else float(success), success)


class JudgeSession(Protocol):
    """A live context of a model."""

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled: ...


class Model(Protocol):
    """An engine, or a client of our policy server."""

    def session(self, seed: int) -> AbstractAsyncContextManager[JudgeSession]: ...


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
        reading: ScoreReading | None = None,
    ) -> None:
        """`longest`: tokens of a question that leave the model room for its answer. `reading`: of its scores."""
        self._model, self._writer, self._longest = model, writer, longest
        self._reading = reading or ScoreReading()
        self._grammar, self._screenshots = grammar, screenshots

    async def __call__(self, trajectory: Trajectory, task: Task) -> Judgement:
        """Probability of success, and whether that is enough. Raises JudgeUnavailable where the episode is too long for
        the model, or the model does not answer; UnreadableVerdict where no answer of several says 1 or 0."""
        instruction = trajectory.metadata.get("instruction") or task.instruction
        question = judge_question(trajectory, instruction, self._writer, self._screenshots)
        if len(question.tokens) > self._longest:
            raise JudgeUnavailable(
                f"the reward model reads at most {self._longest} tokens; got {len(question.tokens)} of {trajectory.id}"
            )
        text = ""
        for number in range(READINGS):
            answer = await self._answer(question, number)
            score = success_probability(answer, self._writer, self._grammar)
            if score is not None:
                return self._reading(score)
            text = self._writer.read(answer.tokens)
        raise UnreadableVerdict(f"the reward model must say 1 or 0; got {text!r:.100}, the last of {READINGS} answers")

    async def _answer(self, question: JudgeQuestion, number: int) -> Sampled:
        sampling = Sampling(temperature=0.0 if number == 0 else 1.0, top_logprobs=ALTERNATIVES)
        pixels = [Observation(screenshot).pixels for screenshot in question.screenshots]
        images = [each for each in pixels if each is not None]
        try:
            async with self._model.session(zlib.crc32(question.id.encode()) + number) as session:
                return await session.respond(question.tokens, images, restart=True, sampling=sampling)
        except (PolicyUnavailable, InputError) as error:  # of this question: the model itself is open
            raise JudgeUnavailable(f"the reward model did not take the question: {error}") from error
