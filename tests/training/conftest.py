"""Episodes made by hand, of text alone."""

import io
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from PIL import Image

from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory

Answers = Sequence[tuple[int, Sequence[int]]]  # of one window: a step's number, and the tokens that were sampled


def _window(answers: Answers, log_prob: float) -> ContextWindow:
    """The token 1 as preamble, then for each answer the token 2, which was read, and the answer."""
    columns = [(1, False, -1)]
    for number, tokens in answers:
        columns += [(2, False, number), *((token, True, number) for token in tokens)]
    tokens_, mask, steps = (np.array(column) for column in zip(*columns, strict=True))
    return ContextWindow(
        tokens_.astype(np.int32),
        mask,
        np.where(mask, log_prob, 0).astype(np.float32),
        np.where(mask, 0, -1).astype(np.int32),
        steps.astype(np.int32),
        (),
    )


@pytest.fixture(scope="session")
def episode() -> Callable[..., Trajectory]:
    """episode(windows, rewards, ...): `rewards` has one number for each step; it succeeded if one is positive."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")

    def make(
        windows: Sequence[Answers],
        rewards: Sequence[float],
        malformed: Sequence[int] = (),
        distances: Sequence[int] | None = None,
        log_prob: float = -1.0,
    ) -> Trajectory:
        states = [{"state": {"distance": distance}} for distance in distances or [0] * len(rewards)]
        steps = tuple(
            Step(file.getvalue(), "", "", "", None, reward, 0, number not in malformed, states[number])
            for number, reward in enumerate(rewards)
        )
        built = tuple(_window(answers, log_prob) for answers in windows)
        return Trajectory(
            "made", {"max_steps": 9}, built, steps, Outcome.FINISHED, float(sum(rewards)), success=sum(rewards) > 0
        )

    return make
