"""Feed-forward layers: mixture-of-experts, where each token goes to K of E experts, or one dense SwiGLU.

Axes: G tokens of the whole batch, D width, E experts, K experts of a token, F expert width.

No token is dropped, however uneven the routing, unless `execution.capacity` says so: learner and engine, which batch
differently, compute the same function. Few tokens (decoding) go through all experts, which is cheaper than moving them;
many go through their own (`grouped_experts`): on a mesh with an expert axis where those are (`dispatch`), on another
where the tokens are (`weight_gather_experts`). Padding goes nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from tars_jax.model.config import ModelConfig
from tars_jax.model.dispatch import all_to_all_experts, can_dispatch
from tars_jax.model.expert_groups import ExpertWeights
from tars_jax.model.grouped import grouped_experts
from tars_jax.model.matmul import dot_general
from tars_jax.model.weight_gather import can_gather, weight_gather_experts

FEW_TOKENS = 64  # where both ways took equal processor time, at nano's sizes


class RouterStatistics(NamedTuple):
    """Statistics of a layer's router over the valid tokens of a batch."""

    load: jax.Array  # [E] share of assignments, sums to 1
    balance_loss: jax.Array  # scalar, E * sum(load * mean probability): 1 when even (Switch Transformer, eq. 4)
    dropped: jax.Array  # scalar, share of assignments that found no room; 0 without a capacity
    routes: jax.Array  # [B, T, K] int16: the experts that each token goes to, padding as if it went; K is 0 if dense


def all_experts(x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: ExpertWeights) -> jax.Array:
    """Every expert on every token, then the weighted choice: E / K times the work, nothing to move.

    x [G, D], gates [G, K], chosen [G, K] -> [G, D].
    """
    num_experts = weights.gate.shape[0]
    every = jnp.broadcast_to(x, (num_experts, *x.shape))
    hidden = nn.silu(jnp.einsum("EGD,EDF->EGF", every, weights.gate)) * jnp.einsum("EGD,EDF->EGF", every, weights.up)
    y = jnp.einsum("EGF,EFD->EGD", hidden, weights.down)
    mixture = jnp.einsum("GK,GKE->EG", gates, jax.nn.one_hot(chosen, num_experts, dtype=x.dtype))
    return jnp.einsum("EG,EGD->GD", mixture, y)


class Experts(nn.Module):
    """The mixture-of-experts layer: [B, T, D] and a mask of real tokens [B, T] to [B, T, D] and router statistics.

    Given `routes` [B, T, K], tokens go where they say, with this router's gates; where they are negative, it chooses.
    """

    config: ModelConfig

    @nn.compact
    def __call__(
        self, x: jax.Array, valid: jax.Array, routes: jax.Array | None = None
    ) -> tuple[jax.Array, RouterStatistics]:
        config = self.config
        num_experts, top_k = config.experts, config.experts_per_token
        kernel = nn.initializers.lecun_normal(batch_axis=0)
        router = self.param("router", nn.initializers.lecun_normal(), (config.width, num_experts))
        weights = ExpertWeights(
            self.param("gate", kernel, (num_experts, config.width, config.expert_width)),
            self.param("up", kernel, (num_experts, config.width, config.expert_width)),
            self.param("down", kernel, (num_experts, config.expert_width, config.width)),
        )
        weights = ExpertWeights(*(kernel.astype(x.dtype) for kernel in weights))
        shape, valid = x.shape, valid.ravel()
        x = x.reshape(-1, config.width)

        # fp32 softmax over all experts, then the best K, renormalized (Qwen3-MoE).
        probabilities = jax.nn.softmax(x.astype(jnp.float32) @ router, axis=-1)
        gates, chosen = jax.lax.top_k(probabilities, top_k)
        if routes is not None:
            routes = routes.reshape(chosen.shape).astype(chosen.dtype)
            chosen = jnp.where(routes >= 0, routes, chosen)
            gates = jnp.take_along_axis(probabilities, chosen, axis=-1)
        taken = chosen.astype(jnp.int16).reshape(*shape[:-1], top_k)
        gates = (gates / gates.sum(-1, keepdims=True)).astype(x.dtype)

        counts = (jax.nn.one_hot(chosen, num_experts).sum(1) * valid[:, None]).sum(0)
        load = counts / jnp.maximum(counts.sum(), 1)
        mean_probability = (probabilities * valid[:, None]).sum(0) / jnp.maximum(valid.sum(), 1)
        balance_loss = num_experts * (load * mean_probability).sum()
        chosen = jnp.where(valid[:, None], chosen, num_experts)

        execution, dropped = config.execution, jnp.float32(0)
        if x.shape[0] <= FEW_TOKENS:
            y = all_experts(x, gates, chosen, weights)
        elif execution.expert_communication == "all_to_all" and can_dispatch(x.shape[0], weights):
            y, lost = all_to_all_experts(x, gates, chosen, weights, config.experts_backend, execution.capacity or None)
            dropped = lost / jnp.maximum(counts.sum(), 1)
        elif can_gather(x.shape[0], weights):
            y = weight_gather_experts(x, gates, chosen, weights, config.experts_backend)
        else:
            y = grouped_experts(x, gates, chosen, weights, config.experts_backend)
        return y.reshape(shape), RouterStatistics(load, balance_loss, dropped, taken)


class Dense(nn.Module):
    """SwiGLU of every token, [B, T, D] to [B, T, D]; its statistics are those of one expert that takes all."""

    config: ModelConfig

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, RouterStatistics]:
        config = self.config

        def dense(width: int, name: str) -> nn.Dense:
            products = dot_general(config.execution)
            return nn.Dense(width, use_bias=False, dtype=config.dtype, dot_general=products, name=name)

        hidden = nn.silu(dense(config.mlp_width, "gate")(x)) * dense(config.mlp_width, "up")(x)
        nowhere = jnp.zeros((*x.shape[:-1], 0), jnp.int16)
        statistics = RouterStatistics(jnp.ones(1), jnp.float32(0), jnp.float32(0), nowhere)
        return dense(config.width, "down")(hidden), statistics
