"""The environment of a benchmark: {"tasks": PATH}, with options of its class.

train --config.environment=terminal_bench --config.environment_options='{"tasks": "my-tasks"}'
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task, Verification
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment
from tars_jax.envs.spec import EnvironmentSpec, spec_of
from tars_jax.plugins import Plugins
from tars_jax.tasks.benchmarks.catalog import read_benchmark

_CLASSES = Plugins("environment", "tars_jax.environments")
OF_A_TASK = "task"  # the option that names one task; all others make the environment
OF_TASKS = ("tasks", "names")


def benchmark_spec(name: str, options: Mapping[str, Any]) -> EnvironmentSpec:
    """Options that all of them have; what a class adds stands in its docstring.

    tasks: where the benchmark's files are.
    names: ids of some of its tasks, among which seeds draw; every fifth is held out from training.
    task: the id of the one to play, in the place of a drawn one.
    time_limit: seconds of an episode; 0: as the benchmark says.

    Raises InputError for options that it does not have, and for files that cannot be read.
    """
    tasks = read_benchmark(name, options.get("tasks"), options.get("names", ()))
    benchmark, made_by = tasks.benchmark, _CLASSES.load(tasks.benchmark.environment)
    if not (isinstance(made_by, type) and issubclass(made_by, BenchmarkEnvironment)):
        raise InputError(f"environment of {name} must be a BenchmarkEnvironment; got {benchmark.environment}")
    made_with = {option: value for option, value in options.items() if option != OF_A_TASK}
    own = {option: value for option, value in made_with.items() if option not in OF_TASKS}
    plain = spec_of(name, functools.partial(made_by, tasks), own)
    limit = own.get("time_limit", 0)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit < 0:
        raise InputError(f"{name}: option time_limit must be seconds, 0 or more; got {limit!r}")

    def check_options(options: Mapping[str, Any]) -> None:
        plain.check_options(
            {option: value for option, value in options.items() if option not in (*OF_TASKS, OF_A_TASK)}
        )

    def verification(task: Task) -> Verification:
        if benchmark.judge is None:
            return task.verification
        return dataclasses.replace(task.verification, by="judge", reference=tasks.of(task).reference)

    needs_browser = getattr(made_by, "needs_browser", False)
    return dataclasses.replace(
        plain,
        made_with=made_with,
        check_options=check_options,
        default_max_steps=lambda options: tasks.budget(str(options.get(OF_A_TASK, ""))),
        says_max_steps=True,
        reference=getattr(made_by, "reference_player", None),
        needs_browser=bool(needs_browser(own) if callable(needs_browser) else needs_browser),
        time_limit=made_by.time_limit,
        verification=verification,
        judge=benchmark.judge,
        levels=tasks,
        on_callers_loop=True,
    )
