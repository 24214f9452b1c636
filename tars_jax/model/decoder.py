"""The decoder: grouped-query attention and experts, scanned over layers, with or without a live cache.

Axes: B rows, T new tokens, M cache length, S slots, L layers, D width, N query heads, K key-value heads, H head
dimension.
"""

from __future__ import annotations

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.model.config import ModelConfig
from tars_jax.model.experts import Experts, RouterStatistics
from tars_jax.model.positions import rotate


@flax.struct.dataclass
class Cache:
    """Keys and values of all layers. It travels in the carry of the layer scan, so a donated cache is never copied."""

    keys: jax.Array  # [L, S, M, K, H]
    values: jax.Array  # [L, S, M, K, H]

    @staticmethod
    def empty(config: ModelConfig, slots: int, length: int) -> Cache:
        shape = (config.depth, slots, length, config.kv_heads, config.head_dim)
        return Cache(jnp.zeros(shape), jnp.zeros(shape))


@flax.struct.dataclass
class Attending:
    """Where the new tokens stand and what they may look at; the same for every layer."""

    cosine: jax.Array  # [B, T, H / 2]
    sine: jax.Array  # [B, T, H / 2]
    mask: jax.Array  # [B, T, T] without a cache, [B, T, M] with one
    valid: jax.Array  # [B, T] real tokens
    slots: jax.Array | None = None  # [B] the cache row of each batch row; None when row b is slot b
    write_at: jax.Array | None = None  # [B, T] cache index of each new token; M or more writes nothing


class Attention(nn.Module):
    """RMS-normed queries and keys, rotary positions, no bias."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self, x: jax.Array, attending: Attending, cache: Cache | None, layer: jax.Array
    ) -> tuple[jax.Array, Cache | None]:
        config = self.config

        def projected(heads: int, name: str) -> jax.Array:
            return nn.DenseGeneral((heads, config.head_dim), use_bias=False, name=name)(x)

        q = nn.RMSNorm(epsilon=config.norm_epsilon, name="query_norm")(projected(config.query_heads, "query"))
        k = nn.RMSNorm(epsilon=config.norm_epsilon, name="key_norm")(projected(config.kv_heads, "key"))
        q, k = (rotate(each, attending.cosine, attending.sine) for each in (q, k))
        v = projected(config.kv_heads, "value")
        if cache is not None:
            slots = jnp.arange(x.shape[0]) if attending.slots is None else attending.slots
            at = (layer, slots[:, None], attending.write_at)
            cache = Cache(cache.keys.at[at].set(k, mode="drop"), cache.values.at[at].set(v, mode="drop"))
            k, v = cache.keys[layer], cache.values[layer]
            if attending.slots is not None:
                k, v = k[slots], v[slots]
        y = jax.nn.dot_product_attention(q, k, v, mask=attending.mask[:, None])
        return nn.DenseGeneral(config.width, axis=(-2, -1), use_bias=False, name="out")(y), cache


class Block(nn.Module):
    """One decoder layer; the signature is that of `nn.scan`: carry in, per-layer statistics out."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self, carry: tuple[jax.Array, Cache | None], layer: jax.Array, attending: Attending
    ) -> tuple[tuple[jax.Array, Cache | None], RouterStatistics]:
        x, cache = carry
        norm = nn.RMSNorm(epsilon=self.config.norm_epsilon, name="attention_norm")(x)
        y, cache = Attention(self.config, name="attention")(norm, attending, cache, layer)
        x = x + y
        norm = nn.RMSNorm(epsilon=self.config.norm_epsilon, name="experts_norm")(x)
        y, statistics = Experts(self.config, name="experts")(norm, attending.valid)
        return (x + y, cache), statistics


class Decoder(nn.Module):
    """All layers: hidden states [B, T, D] to normed hidden states [B, T, D], the new cache, statistics [L, ...]."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self, x: jax.Array, attending: Attending, cache: Cache | None = None
    ) -> tuple[jax.Array, Cache | None, RouterStatistics]:
        layers = nn.scan(
            Block,
            variable_axes={"params": 0},
            split_rngs={"params": True},
            in_axes=(0, nn.broadcast),
            length=self.config.depth,
        )(self.config, name="layers")
        (x, cache), statistics = layers((x, cache), jnp.arange(self.config.depth), attending)
        return nn.RMSNorm(epsilon=self.config.norm_epsilon, name="norm")(x), cache, statistics
