"""Config of a policy server: its clients and its limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.inference.chat_template import Codec, Template
from tars_jax.inference.data_urls import Fit
from tars_jax.inference.engine import Engine
from tars_jax.inference.response_forms import ComputerToolForm
from tars_jax.model.policy import Parameters
from tars_jax.web.certificate import Certificate
from tars_jax.web.request_limits import is_loopback


@dataclasses.dataclass(frozen=True)
class ServerConfig:
    """Raises InputError for values that cannot be, among them an address that others reach, without a key."""

    host: str = "127.0.0.1"
    port: int = 8000  # 0: any that is free
    api_key: str = dataclasses.field(default="", repr=False)  # "": none is asked for
    certificate: Certificate | None = None  # for TLS; None: none
    max_requests: int = 256  # under way at once; further ones are told to come again (429)
    max_body_bytes: int = 32 << 20
    body_seconds: float = 30.0  # to send a body; for weights, to send the next piece of it
    request_seconds: float = 300.0  # for an answer, the wait for a slot included
    lease_seconds: float = 120.0  # a session that is asked for nothing so long is closed
    idle_seconds: float = 600.0  # a conversation without a key that nobody goes on with so long is over, and kept
    max_lease_seconds: float = 3600.0
    stop_seconds: float = 20.0  # for the requests under way when the server is told to stop
    max_weight_bytes: int = 1 << 40
    checkpoint_root: Path | None = None  # weights may be loaded from folders below it; None: from none
    incoming: Path | None = None  # a folder for weights while they are received; None: they are not taken

    def __post_init__(self) -> None:
        for field in (
            "max_requests",
            "max_body_bytes",
            "body_seconds",
            "request_seconds",
            "lease_seconds",
            "idle_seconds",
        ):
            if getattr(self, field) <= 0:
                raise InputError(f"server.{field} must be a value above 0; got {getattr(self, field)}")
        if not 0 <= self.port < 65536:
            raise InputError(f"server.port must be 0 to 65535; got {self.port}")
        if not self.api_key.isascii() or not self.api_key.isprintable() or " " in self.api_key:
            raise InputError("server.api_key must be printable ASCII without spaces; got other characters")
        if not self.api_key and not is_loopback(self.host):
            raise InputError(f"server.api_key must be given where others can reach server.host, {self.host}; got none")


@dataclasses.dataclass(frozen=True)
class Served:
    """A policy behind an engine, and how its clients' messages become tokens."""

    name: str
    engine: Engine
    codec: Codec
    template: Template
    fit: Fit  # an image of a chat message to the size that the policy reads
    stop: int  # the token that ends an answer
    weights: Any  # tree of the policy's leaves (arrays or jax.ShapeDtypeStruct with shardings): what new weights are
    load: Callable[[Path], Parameters]  # reads exported weights, laid out like `weights`; raises InputError
    # How the policy was trained to be driven, as JSON, for clients that play with it: the section `agent` of its run's
    # config, and the (height, width) of its screenshots. None where no run says it.
    agent: Mapping[str, Any] | None = None
    screenshot: tuple[int, int] | None = None
    computer: ComputerToolForm | None = None  # how it acts by OpenAI's computer tool; None: it does not
    # Takes the windows of conversations that clients without a key have had; None: they are not recorded.
    keep: Callable[[Sequence[Sequence[Mapping[str, Any]]]], None] | None = None
    # What each token stands for, by its id, special ones left out: for answers that must be calls of tools.
    token_bytes: Callable[[], Mapping[int, bytes]] | None = None
