"""Products with kernels: a gradient written otherwise is the same gradient."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.model.execution import Execution
from tars_jax.model.matmul import dot_general, product

PLAIN, TRANSPOSED = Execution(products="plain"), Execution(products="transposed")


@pytest.mark.parametrize(
    ("inputs", "kernel"),
    [((3, 5, 4), (4, 7)), ((3, 5, 7), (7, 4)), ((3, 5, 4), (4, 2, 3)), ((3, 5, 2, 4), (2, 4, 3)), ((6, 4), (4, 4))],
)
def test_both_gradients_are_those_of_jax(inputs: tuple[int, ...], kernel: tuple[int, ...]) -> None:
    """Narrow to wide, wide to narrow, to heads, from heads; tokens on one axis or two."""
    rng, axes = np.random.default_rng(0), next(n for n in (1, 2) if inputs[-n:] == kernel[:n])
    x, w = (jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in (inputs, kernel))
    dimensions = (tuple(range(len(inputs) - axes, len(inputs))), tuple(range(axes))), ((), ())
    transposed = dot_general(TRANSPOSED)
    assert transposed is not None and dot_general(PLAIN) is None

    def found(function: Any) -> Any:
        return jax.value_and_grad(lambda x, w: jnp.sin(function(x, w, dimensions)).sum(), argnums=(0, 1))(x, w)

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), found(transposed), found(jax.lax.dot_general)
    )


def test_the_narrower_side_is_transposed() -> None:
    """The first operand of the product that makes the kernel's gradient is as wide as the narrower side."""
    for width, features in ((4, 7), (7, 4)):
        x, w = jnp.ones((3, 5, width)), jnp.ones((width, features))
        jaxpr = jax.make_jaxpr(jax.grad(lambda x, w: product(TRANSPOSED, x, w).sum(), argnums=1))(x, w)
        equations: list[Any] = jaxpr.eqns
        first = [eqn.invars[0].aval.shape[-1] for eqn in equations if eqn.primitive.name == "dot_general"]
        assert first[-1] == min(width, features)
