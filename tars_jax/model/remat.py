"""Rematerialization: arrays of a decoder layer that the backward pass keeps, by name, and the policy of each
`execution.remat`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax.ad_checkpoint import checkpoint_policies

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
POLICIES = {
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
