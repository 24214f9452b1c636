"""Parameters, optimiser and the jitted update. Shardings over several devices: tests/model/test_sharding.py."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.training.state import (
    OptimiserConfig,
    TrainState,
    apply_gradients,
    fresh_parameters,
    jit_update,
    make_optimiser,
    start,
    value_parameters,
)


def test_start_copies_the_parameters(tiny_parameters: Parameters) -> None:
    state = start(tiny_parameters, make_optimiser(OptimiserConfig(1e-3)))
    for mine, theirs in zip(jax.tree.leaves(tiny_parameters), jax.tree.leaves(state.parameters), strict=True):
        assert mine.unsafe_buffer_pointer() != theirs.unsafe_buffer_pointer()
        np.testing.assert_array_equal(mine, theirs)
    assert int(state.step) == 0


def test_fresh_parameters_are_those_of_init(tiny_model: ModelConfig) -> None:
    mesh = make_mesh({}, jax.devices()[:1])
    fresh = fresh_parameters(tiny_model, jax.random.key(7), mesh)
    expected = jax.jit(lambda key: init_parameters(tiny_model, key))(jax.random.key(7))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), fresh, expected)


def rates(config: OptimiserConfig, updates: int) -> list[float]:
    """The learning rate of each update, read off Adam's first steps on a constant gradient of one number."""
    optimiser = make_optimiser(config)
    parameters: Any = {"x": jnp.zeros(())}
    state, seen = optimiser.init(parameters), []
    for _ in range(updates):
        change, state = optimiser.update({"x": jnp.ones(())}, state, parameters)
        seen.append(-float(change["x"]))
    return seen


def test_warmup_rises_to_the_rate_and_wastes_no_update() -> None:
    np.testing.assert_allclose(rates(OptimiserConfig(0.4, warmup=3), 5), [0.1, 0.2, 0.3, 0.4, 0.4], rtol=1e-4)
    np.testing.assert_allclose(rates(OptimiserConfig(0.4, warmup=0), 2), [0.4, 0.4], rtol=1e-4)


def test_decay_ends_at_a_twentieth() -> None:
    seen = rates(OptimiserConfig(0.4, warmup=1, decay=5), 7)
    # Half a cosine over four updates: at its middle halfway between 0.4 and 0.02.
    np.testing.assert_allclose([seen[0], seen[1], seen[3], *seen[5:]], [0.2, 0.4, 0.21, 0.02, 0.02], rtol=1e-4)
    with pytest.raises(InputError, match="optimiser.decay got 10; it takes 0 or more than the 10 of warmup"):
        OptimiserConfig(0.4, warmup=10, decay=10)


def test_only_matrices_decay_and_large_gradients_are_clipped() -> None:
    config = OptimiserConfig(0.1, warmup=0, weight_decay=0.5, clip_norm=1.0)
    optimiser = make_optimiser(config)
    state = start({"matrix": jnp.ones((2, 2)), "vector": jnp.ones(2)}, optimiser)
    still = jax.tree.map(jnp.zeros_like, state.parameters)
    moved, norm = apply_gradients(state, still, optimiser)
    np.testing.assert_allclose(moved.parameters["matrix"], np.full((2, 2), 0.95), rtol=1e-6)  # 1 - 0.1 * 0.5
    np.testing.assert_allclose(moved.parameters["vector"], np.ones(2))
    assert float(norm) == 0 and int(moved.step) == 1

    _, norm = apply_gradients(state, jax.tree.map(lambda leaf: jnp.full_like(leaf, 100.0), state.parameters), optimiser)
    np.testing.assert_allclose(float(norm), 100 * np.sqrt(6), rtol=1e-6)  # reported as it was before clipping


def test_updates_are_traced_once_and_donate_the_state() -> None:
    optimiser = make_optimiser(OptimiserConfig(0.1))
    traces = []

    def update(state: TrainState, batch: jax.Array) -> tuple[TrainState, dict[str, jax.Array]]:
        traces.append(1)
        gradients = jax.grad(lambda parameters: ((parameters["x"] - batch) ** 2).sum())(state.parameters)
        state, norm = apply_gradients(state, gradients, optimiser)
        return state, {"norm": norm}

    jitted = jit_update(update)
    state = start({"x": jnp.ones((4, 4))}, optimiser)
    for _ in range(3):
        old = state
        state, _ = jitted(state, jnp.zeros((4, 4)))
        assert all(leaf.is_deleted() for leaf in jax.tree.leaves(old))
    assert len(traces) == 1 and int(state.step) == 3


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
