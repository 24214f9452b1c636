"""Each expert on its own tokens, a bucket at a time: loops that are as long as the routing makes them (CPU).

Axes: G tokens, K experts of a token, R = G * K assignments, D width, E experts, F expert width, C rows of a bucket.

The run of an expert is cut into large buckets, its rest into smaller ones, the last partly empty: no routing is too
uneven, and most products have many rows. Kernels are read once for a run, rows gathered from their tokens and added to
them: no [R, D] is written on the way, and no kernel is copied for every bucket. The gradient is by hand, since XLA
makes a scatter of every gather. Of each row, with s(a, b) = silu(a) b:

    a = x W_gate    b = x W_up    h = s(a, b)    y = gate * h W_down
    dh = dy W_down'    dgate = h . dh    (da, db) = s'(a, b) gate dh    dx = da W_gate' + db W_up'
    dW_down = sum (gate h)' dy    dW_gate = sum x' da    dW_up = sum x' db
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

from tars_jax.model.expert_groups import ExpertGroups, ExpertWeights
from tars_jax.model.remat import EXPERTS_OUT

BUCKETS = (16, 512)  # rows: smallest and largest

Carry = TypeVar("Carry")
Buckets = tuple[int, ...]  # rows of each kind, the largest first
Hidden = tuple[jax.Array, jax.Array]  # a, b of all groups, [R + C, F] each; C of the smallest
Residuals = tuple[jax.Array, jax.Array, ExpertGroups, ExpertWeights, Hidden]


def bucket_sizes(mean_load: int) -> tuple[int, ...]:
    """Half of an expert's even share, a product of many rows, a quarter of that, and a quarter of it again, of which
    little stays empty; powers of 2, the largest first.
    """
    smallest, largest = BUCKETS
    sizes = {min(max(1 << (mean_load // part - 1).bit_length(), smallest), largest) for part in (2, 8, 32)}
    return tuple(sorted(sizes, reverse=True))


@functools.partial(jax.custom_vjp, nondiff_argnums=(4,))
def bucketed_experts(
    x: jax.Array, gates: jax.Array, groups: ExpertGroups, weights: ExpertWeights, buckets: Buckets
) -> jax.Array:
    """x [G, D], gates [G, K] -> [G, D], the sum over a token's experts."""
    return _forward(x, gates, groups, weights, buckets, None)[0]


def swiglu(a: jax.Array, b: jax.Array) -> jax.Array:
    return nn.silu(a) * b


