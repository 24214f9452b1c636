"""Sections of configs whose experiments play episodes: the model and its engine, the agent, and where sandboxes are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

from tars_jax.agent.grammar import FORMS
from tars_jax.agent.memory import MemoryConfig
from tars_jax.agent.pattern import THOUGHTS
from tars_jax.inference.config import SERVER_FORMS, EngineConfig
from tars_jax.model.config import DTYPES
from tars_jax.model.execution import Execution
from tars_jax.pipelines.schema import RunFields, Section, section
from tars_jax.rollout.config import FleetConfig
from tars_jax.rules import Rule, Together, at_least, between, field, field_of, more_than, once, one_of
from tars_jax.sandbox.address import is_guest, is_server_address
from tars_jax.sandbox.browser.config import BrowserConfig
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
ROOM_FOR_A_PROMPT = Together(
    "max_length",
    lambda engine: not engine["max_length"] or engine["max_length"] > engine["max_new_tokens"],
    "above engine.max_new_tokens, as a window holds a prompt and its answer",
)
OURS = "tars_jax"  # the form of servers that are ours


def fitting(low: int) -> Rule:
    """Tokens, 0 for as many as the windows of the tasks take (`tars_jax.pipelines.windows`)."""
    return Rule(lambda value: value == 0 or value >= low, f"0 for what windows take, or a value of at least {low}")


@dataclasses.dataclass(frozen=True)
class JobFields(RunFields):
    """Fields of every run that trains."""

    loggers: tuple[str, ...] = field(
        (),
        "experiment trackers that also get the metrics, offline in the run directory: wandb, mlflow (extras "
        "of these names)",
        once(Rule(lambda names: set(names) <= set(LOGGERS), f"nothing, or some of {', '.join(LOGGERS)}")),
    )


@dataclasses.dataclass(frozen=True)
class ComputedModelSection:
    """The model's dtype, and whether the value model shares its trunk."""

    dtype: str = field(
        "", "dtype of activations and KV cache: float32 or bfloat16; empty: the preset's", one_of("", *DTYPES)
    )
    shared_value: bool = field(
        False, "whether the value model is a head on the policy's trunk, rather than a model of its own"
    )


@dataclasses.dataclass(frozen=True)
class ModelSection(ComputedModelSection):
    """The model that a run starts from."""

    preset: str = field(
        "nano",
        "nano: random weights of that preset; or a folder of exported weights (RUN/policy, or of import_weights)",
        FROM_NANO,
    )


@dataclasses.dataclass(frozen=True)
class StageModelSection(ModelSection):
    """The model that an earlier stage exported."""

    preset: str = field_of(
        ModelSection,
        "preset",
        default="",
        about="folder of exported weights: RUN/policy of an earlier stage",
        rule=WEIGHTS,
    )


@dataclasses.dataclass(frozen=True)
class MeshSection:
    """The device mesh: how devices share a model."""

    data: int = field(1, "data parallelism: devices that each hold all weights and a part of the rows", at_least(1))
    fsdp: int = field(1, "fully sharded data parallelism: devices that share both weights and rows", at_least(1))
    expert: int = field(1, "expert parallelism: devices that share the experts", at_least(1))
    tensor: int = field(1, "tensor parallelism: devices that share each layer", at_least(1))


@dataclasses.dataclass(frozen=True)
class AgentSection:
    """The agent's answers, observations and memory."""

    grammar: str = field("text", "form of the policy's answers", one_of(*FORMS))
    max_observation_tokens: int = field(
        0, "most tokens of an observation's text; 0: the text is not shown", at_least(0)
    )
    show_budget: bool = field(True, "whether the prompt says how many steps remain (False: an ablation)")
    # A window a step: at nano size attention over long rows costs more than reading the instruction again, and a window
    # with several steps teaches copying of earlier thoughts before seeing.
    min_steps: int = field_of(MemoryConfig, "min_steps", default=0)
    max_steps: int = field_of(MemoryConfig, "max_steps", default=0)
    max_summaries: int = field_of(MemoryConfig, "max_summaries", default=0)


@dataclasses.dataclass(frozen=True)
class TrainedAgentSection(AgentSection):
    """The agent's answers, observations and memory, while it is trained."""

    constrained: bool = field(
        False, "whether only well-formed answers can be sampled; log-probabilities are then among these"
    )
    line_tokens: int = field_of(MemoryConfig, "line_tokens")


@dataclasses.dataclass(frozen=True)
class CallingAgentSection(TrainedAgentSection):
    """The agent's answers, observations and memory, where the environment lists its calls."""

    constrained: bool = field(True, "whether only calls of the environment can be sampled")
    thought: str = field(
        "optional", "whether an answer has a thought, with constrained: optional, required or never", one_of(*THOUGHTS)
    )
    most_calls: int = field(1, "most calls of one answer, with constrained", at_least(1))
    list_actions: bool = field(False, "whether the prompt lists the environment's calls")


@dataclasses.dataclass(frozen=True)
class ContestantSection(AgentSection):
    """The agent's answers and memory, for checkpoints without a run and servers other than ours."""

    coordinates: str = field(
        "grid",
        "coordinates of the policy's clicks: grid, 0 to 1000; or pixels of the image as Qwen2.5-VL resizes "
        "it (UI-TARS-1.5, for one)",
        one_of("grid", "pixels"),
    )
    max_observation_tokens: int = field_of(AgentSection, "max_observation_tokens", default=2048)
    min_steps: int = field_of(AgentSection, "min_steps", default=1)
    max_steps: int = field_of(AgentSection, "max_steps", default=4)
    max_summaries: int = field_of(AgentSection, "max_summaries", default=8)


