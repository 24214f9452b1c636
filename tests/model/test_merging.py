"""Merging in memory: equation 5 by hand, weights and trees that cannot be merged."""

from __future__ import annotations

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.model.merging import interpolate, merge_weights
from tars_jax.model.policy import Parameters


def agent(vision: float, expert: float, rest: float) -> dict[str, Any]:
    return {
        "vision": {"position": jnp.full(2, vision, jnp.float32)},
        "decoder": {"experts": {"gate": jnp.full((1, 2), expert, jnp.float32)}, "norm": jnp.full(3, rest, jnp.float32)},
    }


def values(tree: dict[str, Any]) -> tuple[float, ...]:
    decoder = tree["decoder"]
    return tuple(
        float(leaf.ravel()[0]) for leaf in (tree["vision"]["position"], decoder["experts"]["gate"], decoder["norm"])
    )


def test_equation_5_by_hand() -> None:
    agents = [agent(1, 2, 4), agent(3, 6, 8), agent(5, 10, 16)]
    # .5 * 1 + .25 * 3 + .25 * 5 = 2.5; twice that; .5 * 4 + .25 * 8 + .25 * 16 = 8
    assert values(interpolate(agents, (0.5, 0.25, 0.25))) == (2.5, 5, 8)
    assert values(interpolate(agents[:2])) == (2, 4, 6)  # uniform


def test_groups_have_weights_of_their_own() -> None:
    agents = [agent(1, 2, 4), agent(3, 6, 8)]
    groups = {"vision": (1, 0), "experts": (0.25, 0.75)}
    # vision of the first; .25 * 2 + .75 * 6 = 5; .5 * 4 + .5 * 8 = 6
    assert values(interpolate(agents, (0.5, 0.5), groups)) == (1, 5, 6)
    assert values(interpolate(agents, (0.5, 0.5), {"vision": ()})) == (2, 4, 6)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda drawn: sum(drawn) > 0.01), st.randoms())
def test_a_merge_lies_between_its_agents(drawn: list[float], random: Any) -> None:
    weights = [weight / sum(drawn) for weight in drawn]
    leaves = np.array([[random.uniform(-9, 9) for _ in range(4)] for _ in weights], np.float32)
    merged = interpolate([{"w": leaf} for leaf in leaves], weights)["w"]
    np.testing.assert_allclose(merged, np.asarray(weights, np.float64) @ leaves, atol=1e-5)
    assert (merged >= leaves.min(0) - 1e-5).all() and (merged <= leaves.max(0) + 1e-5).all()


def test_the_whole_weight_on_one_agent_is_that_agent() -> None:
    noise = {"w": jax.random.normal(jax.random.key(0), (5,), jnp.bfloat16)}
    broken = {"w": jnp.full((5,), jnp.nan, jnp.bfloat16)}
    merged = interpolate([broken, noise, broken], (0, 1, 0))
    assert merged["w"].dtype == jnp.bfloat16 and (merged["w"] == noise["w"]).all()


def test_sums_are_in_fp32() -> None:
    """1 and 1 + 2^-7 have no bfloat16 between them, but 64 of either weight 1/64 lose nothing on the way."""
    same = {"w": jnp.full((3,), 1 + 2**-7, jnp.bfloat16)}
    assert (interpolate([same] * 64)["w"] == same["w"]).all()


def test_a_policy_merged_with_itself_is_itself(tiny_parameters: Parameters) -> None:
    other = jax.tree.map(jnp.negative, tiny_parameters)
    merged = interpolate([tiny_parameters, tiny_parameters, other], (0.5, 0.5, 0))
    chex.assert_trees_all_equal(merged, tiny_parameters)


@pytest.mark.parametrize(
    ("weights", "groups", "sentence"),
    [
        ((0.5, 0.6), {}, r"weights must sum to 1; got \(0.5, 0.6\), whose sum is 1.1"),
        ((1.5, -0.5), {}, r"weights must be numbers of 0 or more; got \(1.5, -0.5\)"),
        ((float("nan"), 1.0), {}, r"weights must be numbers of 0 or more; got \(nan, 1.0\)"),
        ((1.0,), {}, "weights must be 2 weights, one for each checkpoint; got 1"),
        (("a", "b"), {}, r"weights must be numbers; got \('a', 'b'\)"),
        ((), {"vision": (0.5, 0.4)}, r"groups.vision must sum to 1; got \(0.5, 0.4\), whose sum is 0.9"),
        ((), {"router": (0.5, 0.5)}, "groups must be of vision, experts; got 'router'"),
    ],
)
def test_weights_that_cannot_be_used(weights: Any, groups: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}$"):
        merge_weights(2, weights, groups)


def test_weights_of_numpy() -> None:
    found = merge_weights(2, np.array([0.25, 0.75], np.float32), {"experts": np.array([0.5, 0.5])})
    assert (found.common, found.of("decoder/experts/up")) == ((0.25, 0.75), (0.5, 0.5))


def test_one_agent_is_too_few() -> None:
    with pytest.raises(InputError, match="checkpoints must be two or more; got 1"):
        interpolate([agent(1, 2, 3)])


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"w": jnp.ones(3)}, r"agent 1: cannot be merged: w is float32\[3\], and float32\[2\] in agent 0."),
        (
            {"w": jnp.ones(2, jnp.bfloat16)},
            r"agent 1: cannot be merged: w is bfloat16\[2\], and float32\[2\] in agent 0.",
        ),
        (
            {"v": jnp.ones(2)},
            r"agent 1: cannot be merged: v is float32\[2\], and missing in agent 0; "
            r"w is missing, and float32\[2\] in agent 0.",
        ),
    ],
)
def test_agents_of_other_structure(other: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}$"):
        interpolate([{"w": jnp.ones(2)}, other])


def test_what_has_no_mean() -> None:
    with pytest.raises(InputError, match=r"w must be of floating point .*; got int8\[2\]"):
        interpolate([{"w": jnp.ones(2, jnp.int8)}] * 2)
    with pytest.raises(InputError, match="groups.vision must be left out, as agent 0 has no such parameters"):
        interpolate([{"w": jnp.ones(2)}] * 2, groups={"vision": (0, 1)})
