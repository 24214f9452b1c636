"""Learning rates, decay and clipping of both algorithms, and which parameters Muon moves."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.policy import Parameters
from tars_jax.training.config import ALGORITHMS, OptimizerConfig
from tars_jax.training.optimizers import make_optimizer, only_value_head, without_vision
from tars_jax.training.state import apply_gradients, init_train_state


def rates(config: OptimizerConfig, updates: int) -> list[float]:
    """The learning rate of each update, read off Adam's first steps on a constant gradient of one number."""
    optimizer = make_optimizer(config)
    parameters: Any = {"x": jnp.zeros(())}
    state, seen = optimizer.init(parameters), []
    for _ in range(updates):
        change, state = optimizer.update({"x": jnp.ones(())}, state, parameters)
        seen.append(-float(change["x"]))
    return seen


def test_warmup_rises_to_the_rate_and_wastes_no_update() -> None:
    np.testing.assert_allclose(rates(OptimizerConfig(0.4, warmup=3), 5), [0.1, 0.2, 0.3, 0.4, 0.4], rtol=1e-4)
    np.testing.assert_allclose(rates(OptimizerConfig(0.4, warmup=0), 2), [0.4, 0.4], rtol=1e-4)


def test_decay_ends_at_a_twentieth() -> None:
    seen = rates(OptimizerConfig(0.4, warmup=1, decay=5), 7)
    # Half a cosine over four updates: at its middle halfway between 0.4 and 0.02.
    np.testing.assert_allclose([seen[0], seen[1], seen[3], *seen[5:]], [0.2, 0.4, 0.21, 0.02, 0.02], rtol=1e-4)
    with pytest.raises(InputError, match="optimizer.decay must be 0, or more than the 10 updates of warmup; got 10"):
        OptimizerConfig(0.4, warmup=10, decay=10)


def test_only_matrices_decay_and_large_gradients_are_clipped() -> None:
    config = OptimizerConfig(0.1, warmup=0, weight_decay=0.5, clip_norm=1.0)
    optimizer = make_optimizer(config)
    state = init_train_state({"matrix": jnp.ones((2, 2)), "vector": jnp.ones(2)}, optimizer)
    still = jax.tree.map(jnp.zeros_like, state.parameters)
    moved, norm = apply_gradients(state, still, optimizer)
    np.testing.assert_allclose(moved.parameters["matrix"], np.full((2, 2), 0.95), rtol=1e-6)  # 1 - 0.1 * 0.5
    np.testing.assert_allclose(moved.parameters["vector"], np.ones(2))
    assert float(norm) == 0 and int(moved.step) == 1

    _, norm = apply_gradients(state, jax.tree.map(lambda leaf: jnp.full_like(leaf, 100.0), state.parameters), optimizer)
    np.testing.assert_allclose(float(norm), 100 * np.sqrt(6), rtol=1e-6)  # reported as it was before clipping


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_frozen_has_no_moments_and_no_part_in_the_clipped_norm(algorithm: str) -> None:
    """A value head alone, of gradient 0.5, beside a trunk of gradient 1000: it moves as if it were all there is."""
    optimizer = make_optimizer(OptimizerConfig(0.1, algorithm, warmup=0))
    parameters: Any = {"decoder": {"kernel": jnp.ones((100, 10))}, "scalar_head": jnp.ones(3)}
    gradients = {"decoder": {"kernel": jnp.full((100, 10), 1e3)}, "scalar_head": jnp.full(3, 0.5)}
    frozen = only_value_head(optimizer)
    state = frozen.init(parameters)
    assert sum(leaf.size for leaf in jax.tree.leaves(state)) < 20
    change, _ = frozen.update(gradients, state, parameters)
    head = {"scalar_head": gradients["scalar_head"]}
    alone, _ = optimizer.update(head, optimizer.init({"scalar_head": jnp.ones(3)}), {"scalar_head": jnp.ones(3)})
    np.testing.assert_array_equal(change["scalar_head"], alone["scalar_head"])
    assert not change["decoder"]["kernel"].any()

    vision: Any = {"vision": parameters["decoder"], "scalar_head": parameters["scalar_head"]}
    state = without_vision(optimizer).init(vision)
    change, _ = without_vision(optimizer).update({"vision": gradients["decoder"], **head}, state, vision)
    assert not change["vision"]["kernel"].any() and change["scalar_head"].all()


def test_muon_makes_singular_values_equal_and_its_rate_is_the_size_of_an_entry() -> None:
    """A gradient of rank 2 with singular values 30 and 1: the update's are nearly equal; entries have size 0.1."""
    left, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))
    gradient = {"vision": {"kernel": jnp.asarray(left @ np.diag([30.0, 1, 1, 1, 1, 1]), jnp.float32)}}
    optimizer = make_optimizer(OptimizerConfig(0.1, algorithm="muon", warmup=0, clip_norm=1e9))
    state = init_train_state(jax.tree.map(jnp.zeros_like, gradient), optimizer)
    moved, _ = apply_gradients(state, gradient, optimizer)
    update = np.asarray(moved.parameters["vision"]["kernel"])
    values = np.linalg.svd(update, compute_uv=False)
    assert values.max() / values.min() < 2  # five Newton-Schulz steps leave singular values between .7 and 1.2
    np.testing.assert_allclose(np.sqrt((update**2).mean()), 0.1, rtol=0.2)
    assert (np.einsum("IO,IO->", update, np.asarray(gradient["vision"]["kernel"])) < 0).all()


@pytest.mark.slow
def test_muon_moves_the_matrices_of_the_trunk_and_adamw_the_rest(tiny_parameters: Parameters) -> None:
    """AdamW's first update is the sign of the gradient, up to a factor: all of its entries have one size."""
    optimizer = make_optimizer(OptimizerConfig(0.1, algorithm="muon", warmup=0, clip_norm=1e9))
    rng = np.random.default_rng(1)
    gradients = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), jnp.float32), tiny_parameters)
    state = init_train_state(jax.tree.map(jnp.zeros_like, tiny_parameters), optimizer)
    moved, _ = jax.jit(lambda state, gradients: apply_gradients(state, gradients, optimizer))(state, gradients)
    signed = {
        "/".join(key.key for key in path)
        for path, leaf in jax.tree_util.tree_leaves_with_path(moved.parameters)
        if np.ptp(np.abs(leaf)) < 1e-3
    }
    everything = {"/".join(key.key for key in path) for path, _ in jax.tree_util.tree_leaves_with_path(tiny_parameters)}
    by_muon = everything - signed
    assert {"embed/embedding", "vocabulary_head/kernel", "decoder/layers/experts/router"} <= signed
    assert not any("norm" in name or "bias" in name for name in by_muon)
    assert {f"decoder/layers/experts/{name}" for name in ("gate", "up", "down")} <= by_muon
    assert {f"decoder/layers/attention/{name}/kernel" for name in ("query", "key", "value", "out")} <= by_muon
    assert any(name.startswith("vision/block_0") for name in by_muon)
