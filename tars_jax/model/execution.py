"""How a model is computed, apart from what it computes: memory against time, and the kernels of a platform."""

from __future__ import annotations

import dataclasses

import jax
from jax.ad_checkpoint import checkpoint_policies

from tars_jax import InputError

LAYER_IN = "layer_in"  # [B, T, D] what a decoder layer is given
ATTENTION_OUT = "attn_out"  # [B, T, N, H] before the output projection, and what a flash kernel remembers of itself
EXPERTS_OUT = "moe_out"  # [G, K, D] from each token's experts before they are weighed; in buckets, their hidden values

# What a decoder layer keeps for the way back; everything else is computed again. None keeps everything; "host" keeps
# a layer's input, which the others have on the chip, and its attention in the memory of the host.
REMAT = {
    "none": None,
    "full": checkpoint_policies.nothing_saveable,
    "attention": checkpoint_policies.save_only_these_names(ATTENTION_OUT),
    "experts": checkpoint_policies.save_only_these_names(EXPERTS_OUT),
    "outputs": checkpoint_policies.save_only_these_names(ATTENTION_OUT, EXPERTS_OUT),
    "host": checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=[LAYER_IN, ATTENTION_OUT],
        offload_src="device",
        offload_dst="pinned_host",
    ),
    "products": checkpoint_policies.dots_with_no_batch_dims_saveable,
}
ATTENTION = ("auto", "dense", "splash", "cudnn")
EXPERTS = ("auto", "buckets", "ragged", "megablox", "tokamax", "hopper")
TRAVEL = ("tokens", "kernels")
PRODUCTS = ("auto", "plain", "turned")


@dataclasses.dataclass(frozen=True)
class Execution:
    """Part of a `ModelConfig`. Every choice gives the same numbers but for rounding, unless `capacity` is set."""

    remat: str = "none"  # a key of REMAT, for each decoder layer
    attention: str = "auto"  # of the learner's rows; the engine's cache is always read densely
    experts: str = "auto"
    products: str = "auto"  # of activations with kernels: how the gradients of kernels are written
    travel: str = "tokens"  # what goes to the other on a mesh: tokens to experts, or kernels of experts to tokens
    capacity: float | None = None  # room for tokens between two expert shards, over an even share; None drops no token
    unroll: int = 1  # decoder layers in one turn of the loop over them: more take longer to compile and less to run
    head_chunk: int = 64  # tokens of a row whose logits the learner holds at a time

    def __post_init__(self) -> None:
        for name, known in (
            ("remat", tuple(REMAT)),
            ("attention", ATTENTION),
            ("experts", EXPERTS),
            ("travel", TRAVEL),
            ("products", PRODUCTS),
        ):
            if getattr(self, name) not in known:
                raise InputError(f"execution.{name} takes one of {', '.join(known)}, got {getattr(self, name)!r}")
        if self.capacity is not None and self.capacity <= 0:
            raise InputError(f"execution.capacity must be positive, or None to drop nothing, got {self.capacity}")
        if self.unroll < 1:
            raise InputError(f"execution.unroll must be at least 1 layer, got {self.unroll}")
        if self.head_chunk < 1:
            raise InputError(f"execution.head_chunk must be at least 1 token, got {self.head_chunk}")

    @property
    def attention_backend(self) -> str:
        """What "auto" means on this platform. cuDNN takes no float32, so it is never chosen unasked."""
        if self.attention != "auto":
            return self.attention
        return "splash" if jax.default_backend() == "tpu" else "dense"

    @property
    def experts_backend(self) -> str:
        """What "auto" means on this platform."""
        if self.experts != "auto":
            return self.experts
        return {"tpu": "megablox", "gpu": "tokamax"}.get(jax.default_backend(), "buckets")

    @property
    def products_backend(self) -> str:
        """What "auto" means on this platform."""
        if self.products != "auto":
            return self.products
        return "turned" if jax.default_backend() == "cpu" else "plain"


EXECUTION = Execution()
