"""Grouped products for Hopper: what is made of jax's kernels, and that they lower; on a GPU, that they are right."""

import functools
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas.ops.gpu import ragged_dot_mgpu, transposed_ragged_dot_mgpu

from tars_jax import InputError
from tars_jax.model.execution import Execution
from tars_jax.model.expert_groups import ExpertWeights
from tars_jax.model.experts import all_experts
from tars_jax.model.grouped import grouped_experts
from tars_jax.model.hopper import hopper_dot, tile_sizes

R, E, D, F = 96, 4, 256, 128
SIZES = (30, 0, 41, 17)  # 8 rows belong to nobody


def arrays() -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    rows, kernels, probe = (
        jax.random.normal(jax.random.key(seed), shape, jnp.bfloat16)
        for seed, shape in enumerate(((R, D), (E, D, F), (R, F)))
    )
    return rows, kernels, jnp.asarray(SIZES, jnp.int32), probe


def gradients(dot: Any, rows: jax.Array, kernels: jax.Array, sizes: jax.Array, probe: jax.Array) -> Any:
    def total(rows: jax.Array, kernels: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = dot(rows, kernels, sizes)
        return (y.astype(jnp.float32) * probe).sum(), y

    return jax.grad(total, argnums=(0, 1), has_aux=True)(rows, kernels)


def as_documented(lhs: jax.Array, rhs: jax.Array, *, group_sizes: jax.Array, **settings: Any) -> jax.Array:
    """jax's kernel for products; it leaves rows of nobody as they were in memory."""
    assert lhs.shape[1] % settings["block_k"] == 0
    rhs = jnp.swapaxes(rhs, 1, 2) if settings["transpose_rhs"] else rhs
    y = jax.lax.ragged_dot(lhs, rhs, group_sizes)
    return jnp.where((jnp.arange(lhs.shape[0]) < group_sizes.sum())[:, None], y, jnp.nan)


def as_documented_for_kernels(lhs: jax.Array, rhs: jax.Array, *, group_sizes: jax.Array, **settings: Any) -> jax.Array:
    """jax's kernel for gradients of kernels: a last tile masks one side only, as the other's numbers are real."""
    assert lhs.shape[1] % settings["block_m"] == 0 and rhs.shape[1] % settings["block_n"] == 0
    owner = jnp.repeat(jnp.arange(E + 1), jnp.append(group_sizes, R - group_sizes.sum()), total_repeat_length=R)
    return jnp.einsum("RD,RF,RE->EDF", lhs, rhs, jax.nn.one_hot(owner, E, dtype=lhs.dtype))


def by_hand(rows: jax.Array, kernels: jax.Array, sizes: jax.Array, probe: jax.Array) -> Any:
    """The same in float32, each expert on its own rows, as far as they reach."""
    left, right, above = (np.asarray(each, np.float32) for each in (rows, kernels, probe))
    y, of_rows, of_kernels, start = np.zeros((R, F)), np.zeros((R, D)), np.zeros((E, D, F)), 0
    for expert, size in enumerate(np.asarray(sizes).tolist()):
        own = slice(start, start + size)
        y[own] = left[own] @ right[expert]
        of_rows[own] = above[own] @ right[expert].T
        of_kernels[expert] = left[own].T @ above[own]
        start += size
    return (of_rows[:start], of_kernels), y[:start]


def require_equal(got: Any, exact: Any) -> None:
    """To the precision of bfloat16, where rows belong to an expert."""
    for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(exact), strict=True):
        mine = np.asarray(mine, np.float32)[: len(theirs)]
        assert np.linalg.norm(mine - theirs) < 0.01 * np.linalg.norm(theirs)


