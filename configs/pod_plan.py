"""What a slice of TPUs will say, without one.

Command:  ./launch/local.sh pod_plan --config.preset=ui-tars-2 --config.topology=v5p:8x8x8

Compiles the real PPO policy update, value update, decode step and reading of new tokens ahead of time for the topology,
and writes plan.json and plan.md into the run directory; --config.page=docs/pod_plans.md puts the plan into that page
too. Needs the TPU compiler, no TPU: it comes with the extra tars_jax[pod], which the development environment has.

An update of ui-tars-2 takes three to eight minutes of one core or two, a program of its engine one. docs/pod_plans.md
has what came out, with all 61 layers and images. The updates fit with 56% of the memory of a v5p, since a layer's input
and attention wait on the host, 54 GiB a chip; their utilization is estimated at 46 to 57%, depending on how much of the
memory traffic and of the wires hides behind products, which are assumed to reach 80% of the peak. The goal was 45% with
headroom. With remat=full they took 91% at 38 to 50%, in an earlier version.

The 30B preset takes 99% of 256 chips of v6e at 31 to 56%, and 96% of 256 chips of v5e at 28 to 53% with windows of half
the length:

    ./launch/local.sh pod_plan --config.preset=qwen3-vl-30b-a3b --config.topology=v6e:16x16 --config.mesh.fsdp=16
        --config.decode.mesh.expert=16 --config.decode.mesh.tensor=1 --config.decode.slots=1024
    ./launch/local.sh pod_plan --config.preset=qwen3-vl-30b-a3b --config.topology=v5e:16x16 --config.mesh.fsdp=16
        --config.decode.mesh.expert=16 --config.decode.mesh.tensor=1 --config.decode.slots=512
        --config.batch.row_length=16384 --config.decode.cache_length=16384

A small one, nano on four chips of v5e (a minute and a half of one core); what is not given of meshes, lengths and
backends follows the slice and the model:

    ./launch/local.sh pod_plan --config.preset=nano --config.topology=v5e:2x2
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.model.config import DTYPES
from tars_jax.model.execution import ATTENTION, EXPERTS, Execution
from tars_jax.model.presets import PRESETS
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, between, field, field_of, one_of
from tars_jax.training.config import OptimizerConfig

PROGRAMS = ("policy update", "value update", "decode step", "prefill")


@dataclasses.dataclass(frozen=True)
class Plan(RunFields):
    """The model to plan, and the TPU slice."""

    preset: str = field("ui-tars-2", "preset of the model", one_of(*sorted(PRESETS)))
    depth: int = field(
        0,
        "decoder layers; 0: the preset's. Fewer layers do not compile faster, but show the cost of one",
        at_least(0),
    )
    topology: str = field("v5p:8x8x8", "TPU slice: CHIP:AxB or CHIP:AxBxC")
    optimizer: str = field_of(OptimizerConfig, "algorithm")
    dtype: str = field("bfloat16", "dtype of activations, KV cache and the engine's parameters", one_of(*DTYPES))
    matmul_efficiency: float = field(
        0.8, "share of the peak FLOP/s that matrix products are assumed to reach", between(0.01, 1)
    )
    programs: tuple[str, ...] = field(
        PROGRAMS,
        "programs that are compiled",
        Rule(lambda names: bool(names) and set(names) <= set(PROGRAMS), f"some of {', '.join(PROGRAMS)}"),
    )
    compiled: str = field(".cache/pod_plan", "cache folder of compiled programs; empty: no cache")
    page: str = field("", "markdown file in which this plan replaces an earlier one of the same preset and slice")


@dataclasses.dataclass(frozen=True)
class PlannedMesh:
    """The device mesh. 0: what the other axes leave; -1: 8 on slices of 64 chips and more, else all chips."""

    data: int = field(1, "data parallelism: chips that each hold all weights and a part of the rows", at_least(-1))
    fsdp: int = field(
        -1,
        "fully sharded data parallelism: chips that share weights and rows; the model's width on each "
        "should be a multiple of 128",
        at_least(-1),
    )
    expert: int = field(0, "expert parallelism: chips that share the experts", at_least(-1))
    tensor: int = field(1, "tensor parallelism: chips that share each layer", at_least(-1))


@dataclasses.dataclass(frozen=True)
class PlannedBatch:
    """A minibatch of the learner. Heads that the kernels do not take are called small here."""

    rows: int = field(0, "packed rows of the minibatch; 0: one for each chip that holds rows", at_least(0))
    row_length: int = field(
        0,
        "tokens of a row; 0: 32,768, or 1,024 for small heads",
        Rule(lambda length: length == 0 or length > 1, "a value of at least 2, or 0"),
    )
    images_per_row: int = field(5, "most screenshots of a row", at_least(0))
    image_height: int = field(0, "height of a screenshot in pixels; 0: 704, or 96 for small heads", at_least(0))
    image_width: int = field(0, "width of a screenshot in pixels; 0: 1280, or 96 for small heads", at_least(0))


@dataclasses.dataclass(frozen=True)
class DecodeStep:
    """A prefill and a decode step of the inference engine."""

    slots: int = field(0, "slots of the engine; 0: 8 for each chip that holds slots", at_least(0))
    cache_length: int = field(0, "tokens of each slot's KV cache; 0: as row_length", at_least(0))
    new_tokens: int = field(
        1024,
        "tokens of each slot's prefill, at most as many as its KV cache holds: a screenshot of 1280x704 is 880",
        at_least(1),
    )


@dataclasses.dataclass(frozen=True)
class PlannedExecution(Execution):
    """How the model is computed, as in `tars_jax.model.execution`."""

    attention: str = field_of(
        Execution,
        "attention",
        default="",
        about="attention backend of the learner's rows; empty: splash, or dense where the model's heads are no "
        "multiple of 128",
        rule=one_of("", *ATTENTION),
    )
    experts: str = field_of(
        Execution,
        "experts",
        default="",
        about="backend of the expert layers; empty: megablox, or ragged where attention is dense",
        rule=one_of("", *EXPERTS),
    )


def get_config() -> ConfigDict:
    return section(
        Plan,
        mesh=section(PlannedMesh),
        batch=section(PlannedBatch),
        decode=section(DecodeStep, mesh=section(PlannedMesh, data=0, fsdp=1, expert=-1, tensor=-1)),
        execution=section(
            PlannedExecution, without=("capacity", "unroll"), remat="host", expert_communication="weight_gather",
            products="plain", cache="rows", head_chunk=2048,
        ),
    )  # fmt: skip
