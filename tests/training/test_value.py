"""The value model: where values are read, that it learns, and its yardstick."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.training.advantages import advantage_fn, return_fn
from tars_jax.training.config import OptimizerConfig, PPOConfig
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.state import init_train_state, value_parameters
from tars_jax.training.value import (
    StateBaseline,
    ValueBatch,
    gather_actions,
    make_value_fn,
    make_value_update,
    scatter_actions,
    shift_values,
    value_model,
)
from tars_jax.trajectory import Trajectory

Episode = Callable[..., Trajectory]


def test_values_are_read_before_the_token() -> None:
    np.testing.assert_array_equal(shift_values(jnp.asarray([[1.0, 2, 3], [4, 5, 6]])), [[0, 1, 2], [0, 4, 5]])


def test_returns_by_hand() -> None:
    valid = np.array([[True] * 4, [True, True, False, False]])
    rewards, steps = np.array([[0, 1, 0, 2], [1, 0, 0, 0]], np.float32), np.array([[0, 0, 1, 1], [0, 0, 0, 0]])

    def returns(**fields: Any) -> Any:
        return return_fn(PPOConfig(**fields))(rewards, valid, steps)

    np.testing.assert_array_equal(returns(), [[3, 3, 2, 2], [1, 0, 0, 0]])
    # 1/8 of 2 and 1/2 of 1; then a half less each token on the way there.
    np.testing.assert_allclose(returns(gamma=0.5), np.array([[0.75, 1.5, 1, 2], [1, 0, 0, 0]]))
    # All of the first turn's tokens: its 1 and half of the second's 2.
    np.testing.assert_allclose(returns(gamma=0.5, advantages="turn"), np.array([[2, 2, 2, 2], [1, 1, 0, 0]]))


@pytest.mark.parametrize("advantages", ["gae", "turn"])
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_a_perfectly_pretrained_value_model_is_right_for_the_update(advantages: str, gamma: float) -> None:
    """Where its values are the returns of what came, the update finds no advantage and leaves its targets there."""
    config = PPOConfig(advantages=advantages, gamma=gamma, normalize_advantages=False)
    valid, steps = np.ones((1, 6), bool), np.array([[0, 0, 1, 1, 1, 2]])
    rewards = np.array([[0, 0.5, 0, 0, -0.1, 1]], np.float32)  # each at its turn's end
    values = return_fn(config)(rewards, valid, steps)
    found = advantage_fn(config)(rewards, values, valid, steps)
    np.testing.assert_allclose(found.advantages, 0, atol=1e-6)
    np.testing.assert_allclose(found.targets, values, atol=1e-6)


def test_to_the_rows_and_back(tiny_model: ModelConfig, episode: Episode) -> None:
    """A value of each token's own comes to that token, and back; nothing comes anywhere else."""
    first = episode([[(0, [101, 102])], [(1, [103]), (2, [104, 105, 106])]], [0, 0, 1])
    packed = Packer(tiny_model, PackingConfig(9, 1), image=5).pack([first, episode([[(0, [201, 202])]], [0])], 4)
    values = np.zeros(packed.action_valid.shape)
    values[0, :6], values[1, :2] = np.arange(101, 107), [201, 202]
    values[~packed.action_valid] = np.nan
    rows = scatter_actions(packed, values)
    np.testing.assert_array_equal(rows, np.where(packed.rows.action_mask, packed.rows.inputs.tokens, 0))
    np.testing.assert_array_equal(gather_actions(packed, rows), np.nan_to_num(values))


@pytest.mark.slow
def test_constant_returns_are_learned(tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode) -> None:
    model = value_model(tiny_model)
    fresh = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(3))
    packed = Packer(tiny_model, PackingConfig(16, 1), image=5).pack(
        [episode([[(0, [number, 8, 9]), (1, [number])]], [0, 0.7]) for number in range(10, 14)], 4
    )
    rows = packed.rows
    targets = np.where(rows.action_mask, 0.7, np.nan).astype(np.float32)  # elsewhere there is no target
    batch = ValueBatch(rows, targets, np.zeros_like(targets))
    optimizer = make_optimizer(OptimizerConfig(1e-2, warmup=0))
    state, update = (
        init_train_state(value_parameters(tiny_parameters, fresh), optimizer),
        make_value_update(model, optimizer, None),
    )
    values = make_value_fn(tiny_model)
    assert (np.asarray(values(state.parameters, rows)) == 0).all()
    state, metrics = update(state, batch)
    np.testing.assert_allclose(metrics["value_loss"], 0.5 * 0.7**2, rtol=1e-5)
    for _ in range(60):
        state, metrics = update(state, batch)
    np.testing.assert_allclose(np.asarray(values(state.parameters, rows))[rows.action_mask], 0.7, atol=0.05)
    assert float(metrics["value_loss"]) < 1e-3


def test_state_baseline_by_hand(episode: Episode) -> None:
    """Returns 1, 0 at distance 3 and 1, 1 at distance 2; their mean 0.75 counts as two more of each.

    So it says 2.5 / 4 and 3.5 / 4, and 0.75 of what it never saw; on 0, 1 and 0 the errors are -5/8, 1/8 and -3/4.
    """
    seen = [episode([], [0, 0], distances=[3, 2]) for _ in range(2)]
    returns = [np.array([1.0, 1.0]), np.array([0.0, 1.0])]
    baseline = StateBaseline(lambda task, step: step.info["state"]["distance"], seen, returns, smoothing=2.0)
    new = [episode([], [0, 0], distances=[3, 2]), episode([], [0], distances=[7])]
    explained = baseline.explained_variance(new, [np.array([0.0, 1.0]), np.array([0.0])])
    errors = np.array([-5 / 8, 1 / 8, -3 / 4])
    np.testing.assert_allclose(explained, 1 - errors.var() / (2 / 9), rtol=1e-6)
    np.testing.assert_allclose(explained, 0.328125, rtol=1e-6)
