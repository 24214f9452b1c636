"""The decoder: grouped-query attention and experts or a dense MLP, scanned over layers, with or without a live cache.

Axes: B rows, T new tokens, M cache length, L layers, D width, N query heads, K key-value heads, H head dimension,
F features of an image token that are added after the first layers.

Layers come in groups of one kind, each a scan over arrays of all its layers. The learner has as few as there can be,
one where all layers are alike, so that one layer is compiled and not L. An engine may have one for each layer
(`grouped_layers`): nothing is then taken out of larger arrays, which costs a processor a part of every decode step.
Parameters are grouped as the live cache is.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

from tars_jax.model.attention import Visible, attend, attend_cache
from tars_jax.model.cache import Cache, Caches
from tars_jax.model.config import ModelConfig
from tars_jax.model.experts import Dense, Experts, RouterStatistics
from tars_jax.model.matmul import dot_general
from tars_jax.model.positions import rotate
from tars_jax.model.remat import LAYER_IN, POLICIES
from tars_jax.model.sharding import constrain


@flax.struct.dataclass
class AttentionContext:
    """Positions of the new tokens and their mask; the same for every layer."""

    cosine: jax.Array  # [B, T, H / 2]
    sine: jax.Array  # [B, T, H / 2]
    visible: Visible | None  # None with a live cache, which says it by itself
    valid: jax.Array  # [B, T] real tokens
    deepstack: jax.Array | None = None  # [F, B, T, D], 0 at text: added after layers 0 to F - 1
    slots: jax.Array | None = None  # [B] the cache row of each batch row; None when row b is slot b
    write_at: jax.Array | None = None  # [B, T] cache index of each new token; M or more writes nothing


def norm(config: ModelConfig, name: str) -> nn.RMSNorm:
    return nn.RMSNorm(epsilon=config.norm_epsilon, dtype=config.dtype, name=name)


class Layer(NamedTuple):
    """Differences between layers, apart from their parameters; a leading axis L in the scan."""

    number: jax.Array  # scalar int32
    place: jax.Array  # scalar int32, in its group
    routes: jax.Array | None  # [B, T, K] experts to take, -1 where the router is free


class Attention(nn.Module):
    """Rotary positions; queries and keys are RMS-normed and projections have biases where the config says so."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self, x: jax.Array, context: AttentionContext, cache: Cache | None, place: jax.Array
    ) -> tuple[jax.Array, Cache | None]:
        config = self.config
        dense = functools.partial(nn.DenseGeneral, dtype=config.dtype, dot_general=dot_general(config.execution))

        def projected(heads: int, name: str) -> jax.Array:
            shape = (heads, config.head_dim)
            return dense(shape, use_bias=config.qkv_bias, name=name)(x)

        q, k = projected(config.query_heads, "query"), projected(config.kv_heads, "key")
        if config.query_key_norm:
            q, k = norm(config, "query_norm")(q), norm(config, "key_norm")(k)
        q, k = (rotate(each, context.cosine, context.sine) for each in (q, k))
        v = projected(config.kv_heads, "value")
        if cache is None:
            assert context.visible is not None
            y = attend(q, k, v, context.visible)
        else:
            assert context.write_at is not None
            cache = cache.written(place, context.slots, context.write_at, k, v)
            y = attend_cache(q, *cache.layer(place, context.slots), cache.order, context.write_at)
        return dense(config.width, axis=(-2, -1), use_bias=False, name="out")(y), cache


class Block(nn.Module):
    """One decoder layer; the signature is that of `nn.scan`: carry and layer in, carry and statistics out."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self, carry: tuple[jax.Array, Cache | None], layer: Layer, context: AttentionContext
    ) -> tuple[tuple[jax.Array, Cache | None], RouterStatistics]:
        config, (x, cache) = self.config, carry
        x = checkpoint_name(constrain(x, "batch", "sequence", None), LAYER_IN)
        y, cache = Attention(config, name="attention")(norm(config, "attention_norm")(x), context, cache, layer.place)
        x = x + y
        if config.experts:
            normed = norm(config, "experts_norm")(x)
            y, statistics = Experts(config, name="experts")(normed, context.valid, layer.routes)
        else:
            y, statistics = Dense(config, name="mlp")(norm(config, "mlp_norm")(x))
        x = x + y
        if (deepstack := context.deepstack) is not None:
            last = deepstack.shape[0] - 1
            x = x + jnp.where(layer.number <= last, deepstack[jnp.minimum(layer.number, last)], 0)
        return (x, cache), statistics


class Decoder(nn.Module):
    """All layers: hidden states [B, T, D] to normed hidden states [B, T, D], the new cache, statistics [R, ...].

    R are the layers with experts, or all where none has any; `routes` [R, B, T, K] are theirs.
    """

    config: ModelConfig

    @nn.compact
    def __call__(
        self, x: jax.Array, context: AttentionContext, caches: Caches | None = None, routes: jax.Array | None = None
    ) -> tuple[jax.Array, Caches | None, RouterStatistics]:
        config, remat = self.config, self.config.execution.remat
        block = Block if remat == "none" else nn.remat(Block, prevent_cse=False, policy=POLICIES[remat])
        sizes = config.layer_runs if caches is None else tuple(cache.depth for cache in caches)
        after, statistics, routed = list[Any](), list[RouterStatistics](), 0
        for group, (name, size) in enumerate(zip(group_names(len(sizes)), sizes, strict=True)):
            first = sum(sizes[:group])
            layers = nn.scan(
                block,
                variable_axes={"params": 0},
                split_rngs={"params": True},
                in_axes=(0, nn.broadcast),
                length=size,
                unroll=min(size, config.execution.unroll),
            )(config.of_layer(first), name=name)
            has_router = first not in config.dense_layers
            to_take = routes[routed : routed + size] if routes is not None and has_router else None
            carry = x, None if caches is None else caches[group]
            (x, cache), of_group = layers(carry, Layer(first + jnp.arange(size), jnp.arange(size), to_take), context)
            after.append(cache)
            if has_router:
                statistics.append(of_group)
                routed += size
        joined = jax.tree.map(lambda *parts: jnp.concatenate(parts), *statistics)
        return norm(config, "norm")(x), None if caches is None else tuple(after), joined


def group_names(groups: int) -> tuple[str, ...]:
    """Names of the parameters of each group, in those of the decoder."""
    return ("layers",) if groups == 1 else tuple(f"layers_{group}" for group in range(groups))


def grouped_layers(parameters: dict[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
    """A policy's parameters with the layers in groups of these sizes, each a part of one of the groups they are in."""
    decoder = dict(parameters["decoder"])
    held = [decoder.pop(name) for name in group_names(sum(name.startswith("layers") for name in decoder))]
    following = iter(sizes)
    parts = [part for group in held for part in _split(group, following)]
    return {**parameters, "decoder": {**decoder, **dict(zip(group_names(len(parts)), parts, strict=True))}}


def _split(group: Any, sizes: Iterator[int]) -> Iterator[Any]:
    """A tree with a leading axis of layers in parts of the next sizes."""
    start, depth = 0, jax.tree.leaves(group)[0].shape[0]
    while start < depth:
        part = slice(start, start + next(sizes))
        yield jax.tree.map(operator.itemgetter(part), group)
        start = part.stop
