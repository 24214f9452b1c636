"""Kernels that travel to the tokens, on eight devices: in a process of its own, this file run as a script."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.model.expert_groups import ExpertWeights
from tars_jax.model.grouped import grouped_experts
from tars_jax.model.sharding import make_mesh
from tars_jax.model.weight_gather import can_gather, weight_gather_experts

TOKENS, WIDTH, EXPERTS, EXPERT_WIDTH, TOP_K = 64, 8, 8, 16, 2


def layer() -> tuple[jax.Array, jax.Array, jax.Array, ExpertWeights]:
    """Tokens, gates, choices and kernels; the last tokens are padding, which chooses nobody."""
    keys = jax.random.split(jax.random.key(0), 6)
    x = jax.random.normal(keys[0], (TOKENS, WIDTH))
    gates = jax.nn.softmax(jax.random.normal(keys[1], (TOKENS, TOP_K)))
    chosen = jax.lax.top_k(jax.random.normal(keys[2], (TOKENS, EXPERTS)), TOP_K)[1]
    chosen = jnp.where(jnp.arange(TOKENS)[:, None] < 56, chosen, EXPERTS)
    wide = (EXPERTS, WIDTH, EXPERT_WIDTH)
    narrow = (EXPERTS, EXPERT_WIDTH, WIDTH)
    weights = ExpertWeights(
        jax.random.normal(keys[3], wide), jax.random.normal(keys[4], wide), jax.random.normal(keys[5], narrow)
    )
    return x, gates, chosen, weights


def test_one_device_has_nothing_to_gather() -> None:
    x, *_, weights = layer()
    assert not can_gather(x.shape[0], weights)
    with jax.set_mesh(make_mesh({}, jax.devices()[:1])):
        assert not can_gather(x.shape[0], weights)


@pytest.mark.multiprocess
def test_eight_devices_compute_what_one_does(on_eight_devices: Callable[..., list[str]]) -> None:
    assert on_eight_devices(__file__) == ["same"] * 2


def main() -> None:
    x, gates, chosen, weights = layer()
    target = jax.random.normal(jax.random.key(9), x.shape)

    def loss(x: jax.Array, gates: jax.Array, weights: ExpertWeights, on_mesh: bool) -> jax.Array:
        y = (weight_gather_experts if on_mesh else grouped_experts)(x, gates, chosen, weights, "buckets")
        return (y * target).sum()

    gradients = jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2)), static_argnums=3)
    expected = gradients(x, gates, weights, False)
    for shape in ({"fsdp": 2, "expert": 4}, {"data": 2, "fsdp": 2, "tensor": 2}):
        with jax.set_mesh(make_mesh(shape)):
            assert can_gather(TOKENS, weights) and not can_gather(TOKENS - 1, weights)
            found = gradients(x, gates, weights, True)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-3, rtol=1e-4), found, expected)
        print("same")


if __name__ == "__main__":
    main()
