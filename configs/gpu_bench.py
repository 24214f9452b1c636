"""How busy one GPU is, and at what it could be busy at best.

Command:  ./launch/gpu_bench.sh

What came of it on one H200: docs/gpu.md. Layers held apart took more than 1.7 minutes to compile for a decode step of
28 layers, so that none has been timed; W4A8 has not been timed either.

Measures, each beside the ceilings of the same run: a large product and a copy; attention and the experts of one layer,
with the difference of their gradients from float32; the real PPO update of a dense and a mixture-of-experts policy of 1
to 2 billion active parameters (goal: 45% of the data sheet's bfloat16 rate); the engine's decode steps in bfloat16 and
in W4A8. Writes result.json and gpu_bench.md into the run directory, and a line of rows.jsonl for each entry as soon as
it is measured. An entry that fails, hangs or takes the process with it is a row with its error. The run ends after
`minutes`; the same command with --config.run=RUN goes on where it ended.

Without an accelerator, to see that all of it runs (its numbers mean nothing):
    ./launch/local.sh gpu_bench --config.size=tiny --config.warmups=1 --config.repeats=2
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.model.execution import ATTENTION, EXPERTS, REMAT
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, between, each, field, more_than, one_of

PARTS = ("matmul", "copy", "attention", "experts", "update", "decode")


@dataclasses.dataclass(frozen=True)
class Batch:
    """A minibatch: rows of packed windows that are 1, 2, 3 ... times as long as the first, a quarter of it sampled."""

    rows: int = field(0, "packed rows of the batch", at_least(0))
    row_length: int = field(0, "tokens of a row", at_least(0))
    windows: int = field(0, "context windows in a row", at_least(0))
    sampled: float = field(0.0, "share of a window's tokens that were sampled", between(0, 1))
    images_per_row: int = field(
        0, "screenshots of a row, one at the beginning of each of its longest windows", at_least(0)
    )
    image_height: int = field(0, "height of a screenshot, in pixels", at_least(0))
    image_width: int = field(0, "width of a screenshot, in pixels", at_least(0))


@dataclasses.dataclass(frozen=True)
class Decode:
    """One decode step of the engine."""

    weights: tuple[str, ...] = field(
        ("bfloat16", "w4a8"),
        "weights of the policy that are measured: bfloat16, w4a8",
        each(one_of("bfloat16", "w4a8")),
    )
    layers: tuple[str, ...] = field(
        ("stacked", "unstacked"),
        "how the engine holds weights and KV cache of the layers: tars_jax/inference/config.py",
        each(one_of("unstacked", "stacked")),
    )
    slots: int = field(0, "slots of the engine", at_least(0))
    context: int = field(0, "tokens in each slot's KV cache before the first step", at_least(0))
    chunk: int = field(0, "decode steps in one call", at_least(0))
    cache_length: int = field(0, "tokens that a slot has room for, all of which the engine reads", at_least(0))


@dataclasses.dataclass(frozen=True)
class GpuBench(RunFields):
    """The benchmark's size, its parts and its time limits."""

    size: str = field(
        "full",
        "size of the benchmark: full, for a device of 141 GB; or tiny, for any device. It decides fields "
        "below that are 0",
        one_of("full", "tiny"),
    )
    models: tuple[str, ...] = field(("dense", "moe"), "policies that are measured", each(one_of("dense", "moe")))
    parts: tuple[str, ...] = field(PARTS, "parts that are measured", each(one_of(*PARTS)))
    minutes: float = field(
        30.0, "time limit of the whole run, in minutes; what has not begun by then is reported as skipped", more_than(0)
    )
    entry_minutes: float = field(4.0, "time limit of one entry with its compilation, in minutes", more_than(0))
    warmups: int = field(2, "runs of an entry before it is timed", at_least(1))
    repeats: int = field(10, "timed runs of an entry, for median and quartiles", at_least(1))
    seconds: float = field(
        15.0, "seconds for an entry's timed runs: slow entries have fewer runs, but three at least", more_than(0)
    )


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer alone: attention of the dense policy, experts of the mixture of experts."""

    attention: tuple[str, ...] = field(
        ("cudnn", "dense"), "attention backends that are measured", each(one_of(*ATTENTION))
    )
    experts: tuple[str, ...] = field(("hopper", "buckets"), "expert backends that are measured", each(one_of(*EXPERTS)))


@dataclasses.dataclass(frozen=True)
class Peak:
    """The device's peak: matrix product and memory bandwidth."""

    matmul: int = field(0, "side of the square matrices that are multiplied", at_least(0))
    copy_bytes: int = field(0, "bytes of the array that is copied", at_least(0))


@dataclasses.dataclass(frozen=True)
class Update:
    """The learner's update, by backends and remat policies of tars_jax.model.execution."""

    attention: tuple[str, ...] = field(("cudnn",), "attention backends that are measured", each(one_of(*ATTENTION)))
    experts: tuple[str, ...] = field(("hopper",), "expert backends that are measured", each(one_of(*EXPERTS)))
    remat: tuple[str, ...] = field(
        ("products", "outputs", "full"),
        "remat policies that are measured: the first with every pair of backends, the others with the first pair",
        each(one_of(*REMAT)),
    )
    head_chunk: int = field(512, "tokens of a row whose logits are held at the same time", at_least(1))


def get_config() -> ConfigDict:
    return section(
        GpuBench,
        batch=section(Batch),
        decode=section(Decode),
        layer=section(Layer),
        peak=section(Peak),
        update=section(Update),
    )
