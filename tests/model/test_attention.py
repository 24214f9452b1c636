"""Every backend attends to the same."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.cudnn import fused_attention_stablehlo as fused
from jax.experimental.pallas import tpu as pltpu

from tars_jax import InputError
from tars_jax.model.attention import (
    attend,
    attend_cache,
    find_segment_spans,
    most_windows,
    within_segments,
)
from tars_jax.model.bucketed import bucket_sizes
from tars_jax.model.cache import ORDERS, Order
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import REMAT, Execution
from tars_jax.model.policy import Inputs, Parameters, forward
from tars_jax.model.remat import CUDNN_OUT, POLICIES

B, T, N, K, H = 1, 384, 2, 1, 8


def test_dense_by_hand() -> None:
    """Equal keys: each token takes the mean of the values that it sees. Segments 1 1 2 2, values 1 3 5 9."""
    values = jnp.asarray([1.0, 3.0, 5.0, 9.0]).reshape(1, 4, 1, 1)
    zeros = jnp.zeros((1, 4, 1, 1))
    y = attend(zeros, zeros, values, within_segments(jnp.asarray([[1, 1, 2, 2]]), "dense"))
    np.testing.assert_allclose(y.ravel(), [1, 2, 5, 7], rtol=1e-6)


@pytest.mark.slow
def test_splash_is_dense() -> None:
    """Interpreted: the TPU's kernel in blocks of 128, its gradients too."""
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = ((B, T, N, H), (B, T, K, H), (B, T, K, H), (B, T, N, H))
    q, k, v, probe = (jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True))
    segments = jnp.asarray((np.arange(T) // 100 + 1)[None], jnp.int32)

    def run(backend: str) -> Any:
        def total(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            return (attend(q, k, v, within_segments(segments, backend)) * probe).sum()

        return jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2)))(q, k, v)

    with pltpu.force_tpu_interpret_mode():
        got = run("splash")
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), got, run("dense"))


def test_runs_by_hand() -> None:
    runs = find_segment_spans(jnp.asarray([[1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6]]), 3)
    np.testing.assert_array_equal(runs.starts[:2], [[0, 2, 5, -1], [0, -1, -1, -1]])
    np.testing.assert_array_equal(runs.lengths[:2], [[2, 3, 1], [6, -1, -1]])
    np.testing.assert_array_equal(runs.complete, [True, True, False])


def as_documented(q: jax.Array, k: jax.Array, v: jax.Array, **given: Any) -> jax.Array:
    """What jax says of cuDNN's packed sequences, one after the other: offsets of queries and keys, lengths, -1."""
    assert given["mask_type"] == fused.MaskType.PADDING_CAUSAL
    assert q.shape == k.shape == v.shape  # see `_cudnn`
    q, k, v = (each.astype(jnp.float32) for each in (q, k, v))
    y = np.full(q.shape, np.nan, np.float32)
    for row, (starts, lengths) in enumerate(zip(given["q_offsets"], given["q_seqlen"], strict=True)):
        for start, length in zip(starts[:-1].tolist(), lengths.tolist(), strict=True):
            if length >= 0:
                scores = np.einsum("TNH,MNH->NTM", *(each[row, start : start + length] for each in (q, k)))
                scores = np.where(np.tril(np.ones((length, length))), scores * given["scale"], -np.inf)
                weights = np.exp(scores - scores.max(-1, keepdims=True))
                weights /= weights.sum(-1, keepdims=True)
                seen = v[row, start : start + length]
                y[row, start : start + length] = np.einsum("NTM,MNH->TNH", weights, seen)
    return jnp.asarray(y)


