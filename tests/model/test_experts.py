"""Every way to compute the experts is the same function, and the router counts what is real."""

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.bucketed import bucket_sizes, bucketed_experts
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.expert_groups import ExpertWeights, group_by_expert
from tars_jax.model.experts import FEW_TOKENS, Experts, all_experts
from tars_jax.model.ragged import RaggedDot, megablox_dot, ragged_experts, tokamax_dot

G, D, F, E, K = 40, 6, 5, 4, 2


def random_weights(key: jax.Array) -> ExpertWeights:
    gate, up, down = jax.random.split(key, 3)
    return ExpertWeights(
        jax.random.normal(gate, (E, D, F)), jax.random.normal(up, (E, D, F)), jax.random.normal(down, (E, F, D))
    )


def routing(kind: str) -> np.ndarray:
    """[G, K] distinct experts for each token; E is none."""
    if kind == "one expert takes all first choices":
        return np.tile([3, 0], (G, 1))
    if kind == "in blocks":
        return np.stack([np.arange(G) * E // G, (np.arange(G) * E // G + 1) % E], axis=1)
    rng = np.random.default_rng(0)
    random = np.stack([rng.permutation(E)[:K] for _ in range(G)])
    return np.where(np.arange(G)[:, None] % 2, random, E) if kind == "half is padding" else random


WAYS: dict[str, Callable[..., jax.Array]] = {
    "buckets of 1": functools.partial(bucketed_experts, buckets=(1,)),
    "buckets of 8 and 3": functools.partial(bucketed_experts, buckets=(8, 3)),
    "a bucket for all": functools.partial(bucketed_experts, buckets=(64,)),
    "ragged products": functools.partial(ragged_experts, dot=jax.lax.ragged_dot),
    "megablox, interpreted": functools.partial(ragged_experts, dot=functools.partial(megablox_dot, interpret=True)),
    "tokamax, without a GPU": lambda x, gates, runs, weights: ragged_experts(x, gates, runs, weights, tokamax_dot()),
}


@functools.cache
def values_and_gradients(way: str) -> Any:
    """Compiled: x, gates, chosen, weights and y's gradient to y and the gradients for x, gates and all kernels."""

    def run(x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: ExpertWeights, probe: jax.Array) -> Any:
        def layer(x: jax.Array, gates: jax.Array, weights: ExpertWeights) -> jax.Array:
            if way == "all experts":
                return all_experts(x, gates, chosen, weights)
            return WAYS[way](x, gates, group_by_expert(chosen, E), weights)

        y, pull = jax.vjp(layer, x, gates, weights)
        return y, pull(probe)

    return jax.jit(run)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind",
    [
        "random",
        "one expert takes all first choices",
        pytest.param("in blocks", marks=pytest.mark.full),
        "half is padding",
    ],
)
def test_each_way_is_all_experts(kind: str, way: str) -> None:
    """Of the kinds, one leaves experts without a row and one leaves rows without an expert."""
    if way.startswith("tokamax"):
        pytest.importorskip("tokamax")
    x, gates = jax.random.normal(jax.random.key(1), (G, D)), jax.random.uniform(jax.random.key(2), (G, K))
    weights, probe = random_weights(jax.random.key(3)), jax.random.normal(jax.random.key(4), (G, D))
    inputs = x, gates, jnp.asarray(routing(kind)), weights, probe
    got, expected = values_and_gradients(way)(*inputs), values_and_gradients("all experts")(*inputs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-3, rtol=1e-4), got, expected)


def test_megablox_blocks_need_not_divide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, inner and outer dimension are no multiples of a block; runs begin and end within one."""
    num_rows = 42
    monkeypatch.setattr("tars_jax.model.ragged.MEGABLOX_ROWS", 16)
    monkeypatch.setattr("tars_jax.model.ragged.MEGABLOX_BLOCK", 8)
    rows, kernels = (
        jax.random.normal(jax.random.key(0), (num_rows, 12)),
        jax.random.normal(jax.random.key(1), (3, 12, 20)),
    )
    sizes, real = jnp.asarray([17, 0, 19]), (jnp.arange(num_rows) < 36)[:, None]

    @functools.partial(jax.jit, static_argnums=0)
    def values_and_gradients(dot: RaggedDot) -> Any:
        y, pull = jax.vjp(lambda rows, kernels: dot(rows, kernels, sizes), jnp.where(real, rows, 0), kernels)
        drows, dkernels = pull(jnp.where(real, jnp.sin(jnp.arange(20.0)), 0))
        return jnp.where(real, y, 0), jnp.where(real, drows, 0), dkernels

    interpreted = functools.partial(megablox_dot, interpret=True)
    got, expected = values_and_gradients(interpreted), values_and_gradients(jax.lax.ragged_dot)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), got, expected)


def test_runs_by_hand() -> None:
    """Expert 1 has assignments 1, 2 and 5, expert 0 has 0 and 3; 4 is nobody's."""
    runs = group_by_expert(jnp.asarray([[0, 1], [1, 0], [2, 1]]), 2)
    assert runs.order.tolist() == [0, 3, 1, 2, 5, 4] and runs.sizes.tolist() == [2, 3]
    assert [bucket_sizes(load) for load in (0, 100, 1000, 10**6)] == [(16,), (64, 16), (512, 128, 32), (512,)]