@dataclasses.dataclass(frozen=True)
class DrawingSection:
    """Settings of how Chromium renders WebGL."""

    use_angle: str = field_of(BrowserConfig, "use_angle")


@dataclasses.dataclass(frozen=True)
class BrowserSection(DrawingSection):
    """The browsers of this process, or of each host of the fleet."""

    TOGETHER = BrowserConfig.TOGETHER

    browsers: int = field_of(
        BrowserConfig, "browsers", default=1, about="browsers of this process, or of each host of the fleet"
    )
    max_browsers: int = field_of(BrowserConfig, "max_browsers")
    idle_browser_seconds: float = field_of(BrowserConfig, "idle_browser_s")
    pages: int = field(8, "pages that play at the same time, in all browsers together", at_least(1))


@dataclasses.dataclass(frozen=True)
class SizedBrowserSection(BrowserSection):
    """The browsers of this process, or of each host of the fleet, and the size of their pages."""

    browsers: int = field_of(BrowserSection, "browsers", default=2)
    size: int = field(96, "side of the square screenshots, in pixels", between(32, MAX_SIDE))


@dataclasses.dataclass(frozen=True)
class OnePageSection(DrawingSection):
    """The page that an episode is played on."""

    size: int = field(96, "side of the square screenshots, in pixels", between(1, MAX_SIDE))


@dataclasses.dataclass(frozen=True)
class SandboxSection:
    """Remote sandboxes: where pages, computers and phones of environments are, if not on this machine."""

    address: str = field(
        "",
        "address of a sandbox service, http://HOST:PORT, which provides pages and computers; empty: none",
        Rule(
            lambda address: not address or is_server_address(address), "http://HOST:PORT of a sandbox service, or empty"
        ),
    )
    guests: tuple[str, ...] = field(
        (),
        "HOST:PORT of bare guests (launch/windows_guest.md), each the computer of one episode",
        Rule(lambda guests: all(map(is_guest, guests)), "HOST:PORT of guests, separated by commas, or ()"),
    )
    phones: tuple[str, ...] = field((), "adb serials of devices and emulators; (): stand-ins")
    key_file: str = field("", "file that holds only the key: an owner's of the service, or the guests' token")


@dataclasses.dataclass(frozen=True)
class FleetSection:
    """Rollout workers on hosts of a Ray cluster (the extra "ray"); the engine is a Ray actor."""

    hosts: int = field_of(
        FleetConfig,
        "hosts",
        default=0,
        about="hosts that play episodes; 0: all are played in this process",
        rule=at_least(0),
    )
    cpus: float = field_of(FleetConfig, "cpus")
    policy_gpus: float = field(0.0, "GPUs that Ray reserves for the engine", at_least(0))
    address: str = field_of(FleetConfig, "address")


@dataclasses.dataclass(frozen=True)
class PackingSection:
    """Packed rows of the learner."""

    row_length: int = field(48, "tokens of a packed row; 0: as long as context windows need", fitting(32))
    images_per_row: int = field(1, "screenshots of a packed row; 0: as many as context windows need", at_least(0))


@dataclasses.dataclass(frozen=True)
class EngineSection:
    """The inference engine that the policy samples with."""

    TOGETHER: ClassVar[tuple[Together, ...]] = (ROOM_FOR_A_PROMPT,)

    max_length: int = field_of(
        EngineConfig,
        "max_length",
        default=64,
        about="tokens of a context window; 0: as long as the task needs",
        rule=fitting(32),
    )
    max_new_tokens: int = field_of(
        EngineConfig,
        "max_new_tokens",
        about="most tokens of an answer; 0: as many as the longest demonstrated answer",
        rule=at_least(0),
    )
    chunk: int = field_of(EngineConfig, "chunk")
    length_buckets: tuple[int, ...] = field_of(EngineConfig, "length_buckets", default=(32, 64))
    weights: str = field_of(EngineConfig, "weights")


@dataclasses.dataclass(frozen=True)
class LearnedEngineSection(EngineSection):
    """The inference engine that the policy samples with, for training."""

    record_routes: bool = field_of(EngineConfig, "record_routes")


@dataclasses.dataclass(frozen=True)
class ServerSection:
    """A remote inference server that samples for this run, instead of the engine here."""

    address: str = field(
        "",
        "addresses of inference servers; empty: the engine here samples. Form tars_jax takes several of "
        "ours (`serve`), separated by commas",
    )
    form: str = field(
        "sglang", "kind of server: sglang; vllm, without screenshots; or tars_jax", one_of(OURS, *SERVER_FORMS)
    )
    model: str = field("", "the model's name at the server; vLLM needs one")
    api_key_file: str = field("", "file that holds only the API key")
    weights_folder: str = field(
        "",
        "folder that servers load new weights from, under the same path there; empty: RUN/served, and our "
        "servers get them over HTTP",
    )
    answer_seconds: float = field(120.0, "time limit of one answer, or of loading weights, in seconds", more_than(0))
    patience: float = field(
        3600.0, "seconds that all servers may be unreachable before the run ends; it can be resumed", more_than(0)
    )


def places(pages: int, browsers: int = 1) -> dict[str, Section]:
    """Sections of an experiment that plays in sandboxes and is no run: its pages have sizes of their own."""
    return {"browser": section(BrowserSection, browsers=browsers, pages=pages), "sandbox": section(SandboxSection)}


def rewards(**values: Any) -> Section:
    """Section of reward shaping; the lengths that it depends on are the engine's."""
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
