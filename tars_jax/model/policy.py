"""The policy and the value model: screenshots and text in; logits, values, router statistics out.

Axes: B rows, T tokens, I images of one size in a row, Q decoder tokens of an image, D width, V vocabulary, M cache
length, F features that are added to an image token after the first layers, P image tokens encoded beforehand, L layers
with experts, K experts of a token.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

import einops
import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.model.attention import within_segments
from tars_jax.model.cache import Caches
from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import AttentionContext, Decoder
from tars_jax.model.execution import Execution
from tars_jax.model.experts import RouterStatistics
from tars_jax.model.matmul import product
from tars_jax.model.positions import rotary
from tars_jax.model.sharding import leaf_name, mapped
from tars_jax.model.vision import VisionEncoder

Parameters = dict[str, Any]
Array = jax.Array | Any  # np.ndarray on the host, jax.Array under jit
NEVER = -1e4  # a logit: probability 0 in fp32, and finite, so that no gradient becomes NaN


@flax.struct.dataclass
class Inputs:
    """A batch of packed context windows, or the new tokens of live ones."""

    tokens: Array  # [B, T] int32
    positions: Array  # [3, B, T] int32: time, row, column
    segments: Array  # [B, T] int32: which window of the row a token belongs to, from 1; 0 is padding
    images: tuple[Array, ...]  # of each size [B, I, height, width, 3] uint8
    image_tokens: Array  # [B, T] int32: index into the row's I * Q image tokens, size after size; -1 for text
    # From `encode_images`, in place of images: [1 + F, B, I * Q, D], or [1 + F, P, D], whose P the image_tokens of all
    # rows index.
    image_features: Array | None = None
    routes: Array | None = None  # [B, T, L, K] int16: experts that tokens must go to; -1 where the router is free


@flax.struct.dataclass
class CacheAddress:
    """Addresses of new tokens in a live cache, and which of them are answered."""

    write_at: Array  # [B, T] int32; M or more writes nothing
    slots: Array | None = None  # [B]; None when row b is slot b
    last: Array | None = None  # [B] int32: the one token of each row whose logits are wanted; None: those of all


@flax.struct.dataclass
class Output:
    """Everything that a forward pass computed."""

    logits: Array  # [B, T, V] fp32, of the next token; [B, 1, V] of `last` alone; None without a vocabulary head
    values: Array  # [B, T] fp32; None without a scalar head
    hidden: jax.Array  # [B, T, D] after the last norm
    cache: Caches | Any  # None without a live cache
    routers: RouterStatistics  # every field with a leading axis L


class Policy(nn.Module):
    """A vision-language model with the heads that its config asks for."""

    config: ModelConfig

    @nn.compact
    def __call__(self, inputs: Inputs, cache: Caches | None = None, address: CacheAddress | None = None) -> Output:
        config = self.config
        embed = nn.Embed(
            config.vocabulary,
            config.width,
            embedding_init=nn.initializers.normal(config.width**-0.5),
            dtype=config.dtype,
            name="embed",
        )
        x, deepstack = embed(inputs.tokens), None
        features = _features(config, inputs)
        if features is not None:
            is_image = inputs.image_tokens[..., None] >= 0
            x = jnp.where(is_image, features[0].astype(x.dtype), x)
            deepstack = jnp.where(is_image, features[1:], 0) if config.vision.deepstack else None

        cosine, sine = rotary(
            inputs.positions,
            config.head_dim,
            config.rope_theta,
            config.rope_sections,
            config.rope_interleaved,
            config.rope_scaling,
        )
        valid = inputs.segments > 0
        if address is None:
            visible = within_segments(inputs.segments, config.execution.attention_backend)
            context = AttentionContext(cosine, sine, visible, valid, deepstack)
        else:
            context = AttentionContext(cosine, sine, None, valid, deepstack, address.slots, address.write_at)
        replayed = None if inputs.routes is None else jnp.moveaxis(jnp.asarray(inputs.routes), 2, 0)
        hidden, cache, routers = Decoder(config, name="decoder")(x, context, cache, replayed)

        logits = values = None
        if config.vocabulary_head:
            answered = hidden
            if address is not None and address.last is not None:
                answered = jnp.take_along_axis(hidden, address.last[:, None, None], axis=1)
            head = nn.Dense(config.vocabulary, use_bias=False, dtype=config.dtype, name="vocabulary_head")
            logits = _without_image_token(config, (embed.attend if config.tied_embeddings else head)(answered))
        if config.scalar_head:
            # Zero at first: an untrained value model is the constant 0, not noise.
            value = nn.Dense(1, kernel_init=nn.initializers.zeros, name="scalar_head")
            values = value(hidden.astype(jnp.float32))[..., 0]
        return Output(logits, values, hidden, cache, routers)


class PolicyVision(nn.Module):
    """The policy's vision encoder by itself, on the policy's own parameters."""

    config: ModelConfig

    @nn.compact
    def __call__(self, images: Array) -> jax.Array:
        return _encoder(self.config)(images)


def _encoder(config: ModelConfig) -> VisionEncoder:
    """A submodule of the module that calls this."""
    return VisionEncoder(config.vision, config.width, config.dtype, config.execution.remat != "none", name="vision")


def _features(config: ModelConfig, inputs: Inputs) -> jax.Array | None:
    """Image features at each image token, [1 + F, B, T, D], encoded now or before; None where there are no images."""
    encoded = inputs.image_features
    if encoded is not None and encoded.ndim == 3:
        return encoded[:, jnp.maximum(inputs.image_tokens, 0)]
    if encoded is None:
        if not inputs.images:
            return None
        encoder = _encoder(config)
        encoded = jnp.concatenate([_encode_rows(encoder, images) for images in inputs.images], axis=2)
    # Each row takes from its own images; the compiler would bring the images of all rows together for it.
    gather = mapped(_gather, ((None, "batch", None, None), ("batch", None)), (None, "batch", None, None))
    return gather(encoded, inputs.image_tokens)


def _gather(encoded: jax.Array, image_tokens: jax.Array) -> jax.Array:
    """Of image tokens [1 + F, B, I * Q, D] those that the rows name, [1 + F, B, T, D]; any where they name none."""
    return jnp.take_along_axis(encoded, jnp.maximum(image_tokens, 0)[None, ..., None], axis=2)


def _encode_rows(encoder: VisionEncoder, images: Array) -> jax.Array:
    """[B, I, height, width, 3] to [1 + F, B, I * Q, D]."""
    encoded = encoder(einops.rearrange(images, "b i ... -> (b i) ..."))
    return einops.rearrange(encoded, "f (b i) q d -> f b (i q) d", b=images.shape[0])


def _without_image_token(config: ModelConfig, logits: jax.Array) -> jax.Array:
    """fp32, without the image token: sampled, it could not be told from a screenshot when the window is read again."""
    never = jnp.arange(config.vocabulary) == (-1 if config.image_token is None else config.image_token)
    return jnp.where(never, NEVER, logits.astype(jnp.float32))


def vocabulary_logits(config: ModelConfig, parameters: Parameters, hidden: jax.Array) -> jax.Array:
    """The policy's own logits [..., V], fp32, from hidden states [..., D] after the last norm."""
    if config.tied_embeddings:
        kernel = parameters["embed"]["embedding"].T
    else:
        kernel = parameters["vocabulary_head"]["kernel"]
    return _without_image_token(config, product(config.execution, hidden, kernel.astype(hidden.dtype)))