def test_work_follows_the_routing(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 assignments of one expert are a bucket of 32 and one of 16, or three of 16; nobody's assignments are none."""
    seen: list[int] = []
    monkeypatch.setattr(
        "tars_jax.model.bucketed.swiglu", lambda a, b: jax.debug.callback(lambda: seen.append(1)) or jax.nn.silu(a) * b
    )
    x, gates, weights = jnp.ones((G, D)), jnp.ones((G, 1)), random_weights(jax.random.key(3))
    for sizes, expert, buckets in (((32, 16), 2, 2), ((16,), 2, 3), ((32, 16), E, 0)):
        layer = jax.jit(
            lambda chosen, sizes=sizes: bucketed_experts(x, gates, group_by_expert(chosen, E), weights, sizes)
        )
        jax.block_until_ready(layer(jnp.full((G, 1), expert)))
        jax.effects_barrier()
        assert len(seen) == buckets
        seen.clear()


def test_all_experts_by_hand() -> None:
    """One token, two experts: y = sum of gate_k * down(silu(gate x) * up x)."""
    weights = ExpertWeights(
        jnp.asarray([[[1.0]], [[2.0]]]), jnp.asarray([[[3.0]], [[1.0]]]), jnp.asarray([[[1.0]], [[0.5]]])
    )
    y = all_experts(jnp.asarray([[1.0]]), jnp.asarray([[0.75, 0.25]]), jnp.asarray([[1, 0]]), weights)
    # Expert 0: silu(1) * 3 = 2.193176; expert 1: silu(2) * 1 * 0.5 = 0.880797; 0.75 * 0.880797 + 0.25 * 2.193176.
    np.testing.assert_allclose(y, [[1.2088918]], rtol=1e-6)


@pytest.fixture(scope="module")
def layer(tiny_model: ModelConfig) -> Any:
    """The jitted layer with random weights: (x, valid) to (y, statistics)."""
    module = Experts(tiny_model)
    init = jax.jit(module.init)
    variables = init(jax.random.key(0), jnp.zeros((1, 2, tiny_model.width)), jnp.ones((1, 2), bool))
    return jax.jit(lambda x, valid: module.apply(variables, x, valid))


def test_few_and_many_tokens_give_the_same(layer: Any, tiny_model: ModelConfig) -> None:
    """Decoding goes through all experts, training through buckets: a row does not feel which."""
    x = jax.random.normal(jax.random.key(5), (4, FEW_TOKENS // 2, tiny_model.width))
    many, few = (layer(rows, jnp.ones(rows.shape[:2], bool))[0] for rows in (x, x[:1]))
    np.testing.assert_allclose(many[:1], few, atol=1e-5)


@pytest.mark.parametrize("name", ["buckets", "ragged"])
def test_backends_of_the_layer_agree(layer: Any, tiny_model: ModelConfig, name: str) -> None:
    x = jax.random.normal(jax.random.key(5), (4, FEW_TOKENS // 2, tiny_model.width))
    valid = jnp.arange(x.shape[1])[None] < jnp.asarray([[0], [9], [20], [32]])
    other = Experts(dataclasses.replace(tiny_model, execution=Execution(experts=name)))
    variables = jax.jit(other.init)(jax.random.key(0), x[:1, :2], valid[:1, :2])
    y, _ = jax.jit(other.apply)(variables, x, valid)
    few, _ = layer(x[2:3], valid[2:3])
    np.testing.assert_allclose(y[2:3], few, atol=1e-5)
    assert not np.asarray(y)[~np.asarray(valid)].any() and np.asarray(y)[np.asarray(valid)].all(axis=-1).any()


def test_a_backend_whose_package_is_missing(tiny_model: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokamax", None)
    module = Experts(dataclasses.replace(tiny_model, execution=Execution(experts="tokamax")))
    with pytest.raises(InputError, match=r"execution.experts: 'tokamax' needs .*pip install 'tars_jax\[gpu\]'"):
        module.init(jax.random.key(0), jnp.zeros((1, 300, tiny_model.width)), jnp.ones((1, 300), bool))


def test_padding_does_not_count(layer: Any, tiny_model: ModelConfig) -> None:
    x = jax.random.normal(jax.random.key(6), (2, 8, tiny_model.width))
    valid = jnp.arange(16).reshape(2, 8) % 3 > 0
    _, statistics = layer(x, valid)
    _, other = layer(jnp.where(valid[..., None], x, 9.0), valid)
    np.testing.assert_allclose(statistics.load, other.load)
    np.testing.assert_allclose(statistics.balance_loss, other.balance_loss, rtol=1e-6)
    np.testing.assert_allclose(statistics.load.sum(), 1.0, rtol=1e-6)
    assert statistics.load.max() <= 1 / tiny_model.experts_per_token  # the choices of a token are distinct


def test_balance_loss_is_one_when_even(tiny_model: ModelConfig) -> None:
    """Token e prefers expert e by the same margin as every other token its own: load and probabilities are 1/E."""
    model = dataclasses.replace(tiny_model, experts_per_token=1)
    module = Experts(model)
    x, valid = jnp.eye(model.experts, model.width)[None], jnp.ones((1, model.experts), bool)
    variables: Any = jax.jit(module.init)(jax.random.key(0), x, valid)
    variables["params"]["router"] = 3 * jnp.eye(model.width, model.experts)
    apply: Any = jax.jit(lambda x: module.apply(variables, x, valid))
    _, statistics = apply(x)
    np.testing.assert_allclose(statistics.load, [0.25] * 4)
    np.testing.assert_allclose(statistics.balance_loss, 1.0, rtol=1e-6)

    _, collapsed = apply(jnp.broadcast_to(x[:, :1], x.shape))
    np.testing.assert_allclose(collapsed.load, [1, 0, 0, 0])
    np.testing.assert_allclose(collapsed.balance_loss, 4 * np.exp(3) / (np.exp(3) + 3), rtol=1e-5)


def test_nothing_valid_is_no_division_by_zero(layer: Any, tiny_model: ModelConfig) -> None:
    y, statistics = layer(jnp.ones((1, 3, tiny_model.width)), jnp.zeros((1, 3), bool))
    assert np.isfinite(y).all() and float(statistics.balance_loss) == 0 and (statistics.load == 0).all()


def test_routes_are_followed(layer: Any, tiny_model: ModelConfig) -> None:
    """Its own routes change nothing; other routes change the experts and leave the gates the router's own."""
    x, valid = jax.random.normal(jax.random.key(8), (2, 5, tiny_model.width)), jnp.ones((2, 5), bool)
    variables = jax.jit(Experts(tiny_model).init)(jax.random.key(0), x, valid)
    follow = jax.jit(lambda routes: Experts(tiny_model).apply(variables, x, valid, routes))
    y, statistics = layer(x, valid)
    again, _ = follow(statistics.routes)
    np.testing.assert_allclose(again, y, atol=1e-5)

    others = (statistics.routes + 1) % tiny_model.experts
    y, followed = follow(others)
    np.testing.assert_array_equal(followed.routes, others)
    params = variables["params"]
    rows, chosen = x.reshape(10, -1), np.asarray(others, np.int32).reshape(10, -1)
    gates = np.take_along_axis(np.asarray(jax.nn.softmax(rows @ params["router"])), chosen, axis=-1)
    gates /= gates.sum(-1, keepdims=True)
    weights = ExpertWeights(params["gate"], params["up"], params["down"])
    np.testing.assert_allclose(
        y.reshape(10, -1), all_experts(rows, jnp.asarray(gates), jnp.asarray(chosen), weights), atol=1e-5
    )

    y, mixed = follow(others.at[:, 2:].set(-1))
    np.testing.assert_array_equal(mixed.routes[:, :2], others[:, :2])
    np.testing.assert_array_equal(mixed.routes[:, 2:], statistics.routes[:, 2:])
