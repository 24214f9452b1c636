"""Benchmarks by name: those here, package.module:attribute, or an entry point of the group `tars_jax.benchmarks`."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

from tars_jax import InputError
from tars_jax.plugins import Plugins
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTasks

_PLUGINS = Plugins("suite", "tars_jax.benchmarks")
# Where each is; its module is imported when it is used.
BENCHMARKS: Mapping[str, str] = {
    "browsecomp": "tars_jax.tasks.benchmarks.browsecomp:BROWSECOMP",
    "online_mind2web": "tars_jax.tasks.benchmarks.online_mind2web:ONLINE_MIND2WEB",
    "webarena_verified": "tars_jax.tasks.benchmarks.webarena_verified:WEBARENA_VERIFIED",
    "browsecomp_zh": "tars_jax.tasks.benchmarks.browsecomp:BROWSECOMP_ZH",
    "android_world": "tars_jax.tasks.benchmarks.android_world:ANDROID_WORLD",
    "windows_agent_arena": "tars_jax.tasks.benchmarks.windows_agent_arena:WINDOWS_AGENT_ARENA",
    "osworld2": "tars_jax.tasks.benchmarks.osworld2:OSWORLD2",
    "osworld": "tars_jax.tasks.benchmarks.osworld:OSWORLD",
    "swe_bench": "tars_jax.tasks.benchmarks.swe_bench:SWE_BENCH",
    "terminal_bench_online": "tars_jax.tasks.benchmarks.terminal_bench:TERMINAL_BENCH_ONLINE",
    "terminal_bench": "tars_jax.tasks.benchmarks.terminal_bench:TERMINAL_BENCH",
}


def is_benchmark(name: str) -> bool:
    """Whether it is one of ours, or of an installed package."""
    return name in BENCHMARKS or name in _PLUGINS.entry_points()


def load_benchmark(name: str) -> Benchmark:
    """Raises InputError where there is none of that name."""
    found = _PLUGINS.load(BENCHMARKS.get(name, name))
    if not isinstance(found, Benchmark):
        raise InputError(f"suite {name!r} must be a Benchmark; got an object of type {type(found).__name__}")
    return found


def read_benchmark(name: str, tasks: object, names: object = ()) -> BenchmarkTasks:
    """The tasks of a path, or of an address where the benchmark takes one, read once.

    Raises InputError for options that are none, and as `BenchmarkTasks` does.
    """
    if not isinstance(tasks, str) or not tasks:
        raise InputError(f"{name}: option tasks must be the path of its tasks; got {tasks!r}")
    if not isinstance(names, list | tuple) or not all(type(each) in (str, int) for each in names):
        raise InputError(f"{name}: option names must be a list of ids of tasks; got {names!r:.100}")
    ids = tuple(map(str, names))  # flags read ids of digits as numbers
    try:
        changed = os.stat(tasks).st_mtime_ns
    except OSError:  # an address, or nothing: the benchmark says which
        changed = 0
    return _read(name, tasks, ids, changed)


@functools.lru_cache(maxsize=32)
def _read(name: str, tasks: str, names: tuple[str, ...], changed: int) -> BenchmarkTasks:
    return BenchmarkTasks(load_benchmark(name), Path(tasks), names)