def test_as_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragged_dot_mgpu, "ragged_dot", as_documented)
    monkeypatch.setattr(transposed_ragged_dot_mgpu, "transposed_ragged_dot", as_documented_for_kernels)
    require_equal(gradients(hopper_dot, *arrays()), by_hand(*arrays()))


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.first(1)
def test_what_kernels_leave_behind_the_last_run_gets_nowhere(monkeypatch: pytest.MonkeyPatch, sparse: bool) -> None:
    """A fifth of the assignments is nobody's. Kernels that leave NaN there give what all experts on all tokens do."""
    monkeypatch.setattr(ragged_dot_mgpu, "ragged_dot", as_documented)
    monkeypatch.setattr(transposed_ragged_dot_mgpu, "transposed_ragged_dot", as_documented_for_kernels)
    keys = iter(jax.random.split(jax.random.key(0), 7))
    x, probe = (jax.random.normal(next(keys), (R // 2, D), jnp.bfloat16) for _ in range(2))
    shapes = ((E, D, F), (E, D, F), (E, F, D))
    weights = ExpertWeights(*(jax.random.normal(next(keys), shape, jnp.bfloat16) / 16 for shape in shapes))
    gates = jax.nn.softmax(jax.random.normal(next(keys), (R // 2, 2))).astype(jnp.bfloat16)
    chosen = jax.random.randint(next(keys), (R // 2, 2), 0, E + 1)

    def with_gradients(experts: Any) -> Any:
        def total(x: jax.Array, gates: jax.Array, weights: ExpertWeights) -> tuple[jax.Array, jax.Array]:
            y = experts(x, gates, chosen, weights)
            return (y.astype(jnp.float32) * probe).sum(), y

        return jax.grad(total, argnums=(0, 1, 2), has_aux=True)(x, gates, weights)

    got = with_gradients(functools.partial(grouped_experts, backend="hopper", sparse=sparse))
    expected = with_gradients(all_experts)
    for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        mine, theirs = (np.asarray(each, np.float32) for each in (mine, theirs))
        assert np.linalg.norm(mine - theirs) < 0.02 * np.linalg.norm(theirs)
    nobody = np.asarray(chosen) == E
    assert nobody.any() and not np.asarray(got[0][1], np.float32)[nobody].any()


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="no GPU")
def test_on_a_gpu() -> None:
    require_equal(jax.jit(lambda *given: gradients(hopper_dot, *given))(*arrays()), by_hand(*arrays()))


@pytest.mark.parametrize(
    ("outer", "side", "steps", "neighbors"), [(768, 192, 4, 2), (2048, 128, 5, 2), (128, 128, 5, 1), (384, 192, 4, 2)]
)
def test_tiles_divide_what_they_cover(outer: int, side: int, steps: int, neighbors: int) -> None:
    tiles = tile_sizes(outer)
    assert (tiles["block_n"], tiles["max_concurrent_steps"], tiles["grid_block_n"]) == (side, steps, neighbors)
    shared = steps * 64 * (128 + side) * 2 + 128 * side * 2
    assert shared <= 227 * 1024 and outer % (side * neighbors) == 0


def test_it_lowers_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three products: of rows, and going back of rows and of kernels."""
    device = types.SimpleNamespace(core_count=132)
    here = types.SimpleNamespace(
        **{name: getattr(jax, name) for name in ("ShapeDtypeStruct", "lax")}, devices=lambda: [device]
    )
    monkeypatch.setattr(transposed_ragged_dot_mgpu, "jax", here)
    traced = jax.jit(lambda *given: gradients(hopper_dot, *given)).trace(*arrays())
    assert traced.lower(lowering_platforms=("cuda",)).as_text().count("@mosaic_gpu_v2") == 3


def test_what_the_kernels_do_not_take() -> None:
    rows, kernels, sizes, _ = arrays()
    with pytest.raises(InputError, match="hopper model.dtype must be bfloat16, and widths multiples of 128; got f"):
        hopper_dot(rows.astype(jnp.float32), kernels.astype(jnp.float32), sizes)
    with pytest.raises(InputError, match="got bfloat16 and 256x96"):
        hopper_dot(rows, kernels[..., :96], sizes)


@pytest.mark.parametrize(
    ("capability", "dtype", "width", "expected"),
    [
        ("9.0", "bfloat16", 768, "hopper"),
        ("9.0", "float32", 768, "buckets"),
        ("9.0", "bfloat16", 96, "buckets"),
        ("10.0", "bfloat16", 768, "buckets"),
    ],
)
def test_auto_takes_it_where_it_fits(
    monkeypatch: pytest.MonkeyPatch, capability: str, dtype: str, width: int, expected: str
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "devices", lambda: [types.SimpleNamespace(compute_capability=capability)])
    assert Execution().experts_backend(dtype, 2048, width) == expected
    assert Execution(experts="ragged").experts_backend(dtype, 2048, width) == "ragged"
