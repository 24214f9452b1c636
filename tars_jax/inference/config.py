"""What an engine is built with, and what it says of itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.rules import Rule, at_least, check_fields, one_of

WEIGHTS = ("float", "w4a8")
LAYERS = ("auto", "unstacked", "stacked")
FEW_LAYERS = 16  # that "auto" holds apart


@dataclasses.dataclass(frozen=True)
class EngineConfig:
    """Raises InputError, naming the field, for values that mean nothing."""

    slots: int = 8  # live windows on the device
    max_length: int = 256  # tokens of one context window
    max_new_tokens: int = 24  # of one answer, unless its request says less or more
    temperature: float = 1.0  # of answers whose request says nothing of sampling
    constraint: str | None = None  # of the same answers: a name that the engine has a constraint for
    chunk: int = 8  # decode steps between two looks at the queue
    row_buckets: tuple[int, ...] = (2, 8)  # windows that are read in one batch
    length_buckets: tuple[int, ...] = (24, 48, 128, 256)  # new tokens of a window
    decode_buckets: tuple[int, ...] = ()  # answers that are decoded together where there are no more; else all slots
    image_buckets: tuple[int, ...] = (1, 8)  # screenshots of one size that are encoded in one batch
    image_cache_tokens: int = 2048  # room for the features of screenshots, in image tokens; max_length at least
    max_sessions: int = 1024  # open at once; those without a slot wait in host memory
    max_queue: int = 1024  # requests that wait for their turn
    weights: str = "float"  # or w4a8: int4 weights, int8 activations; the learner's log-probabilities are then others
    top_logprobs: int = 0  # the most that a request may ask to have recorded beside each token (`Sampling`)
    penalties: bool = False  # whether a request may ask for them (`Sampling`): each slot counts its answer's tokens
    biases: int = 0  # the most tokens whose logits a request may raise or lower (`Sampling.logit_bias`)
    layers: str = (
        "auto"  # weights and cache held apart: faster, each layer is compiled; together: one is; auto: by depth
    )
    record_routes: bool = False  # the experts of each token, in `Sampled.routes`

    RULES: ClassVar[Mapping[str, Rule]] = {
        "weights": one_of(*WEIGHTS),
        "layers": one_of(*LAYERS),
        **dict.fromkeys(("slots", "max_length", "max_new_tokens", "chunk"), at_least(1)),
        **dict.fromkeys(("image_cache_tokens", "max_sessions", "max_queue"), at_least(1)),
        **dict.fromkeys(("top_logprobs", "biases"), at_least(0)),
    }

    def __post_init__(self) -> None:
        check_fields(self, self.RULES, "engine")
        for name in ("row_buckets", "length_buckets", "image_buckets"):
            buckets = getattr(self, name)
            if not buckets or min(buckets) < 1 or list(buckets) != sorted(buckets):
                raise InputError(f"engine.{name} must be sizes of 1 or more in ascending order; got {buckets!r}")
        if any(not 1 <= rows < self.slots for rows in self.decode_buckets):
            raise InputError(f"engine.decode_buckets must be sizes of 1 to slots - 1; got {self.decode_buckets!r}")

    def groups(self, model: ModelConfig) -> tuple[int, ...]:
        """How many layers of a model are held together in each array (`tars_jax.model.decoder`)."""
        apart = self.layers == "unstacked" or (self.layers == "auto" and model.depth <= FEW_LAYERS)
        return (1,) * model.depth if apart else model.layer_runs


@dataclasses.dataclass(frozen=True)
class EngineStatistics:
    """One look at an engine. Counts of what there is now, and of what has been since it began."""

    busy_seconds: float  # of the thread at work on the device
    wall_seconds: float  # since the engine was entered
    tokens_sampled: int
    tokens_read: int
    queue: int  # requests that wait for their turn
    active: int  # answers under way
    idle: int  # windows in a slot that nobody asks anything
    offloaded: int  # windows in host memory
    sessions: int  # open
    slots: int
    image_hits: int  # screenshots whose features were there already
    image_misses: int
    version: int  # of the weights
