"""A policy that is served: its engine, its tokens, and how it was trained to act."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.inference.chat_template import Codec, Template
from tars_jax.inference.data_urls import Fit
from tars_jax.inference.engine import Engine
from tars_jax.inference.response_forms import ComputerToolForm
from tars_jax.model.policy import Parameters


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
