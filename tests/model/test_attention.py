"""Every backend attends to the same."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import tpu as pltpu

from tars_jax import InputError
from tars_jax.model.attention import attend, within_segments
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import REMAT, Execution
from tars_jax.model.policy import Inputs, Parameters, forward

B, T, N, K, H = 1, 384, 2, 1, 8


def test_dense_by_hand() -> None:
    """Equal keys: each token takes the mean of the values that it sees. Segments 1 1 2 2, values 1 3 5 9."""
    values = jnp.asarray([1.0, 3.0, 5.0, 9.0]).reshape(1, 4, 1, 1)
    zeros = jnp.zeros((1, 4, 1, 1))
    y = attend(zeros, zeros, values, within_segments(jnp.asarray([[1, 1, 2, 2]]), "dense"), "dense")
    np.testing.assert_allclose(y.ravel(), [1, 2, 5, 7], rtol=1e-6)


def test_splash_is_dense() -> None:
    """Interpreted: the TPU's kernel in blocks of 128, its gradients too."""
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = ((B, T, N, H), (B, T, K, H), (B, T, K, H), (B, T, N, H))
    q, k, v, probe = (jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True))
    segments = jnp.asarray((np.arange(T) // 100 + 1)[None], jnp.int32)

    def run(backend: str) -> Any:
        def total(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            return (attend(q, k, v, within_segments(segments, backend), backend) * probe).sum()

        return jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2)))(q, k, v)

    with pltpu.force_tpu_interpret_mode():
        got = run("splash")
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), got, run("dense"))


def test_what_a_backend_cannot() -> None:
    q = jnp.zeros((1, 100, 2, 8))
    segments = jnp.ones((1, 100), jnp.int32)
    with pytest.raises(InputError, match="'splash' takes rows of a multiple of 128, got 100"):
        attend(q, q, q, within_segments(segments, "splash"), "splash")
    with pytest.raises(InputError, match="'cudnn' takes model.dtype bfloat16, got float32"):
        attend(q, q, q, within_segments(segments, "cudnn"), "cudnn")


@pytest.mark.parametrize(
    ("field", "value"), [("remat", "some"), ("attention", "flash"), ("experts", "dense"), ("capacity", 0.0)]
)
def test_impossible_executions(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"execution.{field} "):
        Execution(**{field: value})


def test_remat_policies_change_memory_and_not_numbers(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """Gradients are equal, and what the layers keep for the way back is as the policy's name says."""
    rows, length = 3, 50  # too many tokens to go through all experts
    zeros = np.zeros((rows, length), np.int32)
    positions = np.broadcast_to(np.arange(length, dtype=np.int32), (3, rows, length))
    inputs = Inputs(zeros + 7, positions, zeros + 1, np.zeros((rows, 0, 1, 1, 3), np.uint8), zeros - 1)

    def loss(model: ModelConfig, parameters: Parameters) -> jax.Array:
        return jnp.square(forward(model, parameters, inputs).hidden).sum() * 1e-2

    def saved(model: ModelConfig) -> int:
        """Numbers that the scan over layers hands to the way back."""
        closed = jax.make_jaxpr(lambda parameters: jax.vjp(lambda p: loss(model, p), parameters))(tiny_parameters)
        (scan,) = (eqn for eqn in closed.eqns if eqn.primitive.name == "scan")
        return sum(out.aval.size for out in scan.outvars)

    sizes, expected = {}, jax.jit(jax.grad(lambda p: loss(tiny_model, p)))(tiny_parameters)
    for name in REMAT:
        model = dataclasses.replace(tiny_model, execution=Execution(remat=name))
        sizes[name] = saved(model)
        if name in ("full", "outputs"):
            got = jax.jit(jax.grad(lambda p, model=model: loss(model, p)))(tiny_parameters)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), got, expected)
    activations = tiny_model.depth * rows * length * tiny_model.width
    assert sizes["attention"] - sizes["full"] == activations  # N * H is the width here
    assert sizes["experts"] - sizes["full"] == activations * tiny_model.experts_per_token
    assert sizes["outputs"] - sizes["full"] == activations * (1 + tiny_model.experts_per_token)
    assert sizes["full"] < sizes["outputs"] < sizes["products"] < sizes["none"]
