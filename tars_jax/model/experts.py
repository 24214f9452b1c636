"""Feed-forward layers: mixture-of-experts, where each token goes to K of E experts, or one dense SwiGLU.

Axes: G tokens of the whole batch, D width, E experts, K experts of a token, F expert width, Z buckets, C rows of a
bucket.

On CPU the experts run as one batched product over equal buckets. An expert takes as many buckets as its tokens fill, so
no token is ever dropped and no batch is too uneven: learner and engine, which batch differently, compute the same
function. Few tokens (decoding) go through all experts, which is cheaper than moving them.
"""

from __future__ import annotations

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from tars_jax.model.config import ModelConfig

FEW_TOKENS = 128
LARGEST_BUCKET = 256


class RouterStatistics(NamedTuple):
    """What a layer's router did with the valid tokens of a batch."""

    load: jax.Array  # [E] share of assignments, sums to 1
    balance_loss: jax.Array  # scalar, E * sum(load * mean probability): 1 when even (Switch Transformer, eq. 4)


class Weights(NamedTuple):
    """Parameters of all experts."""

    gate: jax.Array  # [E, D, F]
    up: jax.Array  # [E, D, F]
    down: jax.Array  # [E, F, D]


def _feed_forward(x: jax.Array, weights: Weights) -> jax.Array:
    """SwiGLU, [Z, C, D] rows with the weights of bucket Z to [Z, C, D]."""
    hidden = nn.silu(jnp.einsum("ZCD,ZDF->ZCF", x, weights.gate)) * jnp.einsum("ZCD,ZDF->ZCF", x, weights.up)
    return jnp.einsum("ZCF,ZFD->ZCD", hidden, weights.down)


def all_experts(x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: Weights) -> jax.Array:
    """Every expert on every token, then the weighted choice: E / K times the work, nothing to move.

    x [G, D], gates [G, K], chosen [G, K] -> [G, D].
    """
    num_experts = weights.gate.shape[0]
    y = _feed_forward(jnp.broadcast_to(x, (num_experts, *x.shape)), weights)
    mixture = jnp.einsum("GK,GKE->EG", gates, jax.nn.one_hot(chosen, num_experts, dtype=x.dtype))
    return jnp.einsum("EG,EGD->GD", mixture, y)


def bucketed_experts(x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: Weights, bucket: int) -> jax.Array:
    """Each expert on as many buckets of `bucket` rows as it needs; the same function as `all_experts`.

    x [G, D], gates [G, K], chosen [G, K] -> [G, D].
    """
    num_experts, assignments = weights.gate.shape[0], chosen.size
    num_buckets = -(-assignments // bucket) + num_experts - 1
    ahead = jnp.cumsum(jax.nn.one_hot(chosen.ravel(), num_experts, dtype=jnp.int32), axis=0)
    rank = jnp.take_along_axis(ahead, chosen.reshape(-1, 1), axis=1)[:, 0] - 1
    last_bucket = jnp.cumsum(-(-ahead[-1] // bucket))
    first_bucket = jnp.concatenate([jnp.zeros(1, jnp.int32), last_bucket[:-1]])

    row = first_bucket[chosen.ravel()] * bucket + rank
    owner = jnp.minimum((jnp.arange(num_buckets)[:, None] >= last_bucket).sum(-1), num_experts - 1)
    token = jnp.arange(assignments) // chosen.shape[1]
    occupant = jnp.zeros(num_buckets * bucket, jnp.int32).at[row].set(token, unique_indices=True)
    rows = x[occupant].reshape(num_buckets, bucket, -1)
    y = _feed_forward(rows, Weights(*(kernel[owner] for kernel in weights))).reshape(num_buckets * bucket, -1)
    return jnp.einsum("GK,GKD->GD", gates, y[row].reshape(*chosen.shape, -1))


class Experts(nn.Module):
    """The layer: [B, T, D] and a mask of real tokens [B, T] to [B, T, D] and router statistics."""

    config: ModelConfig

    @nn.compact
    def __call__(self, x: jax.Array, valid: jax.Array) -> tuple[jax.Array, RouterStatistics]:
        config = self.config
        num_experts, top_k = config.experts, config.experts_per_token
        kernel = nn.initializers.lecun_normal(batch_axis=0)
        router = self.param("router", nn.initializers.lecun_normal(), (config.width, num_experts))
        weights = Weights(
            self.param("gate", kernel, (num_experts, config.width, config.expert_width)),
            self.param("up", kernel, (num_experts, config.width, config.expert_width)),
            self.param("down", kernel, (num_experts, config.expert_width, config.width)),
        )
        weights = Weights(*(kernel.astype(x.dtype) for kernel in weights))
        shape, valid = x.shape, valid.ravel()
        x = x.reshape(-1, config.width)

        # fp32 softmax over all experts, then the best K, renormalised (Qwen3-MoE).
        probabilities = jax.nn.softmax(x.astype(jnp.float32) @ router, axis=-1)
        gates, chosen = jax.lax.top_k(probabilities, top_k)
        gates = (gates / gates.sum(-1, keepdims=True)).astype(x.dtype)

        counts = (jax.nn.one_hot(chosen, num_experts).sum(1) * valid[:, None]).sum(0)
        load = counts / jnp.maximum(counts.sum(), 1)
        mean_probability = (probabilities * valid[:, None]).sum(0) / jnp.maximum(valid.sum(), 1)
        statistics = RouterStatistics(load, num_experts * (load * mean_probability).sum())

        if x.shape[0] <= FEW_TOKENS:
            y = all_experts(x, gates, chosen, weights)
        else:
            mean_load = x.shape[0] * top_k // num_experts
            bucket = min(LARGEST_BUCKET, 1 << max(mean_load // 4, 1).bit_length())
            y = bucketed_experts(x, gates, chosen, weights, bucket)
        return y.reshape(shape), statistics


class Dense(nn.Module):
    """SwiGLU of every token, [B, T, D] to [B, T, D]; its statistics are those of one expert that takes all."""

    config: ModelConfig

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, RouterStatistics]:
        config = self.config

        def dense(width: int, name: str) -> nn.Dense:
            return nn.Dense(width, use_bias=False, dtype=config.dtype, name=name)

        hidden = nn.silu(dense(config.mlp_width, "gate")(x)) * dense(config.mlp_width, "up")(x)
        return dense(config.width, "down")(hidden), RouterStatistics(jnp.ones(1), jnp.float32(0))
