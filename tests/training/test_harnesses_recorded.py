"""Contract 1 where frameworks that nobody here wrote play: openai-agents, mini-swe-agent and smolagents, unmodified.

The policy's weights are random, so it calls no tool that exists and writes no code: programs end as they may, and what
was recorded is right all the same. Fifty episodes of each: tests/benchmarks/recorded_harnesses.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tests.harness_episodes import (
    FRAMEWORKS,
    Episode,
    differences,
    play_all,
    policy_server,
    python_of,
    trajectories_of,
)
from tests.training.test_same_log_probs import model, parameters

__all__ = ["model", "parameters"]  # fixtures
pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]
EPISODES = 2


@pytest.fixture(scope="module")
def address(model: ModelConfig, parameters: Parameters) -> Iterator[str]:
    with policy_server(model, parameters) as found:
        yield found


FIRST = "openai_agents_pictures"  # which asks by both of OpenAI's forms, and shows pictures
ALL = [
    pytest.param(
        name,
        marks=[*([] if name == FIRST else [pytest.mark.full]), *([pytest.mark.browser] * name.startswith("browser"))],
    )
    for name in FRAMEWORKS
]


@pytest.fixture(scope="module", params=ALL)
def episodes(request: pytest.FixtureRequest, address: str) -> list[Episode]:
    if python_of(FRAMEWORKS[request.param]) is None:
        pytest.skip("launch/harnesses.sh has not installed the agent frameworks of others")
    tasks: list[dict[str, Any]] = [{"seed": seed} for seed in range(EPISODES)]
    if request.param == FIRST:
        tasks[0]["api"] = "responses"
    return play_all(address, request.param, tasks)


def test_the_learner_computes_what_was_recorded(
    model: ModelConfig, parameters: Parameters, episodes: list[Episode], request: pytest.FixtureRequest
) -> None:
    trajectories = trajectories_of(episodes)
    assert len(trajectories) == EPISODES and all(each.status == 0 and each.reward for each in episodes), episodes
    for found in differences(model, parameters, trajectories):
        assert len(found) == sum(each.num_action_tokens for each in trajectories) >= 2 * EPISODES
        assert found.max() < 1e-4 and np.median(found) < 1e-5
