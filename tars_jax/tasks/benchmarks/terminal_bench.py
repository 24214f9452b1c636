"""Terminal-Bench, and every set of task folders in Harbor's form."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.tasks.benchmarks.harbor.folder import CONFIG, HarborTask, read_task, why_left_out

MAX_STEPS = 100  # Harbor counts seconds alone


def read_tasks(path: Path, *, online: bool = False) -> Sequence[BenchmarkTask]:
    """A task folder, or a folder of them. `online`: what asks the internet is played, too.

    Raises InputError that names the file and the field.
    """
    if not path.is_dir():
        raise InputError(f"tasks must be a folder of task folders, as Harbor has them; got {str(path)!r}")
    folders = (
        [path] if (path / CONFIG).is_file() else sorted(each for each in path.iterdir() if (each / CONFIG).is_file())
    )
    if not folders:
        raise InputError(f"tasks must be a folder with {CONFIG}, or one of such folders; got {str(path)!r}")
    return [_task(read_task(folder), online) for folder in folders]


def _task(task: HarborTask, online: bool) -> BenchmarkTask:
    metadata = task.config.metadata
    group = metadata.get("difficulty") or metadata.get("category") or ""
    return BenchmarkTask(
        task.folder.name, task.stages[0].instruction, str(group), time_limit=task.time_limit or math.inf,
        record={"name": task.config.task.name, "steps": [stage.name for stage in task.stages if stage.name]},
        folder=task.folder, left_out=why_left_out(task, online=online),
    )  # fmt: skip


TERMINAL_BENCH = Benchmark(
    name="terminal_bench",
    title="Terminal-Bench",
    version="task folders of Harbor, schema 1.4",
    read=read_tasks,
    environment="tars_jax.envs.benchmarks.terminal_bench:TerminalBenchEnvironment",
    max_steps=MAX_STEPS,
    attempts=5,
    results="tars_jax.evaluation.benchmarks.terminal_bench:write_results",
)
TERMINAL_BENCH_ONLINE = dataclasses.replace(
    TERMINAL_BENCH,
    name="terminal_bench_online",
    title="Terminal-Bench, online",
    version=f"{TERMINAL_BENCH.version}, this machine in the place of their bases",
    read=functools.partial(read_tasks, online=True),
    environment="tars_jax.envs.benchmarks.terminal_bench:OnlineTerminalBenchEnvironment",
)
