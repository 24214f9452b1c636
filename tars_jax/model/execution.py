"""How a model is computed, apart from what it computes: memory against time, and the kernels of a platform."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_policies

from tars_jax import InputError

LAYER_IN = "layer_in"  # [B, T, D] what a decoder layer is given
ATTENTION_OUT = "attn_out"  # [B, T, N, H] before the output projection, and what a flash kernel remembers of itself
EXPERTS_OUT = "moe_out"  # the experts' hidden values; on an expert mesh also [G, K, D] that came back from them
CUDNN_OUT = "dot_product_attention_fwd_wrapper"  # jax's primitive for cuDNN's attention, which takes no name


def _keeps(*names: str) -> Callable[..., bool]:
    """Arrays of these names, and with attention's what cuDNN's kernel gives: its result and what it remembers."""
    named = checkpoint_policies.save_only_these_names(*names)

    def policy(primitive: Any, *avals: Any, **parameters: Any) -> bool:
        cudnn = ATTENTION_OUT in names and primitive.name == CUDNN_OUT
        return cudnn or named(primitive, *avals, **parameters)

    return policy


# What a decoder layer keeps for the backward pass; everything else is computed again. None keeps everything; "products"
# what comes out of products with kernels, attention's and the experts'; "host" a layer's input, which the others have
# on the chip, and its attention, both in the memory of the host, but for cuDNN's.
REMAT = {
    "none": None,
    "full": checkpoint_policies.nothing_saveable,
    "attention": _keeps(ATTENTION_OUT),
    "experts": _keeps(EXPERTS_OUT),
    "outputs": _keeps(ATTENTION_OUT, EXPERTS_OUT),
    "host": checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=[LAYER_IN, ATTENTION_OUT],
        offload_src="device",
        offload_dst="pinned_host",
    ),
    "products": checkpoint_policies.save_from_both_policies(
        checkpoint_policies.dots_with_no_batch_dims_saveable, _keeps(ATTENTION_OUT, EXPERTS_OUT)
    ),
}
ATTENTION = ("auto", "dense", "splash", "cudnn")
EXPERTS = ("auto", "buckets", "ragged", "megablox", "tokamax", "hopper")
EXPERT_COMMUNICATION = ("all_to_all", "weight_gather")
PRODUCTS = ("auto", "plain", "transposed")
CACHE = ("auto", "rows", "products")
HOPPER, HOPPER_UNIT = "9.0", 128  # the one compute capability that has its instructions; what widths are multiples of


@dataclasses.dataclass(frozen=True)
class Execution:
    """Part of a `ModelConfig`. Every choice gives the same numbers but for rounding, unless `capacity` is set."""

    remat: str = "none"  # a key of REMAT, for each decoder layer
    attention: str = "auto"  # of the learner's rows; the engine's cache is always read densely
    experts: str = "auto"
    products: str = "auto"  # of activations with kernels: how the gradients of kernels are written
    cache: str = "auto"  # how an engine's keys and values lie: `tars_jax.model.cache`
    expert_communication: str = "all_to_all"  # or weight_gather: experts go to the tokens
    capacity: float | None = None  # room for tokens between two expert shards, over an even share; None drops no token
    unroll: int = 1  # decoder layers in one turn of the loop over them: more take longer to compile and less to run
    head_chunk: int = 64  # tokens of a row whose logits the learner holds at a time

    def __post_init__(self) -> None:
        for name, known in (
            ("remat", tuple(REMAT)),
            ("attention", ATTENTION),
            ("experts", EXPERTS),
            ("expert_communication", EXPERT_COMMUNICATION),
            ("products", PRODUCTS),
            ("cache", CACHE),
        ):
            if getattr(self, name) not in known:
                raise InputError(f"execution.{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}")
        if self.capacity is not None and not 0 < self.capacity < math.inf:
            raise InputError(f"execution.capacity must be positive, or None to drop nothing; got {self.capacity}")
        if self.unroll < 1:
            raise InputError(f"execution.unroll must be at least 1 layer; got {self.unroll}")
        if self.head_chunk < 1:
            raise InputError(f"execution.head_chunk must be at least 1 token; got {self.head_chunk}")

    @property
    def attention_backend(self) -> str:
        """What "auto" means on this platform. cuDNN takes no float32, so it is never chosen unasked."""
        if self.attention != "auto":
            return self.attention
        return "splash" if jax.default_backend() == "tpu" else "dense"

    def experts_backend(self, dtype: str, *widths: int) -> str:
        """What "auto" means on this platform for kernels of these widths."""
        if self.experts != "auto":
            return self.experts
        platform = jax.default_backend()
        if platform == "gpu" and jax.devices()[0].compute_capability == HOPPER and fits_hopper(dtype, *widths):
            return "hopper"
        return "megablox" if platform == "tpu" else "buckets"

    @property
    def products_backend(self) -> str:
        """What "auto" means on this platform."""
        if self.products != "auto":
            return self.products
        return "transposed" if jax.default_backend() == "cpu" else "plain"

    @property
    def cache_order(self) -> str:
        """What "auto" means on this platform."""
        if self.cache != "auto":
            return self.cache
        return "products" if jax.default_backend() == "cpu" else "rows"


def fits_hopper(dtype: str, *widths: int) -> bool:
    """Whether its grouped products take kernels of these widths."""
    return dtype == "bfloat16" and not any(width % HOPPER_UNIT for width in widths)


EXECUTION = Execution()
