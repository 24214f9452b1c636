"""A trained policy over HTTP: OpenAI's chat completions, and tokens in and out for RL.

Command:  ./launch/local.sh serve --config.checkpoint=RUN/policy

RUN is the run directory of a quickstart or of another experiment that exports weights, which record their model; the
run's config says which screenshots it reads. What import_weights makes is served too, with Qwen's own form of messages.
Ready when it prints its address and an example call. Ctrl-C or SIGTERM ends it.
"""

import dataclasses
import os
from typing import ClassVar

from ml_collections import ConfigDict

from tars_jax.agent.grammar import GRAMMARS
from tars_jax.inference.config import EngineConfig, ServerConfig
from tars_jax.pipelines.run_sections import ROOM_FOR_A_PROMPT, MeshSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, Together, field, field_of
from tars_jax.web.listening import ListenAddress


@dataclasses.dataclass(frozen=True)
class Serve(ListenAddress, RunFields):
    """The policy that is served, and its clients."""

    port: int = field_of(ServerConfig, "port")
    checkpoint: str = field(
        "",
        "folder of exported weights (RUN/policy, RUN/supervised, ...); or a preset's name, for random "
        "weights until a learner sends its own",
        Rule(bool, "a folder of exported weights: --config.checkpoint=RUN/policy; or a preset's name"),
    )
    name: str = field("tars_jax", "name of the model for clients", Rule(bool, "a name for the model"))
    api_key_file: str = field("", "file that holds only the API key; empty: clients need none")
    certificate_file: str = field("", "PEM file of the TLS certificate's chain, for https; empty: http")
    certificate_key_file: str = field("", "PEM file of the TLS certificate's private key, for https")
    checkpoint_root: str = field(
        "",
        "folder below which new weights may be loaded; empty: the checkpoint's parent folder, none for a preset",
        Rule(lambda folder: not folder or os.path.isdir(folder), "a folder that is there"),
    )
    record: str = field(
        "",
        "folder in which conversations are kept as trajectories with exact tokens, such as runs/recorded; "
        "empty: they are not kept",
    )
    image: tuple[int, ...] = field(
        (),
        "size of images in chat messages, (height, width); (): as in the checkpoint's run, else each its own",
        Rule(
            lambda size: len(size) in (0, 2) and all(side > 0 for side in size),
            "(height, width) in pixels, or () for those of the checkpoint's run",
        ),
    )
    constraints: tuple[str, ...] = field(
        ("text", "tool"),
        "grammars that a request may name as its `constraint`",
        Rule(lambda names: set(names) <= set(GRAMMARS), f"some of {', '.join(GRAMMARS)}, or ()"),
    )


@dataclasses.dataclass(frozen=True)
class ServingEngine(EngineConfig):
    """The inference engine behind the server."""

    TOGETHER: ClassVar[tuple[Together, ...]] = (ROOM_FOR_A_PROMPT,)

    max_length: int = field_of(
        EngineConfig,
        "max_length",
        default=2048,
        about="tokens of a context window: messages, the tools that they list (350 and more each) and an answer",
    )


def get_config() -> ConfigDict:
    return section(
        Serve,
        engine=section(
            ServingEngine,
            without=("temperature", "constraint", "decode_buckets", "image_cache_tokens"),
            max_new_tokens=64,
            length_buckets=(32, 256, 2048),
            penalties=True,
            biases=300,
            top_logprobs=20,
        ),
        server=section(ServerConfig, without=("host", "port", "body_seconds")),
        mesh=section(MeshSection),
    )
