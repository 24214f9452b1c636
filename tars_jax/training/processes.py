"""The processes of one run: on a pod one for each host, all with the same experiment and the same data on the host.

Arrays of the learner lie over the devices of all processes, so all call it with the same batches in the same order;
what a process plays, it plays on its own devices. The first process leads: it alone writes what a run keeps once.

A program that never calls `join` is one process, which leads.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils
from orbax.checkpoint import multihost

from tars_jax import InputError

HEARTBEAT_SECONDS = 30  # without a sign of a process for so long, the others end
_FOREVER = 7 * 24 * 3600 * 1000  # milliseconds; a process waits for others as long as they live

T = TypeVar("T")


def join(environment: Mapping[str, str] = os.environ) -> None:
    """Meets the other processes; before anything else of jax.

    `JAX_COORDINATOR_ADDRESS`, `JAX_NUM_PROCESSES` and `JAX_PROCESS_ID` say who they are, all three or none: on TPU
    slices, under Slurm, Open MPI and in Kubernetes' indexed jobs jax finds out by itself. Raises InputError where
    neither is so, or where a number is none.
    """
    names = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
    address, *numbers = (environment.get(name) for name in names)
    if len({address is None, *(number is None for number in numbers)}) > 1:
        raise InputError(f"{', '.join(names)} are set in part; all of them are needed, or none.")
    if any(number is not None and not number.isdecimal() for number in numbers):
        raise InputError(f"JAX_NUM_PROCESSES and JAX_PROCESS_ID must be whole numbers; got {numbers}")
    if address is not None and not re.fullmatch(r".+:[0-9]{1,5}", address):
        raise InputError(f"JAX_COORDINATOR_ADDRESS must be HOST:PORT; got {address!r}")
    total, index = (None if number is None else int(number) for number in numbers)
    if total == 0:
        raise InputError("JAX_NUM_PROCESSES must be at least 1; got 0")
    if total is not None and index is not None and index >= total:
        raise InputError(f"JAX_PROCESS_ID must be at most {total - 1} of {total} processes; got {index}")
    jax.config.update("jax_enable_preemption_service", False)  # it would keep SIGTERM for itself
    try:
        jax.distributed.initialize(address, total, index, heartbeat_timeout_seconds=HEARTBEAT_SECONDS)
    except (ValueError, RuntimeError) as error:
        raise InputError(
            f"the processes of this run did not meet ({error}); where jax cannot find out by itself, "
            f"{', '.join(names)} say who they are."
        ) from error


def count() -> int:
    return jax.process_count() if jax.distributed.is_initialized() else 1


def number() -> int:
    """Number of this process, from 0."""
    return jax.process_index() if jax.distributed.is_initialized() else 0


def is_main_process() -> bool:
    return number() == 0


def gather(value: Any) -> list[Any]:
    """Gathers every process's value, as JSON, in the order of the processes; all call it, in the same order.

    Who waits for others keeps no device busy, so that its episodes go on.
    """
    if count() == 1:
        return [value]
    _meet()
    data = np.frombuffer(json.dumps(value).encode(), np.uint8)
    sizes = multihost_utils.process_allgather(np.array([data.size]))[:, 0]
    every = multihost_utils.process_allgather(np.pad(data, (0, int(sizes.max()) - data.size)))
    return [json.loads(row[:size].tobytes()) for row, size in zip(np.asarray(every), sizes, strict=True)]


def _meet() -> None:
    """Returns when all processes are here. In a thread, so that a signal still reaches who waits."""
    failures: list[Exception] = []

    def wait() -> None:
        try:
            multihost.get_barrier_sync_fn()(key="tars_jax", timeout_ms=_FOREVER)
        except Exception as error:
            failures.append(error)

    waiting = threading.Thread(target=wait, name="processes", daemon=True)
    waiting.start()
    while waiting.is_alive():
        waiting.join(timeout=0.1)
    if failures:
        raise RuntimeError("the processes of this run lost each other") from failures[0]


def broadcast(value: T) -> T:
    """Broadcasts the leader's value, as JSON."""
    return value if count() == 1 else gather(value)[0]


def run_on_main_process(action: Callable[[], T]) -> T | None:
    """`action()` by the leader, while the others wait, and get None. An InputError is raised in all of them."""
    if count() == 1:
        return action()
    result, sentence = None, None
    if is_main_process():
        try:
            result = action()
        except InputError as error:
            sentence = str(error)
    if (refused := broadcast(sentence)) is not None:
        raise InputError(refused)
    return result


def all_gathered(array: Any) -> np.ndarray:
    """An array on the host, whole in every process."""
    if isinstance(array, jax.Array) and not (array.is_fully_addressable or array.is_fully_replicated):
        array = multihost_utils.process_allgather(array, tiled=True)
    return np.asarray(array)