def forward(
    config: ModelConfig,
    parameters: Parameters,
    inputs: Inputs,
    cache: Caches | None = None,
    address: CacheAddress | None = None,
) -> Output:
    """`Policy.apply` with the type of what it returns."""
    output: Any = Policy(config).apply({"params": parameters}, inputs, cache, address)
    return output


def encode_images(config: ModelConfig, parameters: Parameters, images: Array) -> jax.Array:
    """Screenshots uint8 [I, height, width, 3] to the features [1 + F, I, Q, D] that stand at their image tokens.

    Joined over images, they are what `Inputs.image_features` takes. They depend on the parameters of `vision` alone: a
    learner that does not train these may compute them once (`tars_jax.training.frozen_image_features`), the gradients
    of all others are the same.
    """
    encoded: Any = PolicyVision(config).apply({"params": {"vision": parameters["vision"]}}, images)
    return encoded


def dummy_inputs(config: ModelConfig, tokens: int = 2) -> Inputs:
    """The smallest batch that touches every parameter: for shapes at init."""
    side = config.vision.patch * config.vision.merge
    return Inputs(
        tokens=jnp.zeros((1, tokens), jnp.int32),
        positions=jnp.zeros((3, 1, tokens), jnp.int32),
        segments=jnp.ones((1, tokens), jnp.int32),
        images=(jnp.zeros((1, 1, side, side, 3), jnp.uint8),),
        image_tokens=jnp.full((1, tokens), -1, jnp.int32),
    )


def init_parameters(config: ModelConfig, key: jax.Array) -> Parameters:
    """Fresh parameters; call under jit with out_shardings so that nothing is whole on one device."""
    # Kernels do not change the parameters, and do not take so few tokens.
    config = dataclasses.replace(config, execution=Execution(attention="dense", experts="buckets"))
    return Policy(config).init(key, dummy_inputs(config))["params"]


@functools.cache
def parameter_shapes(config: ModelConfig) -> Any:
    """Shapes and types of what `init_parameters` returns; nothing is computed."""
    return jax.eval_shape(lambda: init_parameters(config, jax.random.key(0)))


def count_parameters(config: ModelConfig) -> tuple[int, int]:
    """Total parameters, and those active for one token."""
    shapes = parameter_shapes(config)
    total = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    if not config.experts:
        return total, total
    sizes = {leaf_name(path): leaf.size for path, leaf in jax.tree_util.tree_leaves_with_path(shapes)}
    experts = sum(size for name, size in sizes.items() if re.search("/experts/(gate|up|down)$", name))
    return total, total - experts + experts * config.experts_per_token // config.experts
