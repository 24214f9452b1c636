"""Sections of configs whose experiments play episodes: the model and its engine, the agent, and where sandboxes are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tars_jax.agent.grammar import FORMS
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.pattern import THOUGHTS
from tars_jax.inference.config import SERVER_FORMS, EngineConfig
from tars_jax.model.config import DTYPES
from tars_jax.model.execution import Execution
from tars_jax.pipelines.schema import RunFields, Section, section
from tars_jax.rules import Rule, at_least, between, field, field_of, more_than, one_of
from tars_jax.sandbox.browser.angle import ANGLE, SOFTWARE
from tars_jax.sandbox.browser.site import MAX_SIDE
from tars_jax.training.config import RewardConfig
from tars_jax.training.loggers import LOGGERS

FROM_NANO = Rule(
    lambda name: name == "nano" or (Path(name) / "checkpoint.json").is_file(),
    "'nano', or a folder of exported weights to start from, such as import_weights makes",
)
WEIGHTS = Rule(
    lambda name: (Path(name) / "checkpoint.json").is_file(),
    "a folder of exported weights to start from, such as RUN/policy of an earlier stage",
)
OURS = "tars_jax"  # the form of servers that are ours


def fitting(low: int) -> Rule:
    """Tokens, 0 for as many as the windows of the tasks take (`tars_jax.pipelines.windows`)."""
    return Rule(lambda value: value == 0 or value >= low, f"0 for what windows take, or a value of at least {low}")


@dataclasses.dataclass(frozen=True)
class JobFields(RunFields):
    """What every run has that trains."""

    loggers: tuple[str, ...] = field(
        (),
        "wandb, mlflow: metrics go there, too, offline in the run directory; extras of these names",
        Rule(lambda names: set(names) <= set(LOGGERS), f"nothing, or some of {', '.join(LOGGERS)}"),
    )


@dataclasses.dataclass(frozen=True)
class ComputedModelSection:
    """The model, as it is computed."""

    dtype: str = field(
        "", "of activations and the cache: float32, bfloat16, or empty for the preset's", one_of("", *DTYPES)
    )
    shared_value: bool = field(False, "the value model is a head on the policy's trunk, not a model of its own")


@dataclasses.dataclass(frozen=True)
class ModelSection(ComputedModelSection):
    """The model that a run begins with."""

    preset: str = field(
        "nano",
        "nano: the preset from scratch; or a folder of exported weights (RUN/policy, or of import_weights)",
        FROM_NANO,
    )


@dataclasses.dataclass(frozen=True)
class StageModelSection(ModelSection):
    """The model that an earlier stage left."""

    preset: str = field_of(ModelSection, "preset", default="", about="RUN/policy of an earlier stage", rule=WEIGHTS)


@dataclasses.dataclass(frozen=True)
class MeshSection:
    """How devices share a model."""

    data: int = field(1, "devices that each hold the weights and a part of the rows", at_least(1))
    fsdp: int = field(1, "devices that share the weights and the rows", at_least(1))
    expert: int = field(1, "that share the experts", at_least(1))
    tensor: int = field(1, "that share each layer", at_least(1))


@dataclasses.dataclass(frozen=True)
class AgentSection:
    """What the agent reads and writes."""

    grammar: str = field("text", "of the answers", one_of(*FORMS))
    max_observation_tokens: int = field(0, "of an observation's text; 0: it is not shown", at_least(0))
    show_budget: bool = field(True, "the remaining steps stand in the prompt; off is the ablation")
    # A window a step: at nano size attention over long rows costs more than reading the instruction again, and a window
    # with several steps teaches copying of earlier thoughts before seeing.
    min_steps: int = field_of(MemoryConfig, "min_steps", default=0)
    max_steps: int = field_of(MemoryConfig, "max_steps", default=0)
    max_summaries: int = field_of(MemoryConfig, "max_summaries", default=0)


@dataclasses.dataclass(frozen=True)
class TrainedAgentSection(AgentSection):
    """What the agent reads and writes, where it is trained."""

    constrained: bool = field(False, "sample well-formed responses only; log-probabilities are then those among these")
    line_tokens: int = field_of(MemoryConfig, "line_tokens")


@dataclasses.dataclass(frozen=True)
class CallingAgentSection(TrainedAgentSection):
    """What the agent reads and writes, where an environment says what can be called."""

    constrained: bool = field(True, "only calls that there are can be sampled")
    thought: str = field("optional", "with constrained: optional, required or never", one_of(*THOUGHTS))
    most_calls: int = field(1, "with constrained: of one answer", at_least(1))
    list_actions: bool = field(False, "the prompt says what can be called")


@dataclasses.dataclass(frozen=True)
class ContestantSection(AgentSection):
    """What the agent reads and writes, where no run of its checkpoint and no server of ours says it."""

    coordinates: str = field(
        "grid",
        "0 to 1000; or pixels of the image as Qwen2.5-VL resizes it: UI-TARS-1.5, for one",
        one_of("grid", "pixels"),
    )
    max_observation_tokens: int = field_of(AgentSection, "max_observation_tokens", default=2048)
    min_steps: int = field_of(AgentSection, "min_steps", default=1)
    max_steps: int = field_of(AgentSection, "max_steps", default=4)
    max_summaries: int = field_of(AgentSection, "max_summaries", default=8)


@dataclasses.dataclass(frozen=True)
class DrawingSection:
    """What pages are drawn with."""

    use_angle: str = field(SOFTWARE, "what draws WebGL, by software; with a GPU gl, gl-egl or vulkan", one_of(*ANGLE))


@dataclasses.dataclass(frozen=True)
class BrowserSection(DrawingSection):
    """The browsers of this process, or of each host of the fleet."""

    browsers: int = field(1, "of this process, or of each host of the fleet", at_least(1))
    max_browsers: int = field(0, "further ones start while all are full and end when idle; 0: none", at_least(0))
    idle_browser_seconds: float = field(
        30.0, "after which pages and further browsers end that nobody asks for", more_than(0)
    )
    pages: int = field(8, "that play at the same time, in all browsers", at_least(1))


@dataclasses.dataclass(frozen=True)
class SizedBrowserSection(BrowserSection):
    """The browsers of this process, or of each host of the fleet, and the size of their pages."""

    browsers: int = field_of(BrowserSection, "browsers", default=2)
    size: int = field(96, "pixels on a side of the screenshots", between(32, MAX_SIDE))


@dataclasses.dataclass(frozen=True)
class OnePageSection(DrawingSection):
    """The page that an episode is played on."""

    size: int = field(96, "pixels on a side of the screenshots", between(1, MAX_SIDE))


@dataclasses.dataclass(frozen=True)
class SandboxSection:
    """Where environments have their sandboxes, when it is not this machine."""

    address: str = field("", "of a sandbox service, http://HOST:PORT: pages and computers are its")
    guests: tuple[str, ...] = field(
        (), "HOST:PORT of bare guests (launch/windows_guest.md): computers are these, one episode each"
    )
    phones: tuple[str, ...] = field((), "serials of devices and emulators that adb knows; none: stand-ins")
    key_file: str = field("", "a file that holds the key alone: an owner's with the service, or the guests' token")


@dataclasses.dataclass(frozen=True)
class FleetSection:
    """Episodes on hosts of a Ray cluster (the extra "ray"), each with the browsers above; an actor has the engine."""

    hosts: int = field(0, "that play; 0: all in this process", at_least(0))
    cpus: float = field(0.5, "that Ray reserves for each host and for the engine", at_least(0))
    policy_gpus: float = field(0.0, "that Ray reserves for the engine", at_least(0))
    address: str = field("", "of the cluster; empty: one of this machine")


@dataclasses.dataclass(frozen=True)
class PackingSection:
    """Rows of the learner."""

    row_length: int = field(48, "tokens that a row of the learner holds; 0: what windows take", fitting(32))
    images_per_row: int = field(1, "0: what windows take", at_least(0))


@dataclasses.dataclass(frozen=True)
class EngineSection:
    """The engine that the policy samples with."""

    max_length: int = field_of(
        EngineConfig,
        "max_length",
        default=64,
        about="tokens of a context window; 0: what windows take",
        rule=fitting(32),
    )
    max_new_tokens: int = field_of(
        EngineConfig, "max_new_tokens", about="of an answer; 0: of the longest of a demonstration", rule=at_least(0)
    )
    chunk: int = field_of(EngineConfig, "chunk")
    length_buckets: tuple[int, ...] = field_of(EngineConfig, "length_buckets", default=(32, 64))
    weights: str = field_of(EngineConfig, "weights")


@dataclasses.dataclass(frozen=True)
class LearnedEngineSection(EngineSection):
    """The engine that the policy samples with, whose answers are learned from."""

    record_routes: bool = field_of(EngineConfig, "record_routes")


@dataclasses.dataclass(frozen=True)
class ServerSection:
    """A server that samples for this run, in the place of the engine here."""

    address: str = field(
        "",
        "empty: the engine here samples. With form=tars_jax one or more of ours (`serve`), separated by commas",
    )
    form: str = field("sglang", "or vllm: without screenshots; or tars_jax", one_of(OURS, *SERVER_FORMS))
    model: str = field("", "its name there; vLLM takes one")
    api_key_file: str = field("", "a file that holds the key alone")
    weights_folder: str = field(
        "",
        "where servers find new weights, under the same path; empty: RUN/served, and to ours they go over HTTP",
    )
    answer_seconds: float = field(120.0, "that it may take for one answer, or to load weights", more_than(0))
    patience: float = field(3600.0, "seconds that all may be away; then the run ends, to be resumed", more_than(0))


def places(pages: int, browsers: int = 1) -> dict[str, Section]:
    """Sections of an experiment that plays in sandboxes and is no run: its pages have sizes of their own."""
    return {"browser": section(BrowserSection, browsers=browsers, pages=pages), "sandbox": section(SandboxSection)}


def rewards(**values: Any) -> Section:
    """What is taken from rewards; the lengths that it depends on are the engine's."""
    return section(RewardConfig, without=("max_length", "length_cache"), **values)


def of_runs(**others: Section) -> dict[str, Section]:
    """Sections of every run that plays in sandboxes and learns, but for `others`."""
    return {
        "model": section(ModelSection, execution=section(Execution)),
        "mesh": section(MeshSection),
        "agent": section(TrainedAgentSection),
        "browser": section(SizedBrowserSection),
        "sandbox": section(SandboxSection),
        "fleet": section(FleetSection),
        "packing": section(PackingSection),
        "engine": section(LearnedEngineSection),
        "reward": rewards(),
        **others,
    }
