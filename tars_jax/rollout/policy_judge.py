"""A policy as judge: its verdicts on many trajectories at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from tars_jax.agent.judge_prompt import JudgeQuestion, judgement_trajectory
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampling
from tars_jax.pictures import pixels_of
from tars_jax.trajectory import Trajectory


def judge(
    engine: Engine,
    questions: Sequence[JudgeQuestion],
    writer: PromptWriter,
    grammar: str,
    *,
    seed: int,
    sampling: Sampling | None = None,
) -> list[Trajectory]:
    """A judged episode for each question, in their order.

    Sampled at the engine's temperature unless `sampling` says more; the random streams depend on `seed` and the place
    of a question alone. Called where no event loop runs.
    """

    async def ask_all() -> list[Trajectory]:
        places = asyncio.Semaphore(2 * engine.config.slots)

        async def ask(number: int, question: JudgeQuestion) -> Trajectory:
            async with places, engine.session(seed * 1_000_003 + number) as session:
                pictures = [_pixels(screenshot) for screenshot in question.screenshots]
                sampled = await session.respond(question.tokens, pictures, restart=True, sampling=sampling)
                return judgement_trajectory(question, sampled, writer, grammar)

        return await asyncio.gather(*(ask(number, question) for number, question in enumerate(questions)))

    return asyncio.run(ask_all())


def _pixels(screenshot: bytes) -> np.ndarray:
    """[H, W, 3] uint8."""
    return pixels_of(screenshot)
