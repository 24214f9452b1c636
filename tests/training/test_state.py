"""Parameters, optimizer and the jitted update. Shardings over several devices: tests/model/test_sharding.py."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.state import (
    TrainState,
    Update,
    apply_gradients,
    fresh_parameters,
    init_train_state,
    value_parameters,
)


def test_start_copies_the_parameters(tiny_parameters: Parameters) -> None:
    state = init_train_state(tiny_parameters, make_optimizer(OptimizerConfig(1e-3)))
    for mine, theirs in zip(jax.tree.leaves(tiny_parameters), jax.tree.leaves(state.parameters), strict=True):
        assert mine.unsafe_buffer_pointer() != theirs.unsafe_buffer_pointer()
        np.testing.assert_array_equal(mine, theirs)
    assert int(state.step) == 0


@pytest.mark.slow
def test_fresh_parameters_are_those_of_init(tiny_model: ModelConfig) -> None:
    mesh = make_mesh({}, jax.devices()[:1])
    fresh = fresh_parameters(tiny_model, jax.random.key(7), mesh)
    expected = jax.jit(lambda key: init_parameters(tiny_model, key))(jax.random.key(7))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), fresh, expected)


def test_updates_are_traced_once_and_donate_the_state() -> None:
    optimizer = make_optimizer(OptimizerConfig(0.1))
    traces = []

    def update(state: TrainState, batch: jax.Array) -> tuple[TrainState, dict[str, jax.Array]]:
        traces.append(1)
        gradients = jax.grad(lambda parameters: ((parameters["x"] - batch) ** 2).sum())(state.parameters)
        state, norm = apply_gradients(state, gradients, optimizer)
        return state, {"norm": norm}

    jitted = Update(update)
    state = init_train_state({"x": jnp.ones((4, 4))}, optimizer)
    for _ in range(3):
        old = state
        state, _ = jitted(state, jnp.zeros((4, 4)))
        assert all(leaf.is_deleted() for leaf in jax.tree.leaves(old))
    assert len(traces) == 1 and int(state.step) == 3


@pytest.mark.slow
def test_a_value_model_starts_from_the_policy(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    config = dataclasses.replace(tiny_model, scalar_head=True, vocabulary_head=False)
    fresh = jax.jit(lambda key: init_parameters(config, key))(jax.random.key(1))
    value = value_parameters(tiny_parameters, fresh)
    assert set(value) == set(fresh)
    assert "vocabulary_head" not in value and (np.asarray(value["scalar_head"]["kernel"]) == 0).all()
    jax.tree.map(np.testing.assert_array_equal, value["decoder"], tiny_parameters["decoder"])
    assert optax.global_norm(value["vision"]) == optax.global_norm(tiny_parameters["vision"])
    donated = value["embed"]["embedding"]
    donated.delete()
    assert not tiny_parameters["embed"]["embedding"].is_deleted()