def _forward(
    x: jax.Array,
    gates: jax.Array,
    groups: ExpertGroups,
    weights: ExpertWeights,
    buckets: Buckets,
    hidden: Hidden | None,
) -> tuple[jax.Array, Hidden | None]:
    """The sum, and `hidden` filled in where it is given."""
    top_k = gates.shape[1]

    def step(
        carry: tuple[jax.Array, Hidden | None], kernels: ExpertWeights, start: jax.Array, rows: jax.Array
    ) -> tuple[jax.Array, Hidden | None]:
        y, hidden = carry
        inputs = _take(x, rows // top_k)
        a = jnp.einsum("CD,DF->CF", inputs, kernels.gate)
        b = jnp.einsum("CD,DF->CF", inputs, kernels.up)
        outputs = jnp.einsum("CF,FD->CD", swiglu(a, b), kernels.down) * _take(gates.ravel(), rows)[:, None]
        if hidden is not None:  # rows beyond the run are overwritten by the next
            hidden = _put(hidden[0], a, start), _put(hidden[1], b, start)
        return y.at[rows // top_k].add(outputs, mode="drop"), hidden

    def run(
        carry: tuple[jax.Array, Hidden | None], of: tuple[ExpertWeights, jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, Hidden | None], None]:
        return _over_buckets(step, carry, groups.order, buckets, *of), None

    begin, end = _borders(groups)
    return jax.lax.scan(run, (jnp.zeros_like(x), hidden), (weights, begin, end))[0]


def _forward_for_gradient(
    x: jax.Array, gates: jax.Array, groups: ExpertGroups, weights: ExpertWeights, buckets: Buckets
) -> tuple[jax.Array, Residuals]:
    empty = jnp.zeros((gates.size + buckets[-1], weights.gate.shape[-1]), x.dtype)
    y, hidden = _forward(x, gates, groups, weights, buckets, (empty, empty))
    assert hidden is not None
    a, b = (checkpoint_name(each, EXPERTS_OUT) for each in hidden)
    return y, (x, gates, groups, weights, (a, b))


def _backward(
    buckets: Buckets, residuals: Residuals, dy: jax.Array
) -> tuple[jax.Array, jax.Array, None, ExpertWeights]:
    x, gates, groups, weights, (all_a, all_b) = residuals
    top_k = gates.shape[1]
    Sums = tuple[jax.Array, jax.Array, ExpertWeights]

    def step(sums: Sums, kernels: ExpertWeights, start: jax.Array, rows: jax.Array) -> Sums:
        dx, dgates, dkernels = sums
        inputs, dout = _take(x, rows // top_k), _take(dy, rows // top_k)
        gate = _take(gates.ravel(), rows)[:, None]
        a, b = (jax.lax.dynamic_slice_in_dim(each, start, rows.size) for each in (all_a, all_b))
        h, pull = jax.vjp(swiglu, a, b)
        dh = jnp.einsum("CD,FD->CF", dout, kernels.down)
        da, db = pull(gate * dh)
        product = functools.partial(jnp.einsum, preferred_element_type=jnp.float32)
        dkernels = ExpertWeights(
            dkernels.gate + product("CD,CF->DF", inputs, da),
            dkernels.up + product("CD,CF->DF", inputs, db),
            dkernels.down + product("CF,CD->FD", gate * h, dout),
        )
        dinputs = jnp.einsum("CF,DF->CD", da, kernels.gate) + jnp.einsum("CF,DF->CD", db, kernels.up)
        dgates = dgates.at[rows].set((h * dh).sum(-1), mode="drop")
        return dx.at[rows // top_k].add(dinputs, mode="drop"), dgates, dkernels

    def run(
        sums: tuple[jax.Array, jax.Array], of: tuple[ExpertWeights, jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array], ExpertWeights]:
        zeros = ExpertWeights(*(jnp.zeros(kernel.shape, jnp.float32) for kernel in of[0]))
        dx, dgates, dkernels = _over_buckets(step, (*sums, zeros), groups.order, buckets, *of)
        return (dx, dgates), ExpertWeights(*(sum_.astype(x.dtype) for sum_ in dkernels))

    zeros = jnp.zeros_like(x), jnp.zeros_like(gates).ravel()
    (dx, dgates), dweights = jax.lax.scan(run, zeros, (weights, *_borders(groups)))
    return dx, dgates.reshape(gates.shape), None, dweights


bucketed_experts.defvjp(_forward_for_gradient, _backward)


def _borders(groups: ExpertGroups) -> tuple[jax.Array, jax.Array]:
    """[E] first place of each run, and the one after its last."""
    end = jnp.cumsum(groups.sizes)
    return end - groups.sizes, end


def _over_buckets(
    step: Callable[[Carry, ExpertWeights, jax.Array, jax.Array], Carry],
    carry: Carry,
    order: jax.Array,
    buckets: Buckets,
    kernels: ExpertWeights,
    begin: jax.Array,
    end: jax.Array,
) -> Carry:
    """`step` on each bucket of a run: its first place, and its assignments [C], R where there is none."""
    padded, state = jnp.pad(order, (0, buckets[-1])), (begin, carry)
    for bucket in buckets:
        least = 1 if bucket == buckets[-1] else bucket  # assignments that a bucket is begun for

        def is_left(state: tuple[jax.Array, Carry], least: int = least) -> jax.Array:
            return state[0] + least <= end

        def turn(state: tuple[jax.Array, Carry], bucket: int = bucket) -> tuple[jax.Array, Carry]:
            start, carry = state
            here = jax.lax.dynamic_slice_in_dim(padded, start, bucket)
            rows = jnp.where(start + jnp.arange(bucket) < end, here, order.size)
            return start + bucket, step(carry, kernels, start, rows)

        state = jax.lax.while_loop(is_left, turn, state)
    return state[1]


def _take(array: jax.Array, places: jax.Array) -> jax.Array:
    """0 where there is no such place."""
    return array.at[places].get(mode="fill", fill_value=0)


def _put(array: jax.Array, rows: jax.Array, start: jax.Array) -> jax.Array:
    return jax.lax.dynamic_update_slice_in_dim(array, rows, start, 0)
