"""Updates of a mixture: what is told of each part, and a value model for each."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.training.checkpoint import Checkpoints
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig
from tars_jax.training.learner import LearnerState, PPOLearner
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.recorded_updates import Digests, digest
from tars_jax.training.value import value_model
from tars_jax.trajectory import Trajectory
from tests.training.updates import update

Episode = Callable[..., Trajectory]
NAMES = ("gui", "sdk")
PARTS = np.array([0, 1, 0, 1, 1])


@functools.cache
def learner(model: ModelConfig, parts: tuple[str, ...] = (), **switches: Any) -> PPOLearner:
    rate = OptimizerConfig(1e-2, warmup=0)
    config = PPOConfig(minibatch_rows=4, epochs=2, **switches)
    return PPOLearner(
        model,
        Packer(model, PackingConfig(24, 1), image=5),
        config,
        RewardConfig(max_length=99),
        rate,
        rate,
        parts=parts,
    )


def played(episode: Episode, of_sdk: Sequence[float] = (1, 0, 1)) -> list[Trajectory]:
    """Two of the GUI, of two steps each; three of the SDK, of one."""
    gui = [episode([[(0, [20 + n, 21])], [(1, [22 + n])]], [0, n]) for n in range(2)]
    sdk = [episode([[(0, [10 + n, 14, 15])]], [reward]) for n, reward in enumerate(of_sdk)]
    return [gui[0], sdk[0], gui[1], sdk[1], sdk[2]]


@pytest.fixture(scope="session")
def values(tiny_model: ModelConfig) -> Parameters:
    return jax.jit(lambda key: init_parameters(value_model(tiny_model), key))(jax.random.key(1))


def updated(one: PPOLearner, policy: Parameters, value: Any, episodes: Sequence[Trajectory], parts: Any = PARTS) -> Any:
    """The states of policy and value model, and the metrics of an update."""
    state, metrics = update(one, one.init_states(policy, value), episodes, parts)
    return state.policy, state.value, metrics


@pytest.mark.slow
def test_a_shared_value_model_learns_as_without_parts(
    tiny_model: ModelConfig, tiny_parameters: Parameters, values: Parameters, episode: Episode
) -> None:
    """Bit for bit; beside it each part's metrics stand, which together are those of all."""
    plain = updated(learner(tiny_model), tiny_parameters, values, played(episode), None)
    mixed = updated(learner(tiny_model, NAMES), tiny_parameters, values, played(episode))
    assert digest(mixed[1].parameters) == digest(plain[1].parameters)
    metrics = mixed[2]
    assert {name: metrics[name] for name in plain[2]} == pytest.approx(plain[2], rel=1e-5)
    assert (metrics["gui/weight"], metrics["sdk/weight"]) == (0.4, 0.6)
    assert (metrics["gui/success"], metrics["gui/episode_steps"]) == (0.5, 2)
    assert (metrics["sdk/success"], metrics["sdk/episode_steps"]) == (pytest.approx(2 / 3), 1)
    tokens = {"gui": 6, "sdk": 9}
    mean = sum(count * metrics[f"{name}/entropy"] for name, count in tokens.items()) / 15
    assert mean == pytest.approx(metrics["entropy"], rel=0.02)  # a mean over minibatches
    told = ("explained_variance", "value_correlation")
    assert {f"{name}/{metric}" for name in NAMES for metric in told} <= metrics.keys()


@pytest.mark.slow
def test_each_value_model_learns_from_its_part_alone_and_resumes(
    tiny_model: ModelConfig, tiny_parameters: Parameters, values: Parameters, episode: Episode, tmp_path: Path
) -> None:
    one = learner(tiny_model, NAMES, value_models="part", normalize_over="part")
    policy, critics, metrics = updated(one, tiny_parameters, [values] * 2, played(episode))
    _, others, _ = updated(one, tiny_parameters, [values] * 2, played(episode, of_sdk=(0, 1, 0)))
    gui, sdk = (digest(each.parameters) for each in critics)
    assert digest(others[0].parameters) == gui and digest(others[1].parameters) != sdk
    assert len({gui, sdk, digest(values)}) == 3
    assert {"gui/value_loss", "sdk/value_loss"} <= metrics.keys()

    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, (policy, critics), {})
    expected, _ = update(one, LearnerState(policy, critics, 1), played(episode), PARTS)
    fresh = one.init_states(tiny_parameters, [values] * 2)
    (policy, critics), _ = checkpoints.restore(1, (fresh.policy, fresh.value))
    found, _ = update(one, LearnerState(policy, critics, 1), played(episode), PARTS)
    assert Digests.of(found) == Digests.of(expected)


@pytest.mark.slow
def test_values_of_a_row_are_those_of_its_own_model(
    tiny_model: ModelConfig, tiny_parameters: Parameters, values: Parameters, episode: Episode
) -> None:
    """Two models that are one say what one says; a part whose episodes are not there is left as it is."""
    one = learner(tiny_model, NAMES, value_models="part", normalize_over="part")  # compiled for the test above
    shared = learner(tiny_model, NAMES)
    both = updated(one, tiny_parameters, [values] * 2, played(episode))[2]
    single = updated(shared, tiny_parameters, values, played(episode))[2]
    for name in ("explained_variance", "value_mean", "gui/explained_variance", "gui/value_correlation"):
        assert both[name] == pytest.approx(single[name], rel=1e-4, abs=1e-5), name
    _, critics, metrics = updated(one, tiny_parameters, [values] * 2, played(episode), np.zeros(5, np.int64))
    assert digest(critics[1].parameters) == digest(values) != digest(critics[0].parameters)
    assert metrics["sdk/weight"] == 0 and "sdk/success" not in metrics


def test_an_episode_that_cannot_be_packed_takes_its_part_with_it(
    tiny_model: ModelConfig, tiny_parameters: Parameters, values: Parameters, episode: Episode
) -> None:
    long = dataclasses.replace(episode([[(0, [20] * 30)]], [1]))
    episodes = [long, *played(episode)]
    one = learner(tiny_model, NAMES)
    metrics = updated(one, tiny_parameters, values, episodes, np.array([1, *PARTS]))[2]
    assert (metrics["unpackable"], metrics["gui/weight"], metrics["gui/success"]) == (1, 0.4, 0.5)
