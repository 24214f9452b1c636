"""Execution of a model, apart from what it computes: memory against time, and the kernels of a platform."""

from __future__ import annotations

import dataclasses
import math

from tars_jax.rules import Rule, at_least, check_fields, field, one_of

REMAT = ("none", "full", "attention", "experts", "outputs", "host", "products")  # each has a policy in `remat.py`
ATTENTION = ("auto", "dense", "splash", "cudnn")
EXPERTS = ("auto", "buckets", "ragged", "megablox", "tokamax", "hopper")
EXPERT_COMMUNICATION = ("all_to_all", "weight_gather")
PRODUCTS = ("auto", "plain", "transposed")
CACHE = ("auto", "rows", "products")
CAPACITY = Rule(lambda value: 0 <= value < math.inf, "0 to drop nothing, or a positive number")
HOPPER, HOPPER_UNIT = "9.0", 128  # the one compute capability that has its instructions; what widths are multiples of


@dataclasses.dataclass(frozen=True)
class Execution:
    """Execution settings of a model: rematerialization, kernels, cache order and expert communication.

    Part of a `ModelConfig`. Every choice gives the same numbers but for rounding, unless `capacity` is set.
    """

    remat: str = field(
        "none",
        "activations that the backward pass computes again: none, full (all), or one of the policies in between",
        one_of(*REMAT),
    )
    attention: str = field(
        "auto",
        "attention backend of the learner's rows; the engine always reads its cache with dense attention",
        one_of(*ATTENTION),
    )
    experts: str = field("auto", "backend of the expert layers' grouped matrix products", one_of(*EXPERTS))
    products: str = field(
        "auto", "how the gradients of weight matrices are written: plain, or transposed", one_of(*PRODUCTS)
    )
    cache: str = field("auto", "memory order of the engine's KV cache", one_of(*CACHE))
    expert_communication: str = field(
        "all_to_all",
        "all_to_all sends tokens to their experts; weight_gather sends experts to the tokens",
        one_of(*EXPERT_COMMUNICATION),
    )
    capacity: float = field(
        0.0,
        "capacity factor of the all_to_all between expert shards, over an even share; 0: no token is dropped",
        CAPACITY,
    )
    unroll: int = field(
        1, "layers in one iteration of the scan over layers: more compile longer and run faster", at_least(1)
    )
    head_chunk: int = field(64, "tokens of a row whose logits the learner holds at the same time", at_least(1))

    def __post_init__(self) -> None:
        check_fields(self, "execution")

    @property
    def attention_backend(self) -> str:
        """The attention backend, "auto" resolved for this platform. cuDNN takes no float32, so it is never chosen
        unasked."""
        if self.attention != "auto":
            return self.attention
        import jax  # configs are made without it

        return "splash" if jax.default_backend() == "tpu" else "dense"

    def experts_backend(self, dtype: str, *widths: int) -> str:
        """The experts' backend, "auto" resolved for this platform and kernels of these widths."""
        if self.experts != "auto":
            return self.experts
        import jax  # configs are made without it

        platform = jax.default_backend()
        if platform == "gpu" and jax.devices()[0].compute_capability == HOPPER and fits_hopper(dtype, *widths):
            return "hopper"
        return "megablox" if platform == "tpu" else "buckets"

    @property
    def products_backend(self) -> str:
        """The form of products, "auto" resolved for this platform."""
        if self.products != "auto":
            return self.products
        import jax  # configs are made without it

        return "transposed" if jax.default_backend() == "cpu" else "plain"

    @property
    def cache_order(self) -> str:
        """The order of the KV cache, "auto" resolved for this platform."""
        if self.cache != "auto":
            return self.cache
        import jax  # configs are made without it

        return "products" if jax.default_backend() == "cpu" else "rows"


def fits_hopper(dtype: str, *widths: int) -> bool:
    """Whether its grouped products take kernels of these widths."""
    return dtype == "bfloat16" and not any(width % HOPPER_UNIT for width in widths)


EXECUTION = Execution()
