"""What an engine is built with, and what it says of itself."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.rules import Rule, at_least, check_fields, field, one_of

SERVER_FORMS = ("vllm", "sglang")  # of servers that are not ours
WEIGHTS = ("float", "w4a8")
LAYERS = ("auto", "unstacked", "stacked")
FEW_LAYERS = 16  # that "auto" holds apart
ASCENDING = Rule(
    lambda sizes: len(sizes) > 0 and min(sizes) >= 1 and list(sizes) == sorted(sizes),
    "sizes of 1 or more in ascending order",
)


@dataclasses.dataclass(frozen=True)
class EngineConfig:
    """Raises InputError, naming the field, for values that mean nothing."""

    slots: int = field(8, "live windows on the device", at_least(1))
    max_length: int = field(256, "tokens of a context window", at_least(1))
    max_new_tokens: int = field(24, "of an answer, unless its request says less or more", at_least(1))
    temperature: float = field(1.0, "of answers whose request says nothing of sampling")
    constraint: str | None = field(None, "of the same answers: a name that the engine has a constraint for")
    chunk: int = field(8, "decode steps between two looks at the queue", at_least(1))
    row_buckets: tuple[int, ...] = field((2, 8), "windows that are read in one batch", ASCENDING)
    length_buckets: tuple[int, ...] = field((24, 48, 128, 256), "sizes to which what is read is padded", ASCENDING)
    decode_buckets: tuple[int, ...] = field((), "answers that are decoded together where there are no more; else all")
    image_buckets: tuple[int, ...] = field((1, 8), "screenshots of one size that are encoded in one batch", ASCENDING)
    image_cache_tokens: int = field(
        2048, "room for the features of screenshots, in image tokens; max_length at least", at_least(1)
    )
    max_sessions: int = field(1024, "open at once; those without a slot wait in host memory", at_least(1))
    max_queue: int = field(1024, "requests that wait for their turn", at_least(1))
    weights: str = field(
        "float",
        "of the policy that samples; w4a8: int4, activations int8, with log-probabilities of its own",
        one_of(*WEIGHTS),
    )
    top_logprobs: int = field(
        0, "the most alternatives that a request may ask to be told beside each token", at_least(0)
    )
    penalties: bool = field(False, "a request may ask for `frequency_penalty` and `presence_penalty`")
    biases: int = field(0, "the most tokens that a request may name in `logit_bias`", at_least(0))
    layers: str = field(
        "auto",
        "weights and cache held apart: faster, each layer is compiled; stacked: one is; auto: by depth",
        one_of(*LAYERS),
    )
    record_routes: bool = field(False, "the experts of each token are kept with it, for ppo.replay_routes")

    def __post_init__(self) -> None:
        check_fields(self, "engine")
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
