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
    """What is planned, and for which slice."""

    preset: str = field("ui-tars-2", "the model", one_of(*sorted(PRESETS)))
    depth: int = field(
        0,
        "decoder layers; 0: the preset's. Fewer do not compile faster, but show what one layer costs",
        at_least(0),
    )
    topology: str = field("v5p:8x8x8", "CHIP:AxB or CHIP:AxBxC")
    optimizer: str = field_of(OptimizerConfig, "algorithm")
    dtype: str = field("bfloat16", "of activations, the cache and the engine's parameters", one_of(*DTYPES))
    matmul_efficiency: float = field(
        0.8, "share of the peak that matrix products are assumed to reach", between(0.01, 1)
    )
    programs: tuple[str, ...] = field(
        PROGRAMS,
        "that are compiled",
        Rule(lambda names: bool(names) and set(names) <= set(PROGRAMS), f"some of {', '.join(PROGRAMS)}"),
    )
    compiled: str = field(
        ".cache/pod_plan", "folder of compiled programs, read again where nothing changed; empty: none"
    )
    page: str = field(
        "", "a markdown file that also gets this plan, in the place of an earlier one of this preset and slice"
    )


@dataclasses.dataclass(frozen=True)
class PlannedMesh:
    """0: what the others leave; -1: 8 on a slice of 64 chips and more, else all of them."""

    data: int = field(1, "chips that each hold the weights and a part of the rows", at_least(-1))
    fsdp: int = field(
        -1,
        "chips that share the weights and the rows; the share of the model's width on one should be a multiple of 128",
        at_least(-1),
    )
    expert: int = field(0, "that share the experts", at_least(-1))
    tensor: int = field(1, "that share each layer", at_least(-1))


@dataclasses.dataclass(frozen=True)
class PlannedBatch:
    """A minibatch of the learner."""

    rows: int = field(0, "0: one for each chip that holds rows", at_least(0))
    row_length: int = field(
        0,
        "0: 32,768, or 1,024 of a model whose heads the kernels do not take",
        Rule(lambda length: length == 0 or length > 1, "a value of at least 2, or 0"),
    )
    images_per_row: int = field(5, "at most", at_least(0))
    image_height: int = field(0, "0: 704, or 96 of such a model", at_least(0))
    image_width: int = field(0, "0: 1280, or 96", at_least(0))


@dataclasses.dataclass(frozen=True)
class DecodeStep:
    """A step of the engine."""

    slots: int = field(0, "0: 8 for each chip that holds slots", at_least(0))
    cache_length: int = field(0, "0: as row_length", at_least(0))
    new_tokens: int = field(
        1024, "that each slot reads, as many as it holds at most: a screenshot of 1280x704 is 880", at_least(1)
    )


@dataclasses.dataclass(frozen=True)
class PlannedExecution(Execution):
    """How the model is computed, as `tars_jax.model.execution` has it."""

    attention: str = field_of(
        Execution,
        "attention",
        default="",
        about="empty: splash, or dense where the model's heads are no multiple of 128",
        rule=one_of("", *ATTENTION),
    )
    experts: str = field_of(
        Execution, "experts", default="", about="empty: megablox, or ragged there", rule=one_of("", *EXPERTS)
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
