"""Several functions timed in turns, so that whatever else a machine does slows all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np


def times_in_turns(functions: Sequence[Callable[[], Any]], repeats: int) -> np.ndarray:
    """[repeats, functions, 2]: seconds, and processor seconds of this process, which others do not lengthen.

    Each runs once before, so that nothing is compiled while it is timed.
    """
    for function in functions:
        jax.block_until_ready(function())
    times = np.zeros((repeats, len(functions), 2))
    for turn in times:
        for function, spent in zip(functions, turn, strict=True):
            began = time.perf_counter(), time.process_time()
            jax.block_until_ready(function())
            spent[:] = time.perf_counter() - began[0], time.process_time() - began[1]
    return times
