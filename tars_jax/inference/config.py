"""Configs of an inference engine and of the server before it, and the engine's statistics. Nothing here imports jax."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.rules import Rule, at_least, check_fields, field, field_of, more_than, one_of
from tars_jax.web.credentials import Certificate
from tars_jax.web.listening import ListenAddress
from tars_jax.web.request_limits import is_loopback

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
    """The inference engine: its slots, buckets, context length and sampling options.

    Raises InputError, naming the field, for values that mean nothing.
    """

    slots: int = field(8, "sequences whose KV cache is on the device at the same time", at_least(1))
    max_length: int = field(256, "tokens of a context window", at_least(1))
    max_new_tokens: int = field(24, "most tokens of an answer, unless its request sets another limit", at_least(1))
    temperature: float = field(1.0, "sampling temperature of requests that set none", at_least(0))
    constraint: str | None = field(None, "name of the decoding constraint of requests that set none")
    chunk: int = field(8, "decode steps between two looks at the request queue", at_least(1))
    row_buckets: tuple[int, ...] = field(
        (2, 8), "batch sizes of prefill, for each of which one program is compiled", ASCENDING
    )
    length_buckets: tuple[int, ...] = field(
        (24, 48, 128, 256), "lengths in tokens to which a prefill is padded", ASCENDING
    )
    decode_buckets: tuple[int, ...] = field(
        (), "batch sizes of decoding below `slots`; (): all slots are always decoded"
    )
    image_buckets: tuple[int, ...] = field(
        (1, 8), "batch sizes in which screenshots of one size are encoded", ASCENDING
    )
    image_cache_tokens: int = field(
        2048, "size of the image-feature cache, in image tokens; at least max_length", at_least(1)
    )
    max_sessions: int = field(
        1024, "most open sessions; the KV cache of those without a slot waits in host memory", at_least(1)
    )
    max_queue: int = field(1024, "most requests that wait in the queue", at_least(1))
    weights: str = field(
        "float",
        "weights of the policy that samples: float; or w4a8: int4 weights with int8 activations, whose "
        "log-probabilities differ",
        one_of(*WEIGHTS),
    )
    top_logprobs: int = field(0, "most `top_logprobs` per token that a request may ask for", at_least(0))
    penalties: bool = field(False, "whether a request may set `frequency_penalty` and `presence_penalty`")
    biases: int = field(0, "most tokens that a request may name in `logit_bias`", at_least(0))
    layers: str = field(
        "auto",
        "how weights and KV cache of the layers are held: unstacked compiles each layer and is faster; "
        "stacked compiles one for all; auto decides by depth",
        one_of(*LAYERS),
    )
    record_routes: bool = field(
        False, "whether the experts of each sampled token are recorded, as ppo.replay_routes needs"
    )

    def __post_init__(self) -> None:
        check_fields(self, "engine")
        if any(not 1 <= rows < self.slots for rows in self.decode_buckets):
            raise InputError(f"engine.decode_buckets must be sizes of 1 to slots - 1; got {self.decode_buckets!r}")

    def groups(self, model: ModelConfig) -> tuple[int, ...]:
        """Number of layers that each array of a model holds together (`tars_jax.model.decoder`)."""
        apart = self.layers == "unstacked" or (self.layers == "auto" and model.depth <= FEW_LAYERS)
        return (1,) * model.depth if apart else model.layer_runs


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerConfig(ListenAddress):
    """The HTTP server: limits of requests and conversations.

    Raises InputError, naming the field, for values that mean nothing, and for an address that others reach, without a
    key.
    """

    port: int = field_of(ListenAddress, "port", default=8000)
    api_key: str = dataclasses.field(default="", repr=False)  # "": none is asked for
    certificate: Certificate | None = None  # for TLS; None: none
    max_requests: int = field(256, "most requests under way at once; further ones are answered with 429", at_least(1))
    max_body_megabytes: int = field(32, "size limit of a request's body, in megabytes", at_least(1))
    # For the whole body; for weights, for the next piece of it.
    body_seconds: float = field(30.0, "seconds that a request's body may take to come", more_than(0))
    request_seconds: float = field(300.0, "time limit of one request, in seconds", more_than(0))
    lease_seconds: float = field(120.0, "seconds without a request after which a session is closed", more_than(0))
    idle_seconds: float = field(
        600.0, "seconds without a request after which a conversation is over, and kept in `record`", more_than(0)
    )
    max_lease_seconds: float = 3600.0
    stop_seconds: float = field(
        20.0, "seconds that requests under way may take when the server is told to stop", more_than(0)
    )
    max_weight_bytes: int = 1 << 40
    checkpoint_root: Path | None = None  # weights may be loaded from folders below it; None: from none
    incoming: Path | None = None  # a folder for weights while they are received; None: they are not taken

    def __post_init__(self) -> None:
        check_fields(self, "server")
        if not self.api_key.isascii() or not self.api_key.isprintable() or " " in self.api_key:
            raise InputError("server.api_key must be printable ASCII without spaces; got other characters")
        if not self.api_key and not is_loopback(self.host):
            raise InputError(f"server.api_key must be given where others can reach server.host, {self.host}; got none")

    @property
    def max_body_bytes(self) -> int:
        return self.max_body_megabytes << 20


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
