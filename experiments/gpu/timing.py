"""Seconds of a program on a device that works while the host runs ahead."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of one run, over repetitions."""

    median: float
    low: float  # quartiles
    high: float
    repeats: int


@dataclasses.dataclass(frozen=True)
class Patience:
    """How often a program runs: unmeasured, then measured, fewer times if that takes too long."""

    warmups: int = 2
    repeats: int = 10
    seconds: float = 15.0  # of all repetitions; LEAST_REPEATS are made in any case


LEAST_REPEATS = 3
LEAST_SECONDS = 0.02  # a shorter program runs several times before the clock is read


def measure(run: Callable[[], Any], patience: Patience) -> Timing:
    """Times `run`, which returns arrays of the device; a repetition ends when the last of them is there."""

    def seconds(times: int) -> float:
        began = time.perf_counter()
        for _ in range(times):
            out = run()
        jax.block_until_ready(out)
        return (time.perf_counter() - began) / times

    warm = [seconds(1) for _ in range(max(patience.warmups, 1))]
    times = max(1, int(LEAST_SECONDS / max(warm[-1], 1e-6)))
    found: list[float] = []
    while len(found) < patience.repeats and (len(found) < LEAST_REPEATS or sum(found) * times < patience.seconds):
        found.append(seconds(times))
    low, median, high = (float(each) for each in np.percentile(found, [25, 50, 75]))
    return Timing(median, low, high, len(found))


def compiled(lower: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The program, and what it took: seconds, and bytes of the device for arguments and temporaries."""
    began = time.perf_counter()
    program = lower().compile()
    analysis = program.memory_analysis()
    return program, {
        "compile_seconds": time.perf_counter() - began,
        "argument_bytes": float(analysis.argument_size_in_bytes),
        "temporary_bytes": float(analysis.temp_size_in_bytes),
    }