def test_cudnn_is_handed_what_the_packer_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows with and without padding behind them, up to as many as there may be; one more shows as NaN."""
    monkeypatch.setattr(fused, "dot_product_attention", as_documented)
    length = 40
    full = np.minimum(np.arange(length) // 2 + 1, most_windows("cudnn", length))
    segments = np.stack([np.repeat([1, 2, 3, 0], 10), np.repeat([1, 2], 20), np.where(np.arange(length) < 36, full, 0)])
    q = jax.random.normal(jax.random.key(0), (3, length, 4, 8)).astype(jnp.bfloat16)
    k, v = jax.random.normal(jax.random.key(1), (2, 3, length, 2, 8)).astype(jnp.bfloat16)
    got = attend(q, k, v, within_segments(jnp.asarray(segments), "cudnn"))
    q, k, v = (each.astype(jnp.float32) for each in (q, k, v))
    expected = attend(q, k, v, within_segments(jnp.asarray(segments), "dense"))
    np.testing.assert_allclose(got, expected, atol=1e-5)

    segments[2] = np.arange(length) // 2 + 1
    q, k, v = (each.astype(jnp.bfloat16) for each in (q, k, v))
    got = attend(q, k, v, within_segments(jnp.asarray(segments), "cudnn"))
    assert np.isnan(got[2]).all() and not np.isnan(got[:2]).any()


def test_cudnn_lowers_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward and backward are cuDNN's kernels, with lengths and offsets, and no scores beside them."""
    monkeypatch.setattr(fused, "check_cudnn_version", lambda: 91000)
    monkeypatch.setattr(fused, "check_compute_capability", lambda capability: True)
    q, k = (jax.ShapeDtypeStruct((2, 256, heads, 64), jnp.bfloat16) for heads in (4, 2))

    def total(q: jax.Array, k: jax.Array, v: jax.Array, segments: jax.Array) -> jax.Array:
        return attend(q, k, v, within_segments(segments, "cudnn")).astype(jnp.float32).sum()

    segments = jax.ShapeDtypeStruct((2, 256), jnp.int32)
    traced = jax.jit(jax.grad(total, argnums=(0, 1, 2))).trace(q, k, k, segments)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    for call in ("__cudnn$fmhaSoftmax(", "__cudnn$fmhaSoftmaxBackward("):
        assert text.count(call) == 1
    assert f"\\22max_seg_per_batch\\22: {most_windows('cudnn', 256) + 1}" in text and "PADDING_CAUSAL" in text
    assert "256x256x" not in text


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="no GPU")
def test_cudnn_is_dense_on_a_gpu() -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = ((2, 512, 8, 128), (2, 512, 2, 128), (2, 512, 2, 128), (2, 512, 8, 128))
    q, k, v, probe = (jax.random.normal(key, shape, jnp.bfloat16) for key, shape in zip(keys, shapes, strict=True))
    segments = jnp.asarray(np.stack([np.repeat([1, 2, 0], [200, 177, 135]), np.ones(512)]), jnp.int32)

    def run(backend: str, dtype: Any) -> Any:
        def total(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            return (attend(q, k, v, within_segments(segments, backend)).astype(jnp.float32) * probe).sum()

        return jax.jit(jax.grad(total, argnums=(0, 1, 2)))(*(each.astype(dtype) for each in (q, k, v)))

    for got, exact in zip(run("cudnn", jnp.bfloat16), run("dense", jnp.float32), strict=True):
        assert jnp.linalg.norm(got.astype(jnp.float32) - exact) < 0.02 * jnp.linalg.norm(exact)


def test_what_a_backend_cannot() -> None:
    q = jnp.zeros((1, 100, 2, 8))
    segments = jnp.ones((1, 100), jnp.int32)
    with pytest.raises(InputError, match="attention=splash a row must be a multiple of 128 tokens; got 100"):
        attend(q, q, q, within_segments(segments, "splash"))
    with pytest.raises(InputError, match="model.dtype must be bfloat16 with execution.attention=cudnn; got float32"):
        attend(q, q, q, within_segments(segments, "cudnn"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capacity", float("nan")),
        ("capacity", float("inf")),
    ],
)
def test_impossible_executions(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"execution.{field} "):
        Execution(**{field: value})


@pytest.mark.parametrize(("remat", "runs"), [("outputs", 1), ("products", 1), ("attention", 1), ("full", 2)])
def test_what_cudnn_remembers_is_kept(monkeypatch: pytest.MonkeyPatch, remat: str, runs: int) -> None:
    """Its kernel has no name for remat, and is known by its primitive; kept, it does not run again going back."""
    monkeypatch.setattr(fused, "check_cudnn_version", lambda: 91000)
    monkeypatch.setattr(fused, "check_compute_capability", lambda capability: True)
    q, k = (jax.ShapeDtypeStruct((2, 256, heads, 64), jnp.bfloat16) for heads in (4, 2))

    def total(q: jax.Array, k: jax.Array, v: jax.Array, segments: jax.Array) -> jax.Array:
        return attend(q * 2, k * 2, v * 2, within_segments(segments, "cudnn")).astype(jnp.float32).sum()

    layer = jax.checkpoint(total, policy=POLICIES[remat])
    segments = jax.ShapeDtypeStruct((2, 256), jnp.int32)
    program = str(jax.make_jaxpr(jax.grad(layer, argnums=(0, 1, 2)))(q, k, k, segments))
    assert program.count(f" {CUDNN_OUT}[") == runs


def text_alone(rows: int, length: int) -> Inputs:
    """One token again and again, in rows of one segment without images."""
    zeros = np.zeros((rows, length), np.int32)
    positions = np.broadcast_to(np.arange(length, dtype=np.int32), (3, rows, length))
    return Inputs(zeros + 7, positions, zeros + 1, (), zeros - 1)


@pytest.mark.full
def test_remat_policies_change_memory_and_not_numbers(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    """Gradients are equal, and what the layers keep for the backward pass is as the policy's name says."""
    rows, length = 3, 50  # too many tokens to go through all experts
    inputs = text_alone(rows, length)

    def loss(model: ModelConfig, parameters: Parameters) -> jax.Array:
        return jnp.square(forward(model, parameters, inputs).hidden).sum() * 1e-2

    def saved(model: ModelConfig) -> int:
        """Numbers that the scan over layers hands to the backward pass."""
        closed = jax.make_jaxpr(lambda parameters: jax.vjp(lambda p: loss(model, p), parameters))(tiny_parameters)
        equations: list[Any] = closed.eqns
        (scan,) = (eqn for eqn in equations if eqn.primitive.name == "scan")
        return sum(out.aval.size for out in scan.outvars)

    sizes, expected = {}, jax.jit(jax.grad(lambda p: loss(tiny_model, p)))(tiny_parameters)
    for name in REMAT:
        model = dataclasses.replace(tiny_model, execution=Execution(remat=name))
        sizes[name] = saved(model)
        if name in ("full", "outputs", "host"):
            got = jax.jit(jax.grad(lambda p, model=model: loss(model, p)))(tiny_parameters)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), got, expected)
    activations = tiny_model.depth * rows * length * tiny_model.width
    assert sizes["attention"] - sizes["full"] == activations  # N * H is the width here
    assignments = rows * length * tiny_model.experts_per_token
    places = assignments + bucket_sizes(assignments // tiny_model.experts)[-1]
    hidden = tiny_model.depth * 2 * places * tiny_model.expert_width  # of gate and up, in buckets
    assert sizes["experts"] - sizes["full"] == hidden
    assert sizes["outputs"] - sizes["full"] == activations + hidden
    assert sizes["host"] == sizes["attention"]  # what is on the device elsewhere
    assert sizes["full"] < sizes["products"] < sizes["none"] > sizes["outputs"]


@pytest.mark.slow
def test_layers_in_one_turn_of_the_loop_are_the_same_layers(
    tiny_model: ModelConfig, tiny_parameters: Parameters
) -> None:
    inputs = text_alone(2, 12)

    def gradients(unroll: int) -> tuple[Parameters, int]:
        model = dataclasses.replace(tiny_model, execution=Execution(unroll=unroll))
        grad = jax.grad(lambda p: jnp.square(forward(model, p, inputs).hidden).mean())
        return jax.jit(grad)(tiny_parameters), str(jax.make_jaxpr(grad)(tiny_parameters)).count(f"unroll={unroll}")

    one, _ = gradients(1)
    all_layers, loops = gradients(tiny_model.depth)
    assert loops
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), all_layers, one)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize(
    "seen",
    [((3,), (7,)), ((1, 2, 3), (5, 6, 7)), (tuple(range(1, 131)), tuple(range(9, 139)))],
    ids=["one", "several", "pieces"],  # of CACHE_QUERIES tokens, the last with padding
)
@pytest.mark.first(6)
def test_new_tokens_with_a_live_cache_see_what_they_may_and_no_more(
    heads: int, seen: tuple[tuple[int, ...], ...], order: Order
) -> None:
    """In float64 by hand, with 4 query heads: how many keys each token of two rows sees; the longer row sees all."""
    rng = np.random.default_rng(0)
    tokens, length = len(seen[0]), seen[1][-1]
    q, k, v = (
        rng.standard_normal(shape) for shape in ((2, tokens, 4, 8), (2, heads, length, 8), (2, heads, length, 8))
    )
    expected = np.zeros_like(q)
    for row, token, head in np.ndindex(q.shape[:3]):
        own, upto = head // (4 // heads), seen[row][token]
        weights = np.exp(k[row, own, :upto] @ q[row, token, head] / np.sqrt(8))
        expected[row, token, head] = weights @ v[row, own, :upto] / weights.sum()
    unseen = np.arange(length)[:, None] >= np.max(seen, axis=1)[:, None, None, None]
    k, v = (np.where(unseen, 1e3, each) for each in (k, v))
    lying = np.einsum(f"SKMH->{order.keys}", k), np.einsum(f"SKMH->{order.values}", v)
    attend = jax.jit(attend_cache, static_argnums=3)
    got = attend(*(jnp.asarray(each, jnp.float32) for each in (q, *lying)), order, jnp.array(seen) - 1)
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_packed_rows_in_blocks_are_what_jax_computes_of_whole_rows() -> None:
    """150 tokens, which no size of a block divides, in windows that end within a block; with gradients."""
    rng = np.random.default_rng(1)
    q, k, v = (jnp.asarray(rng.standard_normal((2, 150, n, 8)), jnp.float32) for n in (4, 2, 2))
    segments = jnp.asarray(np.repeat([[1, 2, 3, 0]], [70, 50, 20, 10], axis=1).repeat(2, 0))
    visible = within_segments(segments, "dense")
    mask = visible.mask
    assert mask is not None

    def whole(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jax.nn.dot_product_attention(q, k, v, mask=mask[:, None])

    def found(attend: Any) -> Any:
        return jax.jit(jax.value_and_grad(lambda q, k, v: jnp.sin(attend(q, k, v)).mean(), argnums=(0, 1, 2)))(q, k, v)

    blocks = found(functools.partial(attend, visible=visible))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), blocks, found(whole))
