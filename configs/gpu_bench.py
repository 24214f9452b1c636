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

    rows: int = field(0, "of the batch; 0: what the size says", at_least(0))
    row_length: int = field(0, "tokens", at_least(0))
    windows: int = field(0, "in a row", at_least(0))
    sampled: float = field(0.0, "share of a window's tokens", between(0, 1))
    images_per_row: int = field(0, "at the beginning of the longest windows, one in each", at_least(0))
    image_height: int = field(0, "pixels", at_least(0))
    image_width: int = field(0, "pixels", at_least(0))


@dataclasses.dataclass(frozen=True)
class Decode:
    """One decode step."""

    weights: tuple[str, ...] = field(("bfloat16", "w4a8"), "of the policy", each(one_of("bfloat16", "w4a8")))
    layers: tuple[str, ...] = field(
        ("stacked", "unstacked"),
        "how the engine holds weights and cache: tars_jax/inference/config.py",
        each(one_of("unstacked", "stacked")),
    )
    slots: int = field(0, "of the engine", at_least(0))
    context: int = field(0, "tokens in each slot's cache before the first step", at_least(0))
    chunk: int = field(0, "steps in one call", at_least(0))
    cache_length: int = field(0, "tokens that a slot has room for: the engine reads all of them", at_least(0))


@dataclasses.dataclass(frozen=True)
class GpuBench(RunFields):
    size: str = field(
        "full",
        "full fills a device of 141 GB; tiny runs anywhere. 0 in a field below: what the size says",
        one_of("full", "tiny"),
    )
    models: tuple[str, ...] = field(("dense", "moe"), "which policies", each(one_of("dense", "moe")))
    parts: tuple[str, ...] = field(PARTS, "what is measured", each(one_of(*PARTS)))
    minutes: float = field(30.0, "of the whole run; what has not begun by then is a line that says so", more_than(0))
    entry_minutes: float = field(4.0, "of one entry, its compilation included", more_than(0))
    warmups: int = field(2, "runs before the clock", at_least(1))
    repeats: int = field(10, "of which median and quartiles are taken", at_least(1))
    seconds: float = field(
        15.0, "of an entry's repetitions: slow ones are repeated less often, but three times at least", more_than(0)
    )


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer alone, of the dense policy (attention) and the mixture of experts."""

    attention: tuple[str, ...] = field(("cudnn", "dense"), "its backends", each(one_of(*ATTENTION)))
    experts: tuple[str, ...] = field(("hopper", "buckets"), "their backends", each(one_of(*EXPERTS)))


@dataclasses.dataclass(frozen=True)
class Peak:
    """What the device reaches at best."""

    matmul: int = field(0, "side of the product", at_least(0))
    copy_bytes: int = field(0, "of the array", at_least(0))


@dataclasses.dataclass(frozen=True)
class Update:
    """Backends and remat policies of tars_jax.model.execution."""

    attention: tuple[str, ...] = field(("cudnn",), "its backends", each(one_of(*ATTENTION)))
    experts: tuple[str, ...] = field(("hopper",), "their backends", each(one_of(*EXPERTS)))
    remat: tuple[str, ...] = field(
        ("products", "outputs", "full"),
        "the first goes with every pair of backends, the others with the first pair",
        each(one_of(*REMAT)),
    )
    head_chunk: int = field(512, "tokens of a row whose logits are held at a time", at_least(1))


def get_config() -> ConfigDict:
    return section(
        GpuBench,
        batch=section(Batch),
        decode=section(Decode),
        layer=section(Layer),
        peak=section(Peak),
        update=section(Update),
    )
