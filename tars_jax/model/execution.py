"""How a model is computed, apart from what it computes: memory against time, and the kernels of a platform."""

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
    """Part of a `ModelConfig`. Every choice gives the same numbers but for rounding, unless `capacity` is set."""

    remat: str = field(
        "none", "what the backward pass computes again: nothing; or full, and what lies in between", one_of(*REMAT)
    )
    attention: str = field(
        "auto", "its backend for the learner's rows; the engine reads its cache densely", one_of(*ATTENTION)
    )
    experts: str = field("auto", "their backend", one_of(*EXPERTS))
    products: str = field(
        "auto", "of activations with kernels: how the gradients of kernels are written", one_of(*PRODUCTS)
    )
    cache: str = field("auto", "how the engine's keys and values lie", one_of(*CACHE))
    expert_communication: str = field(
        "all_to_all", "tokens go to experts; weight_gather: experts to tokens", one_of(*EXPERT_COMMUNICATION)
    )
    capacity: float = field(
        0.0, "room for tokens between two expert shards, over an even share; 0: no token is dropped", CAPACITY
    )
    unroll: int = field(
        1, "layers in one turn of the loop over them: more take longer to compile and less to run", at_least(1)
    )
    head_chunk: int = field(64, "tokens of a row whose logits the learner holds at a time", at_least(1))

    def __post_init__(self) -> None:
        check_fields(self, "execution")

    @property
    def attention_backend(self) -> str:
        """What "auto" means on this platform. cuDNN takes no float32, so it is never chosen unasked."""
        if self.attention != "auto":
            return self.attention
        import jax  # configs are made without it

        return "splash" if jax.default_backend() == "tpu" else "dense"

    def experts_backend(self, dtype: str, *widths: int) -> str:
        """What "auto" means on this platform for kernels of these widths."""
        if self.experts != "auto":
            return self.experts
        import jax  # configs are made without it

        platform = jax.default_backend()
        if platform == "gpu" and jax.devices()[0].compute_capability == HOPPER and fits_hopper(dtype, *widths):
            return "hopper"
        return "megablox" if platform == "tpu" else "buckets"

    @property
    def products_backend(self) -> str:
        """What "auto" means on this platform."""
        if self.products != "auto":
            return self.products
        import jax  # configs are made without it

        return "transposed" if jax.default_backend() == "cpu" else "plain"

    @property
    def cache_order(self) -> str:
        """What "auto" means on this platform."""
        if self.cache != "auto":
            return self.cache
        import jax  # configs are made without it

        return "products" if jax.default_backend() == "cpu" else "rows"


def fits_hopper(dtype: str, *widths: int) -> bool:
    """Whether its grouped products take kernels of these widths."""
    return dtype == "bfloat16" and not any(width % HOPPER_UNIT for width in widths)


EXECUTION = Execution()
