"""`verifiers` and `skyrl_gym`: environments of other packages by name.

    load_environment("verifiers", {"id": "wordle", "args": {"num_train_examples": 100}})

Their packages need other versions of what ours need, so that they live in a Python of their own: `launch/foreign.sh`
makes it in .cache/foreign, or TARS_JAX_FOREIGN names another.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tars_jax import InputError
from tars_jax.environment import Environment
from tars_jax.envs.foreign.environment import ForeignEnvironment
from tars_jax.envs.foreign.worker import SharedWorker, Worker
from tars_jax.envs.spec import DEFAULT_MAX_STEPS, EnvironmentResources, EnvironmentSpec
from tars_jax.json_fields import Fields
from tars_jax.launcher import given_path
from tars_jax.tasks.prompts import RowSplit, Sides

INSTALLED = Path(__file__).parents[3] / ".cache" / "foreign" / "bin" / "python"
OPTIONS = ("id", "args", "held_out", "seed", "shuffle", "max_characters", "choices", "time_limit")


@dataclasses.dataclass(frozen=True)
class ForeignFacts:
    """Facts about an environment before it plays."""

    shared: SharedWorker
    rows: RowSplit
    max_turns: int  # below 1: it has no limit
    threshold: float  # the least reward of a success


def foreign_spec(package: str, options: Mapping[str, Any]) -> EnvironmentSpec:
    """The environment of these options:

    id, args: of the package's own loader. held_out: the share of rows for evaluation, where it has none of its own;
    seed, shuffle: which these are, and of the order; max_characters: rows with longer prompts are left out.
    choices: the only texts that can be answered. time_limit: seconds of a turn.

    Raises InputError for options that it does not have, and for an environment that cannot be loaded.
    """
    fields = Fields(options, "option ")
    id, arguments, choices = fields.text("id"), fields.value("args"), fields.array("choices")
    sides = Sides(
        fields.number("held_out", Sides.held_out, 0, 1),
        fields.integer("seed", 0, 0, 2**31) or 0,
        fields.flag("shuffle", True),
        fields.integer("max_characters", 0, 1, 2**31) or 0,
    )
    time_limit = fields.number("time_limit", 60.0, 0.001, 1e6)
    if not isinstance(arguments, Mapping | None):
        raise fields.error("args", "an object")
    if unknown := fields.unread():
        raise InputError(f"{package}: an option must be one of {', '.join(OPTIONS)}; got {unknown[0]!r}")
    python = python_of(package)
    opened = _opened(package, id, json.dumps(arguments or {}, sort_keys=True), sides, python, tuple(user_folders()))

    def make(resources: EnvironmentResources) -> Environment:
        made = ForeignEnvironment(f"{package} {id}", opened.shared, opened.rows, opened.threshold, choices)
        return cast(Environment, made)

    return EnvironmentSpec(
        name=package,
        make=make,
        default_max_steps=lambda options: opened.max_turns if opened.max_turns > 0 else DEFAULT_MAX_STEPS,
        says_max_steps=opened.max_turns > 0,
        time_limit=time_limit,
        made_with=dict(options),
        may_be_empty=True,
        levels=opened.rows,
        on_callers_loop=True,
    )


def python_of(package: str) -> Path:
    """Raises InputError where there is none."""
    python = Path(os.environ.get("TARS_JAX_FOREIGN") or INSTALLED)
    if not os.access(python, os.X_OK):
        raise InputError(
            f"{package} must be installed in a Python of its own, as it needs other versions than ours of what both "
            f"need: ./launch/foreign.sh makes it, or TARS_JAX_FOREIGN names one; got none at {python}"
        )
    return python


def user_folders() -> list[str]:
    """Folders of a user's own modules: the current folder and those in PYTHONPATH."""
    return [os.getcwd(), *(os.path.abspath(folder) for folder in given_path().split(os.pathsep) if folder)]


@functools.lru_cache(maxsize=8)
def _opened(package: str, id: str, arguments: str, sides: Sides, python: Path, path: tuple[str, ...]) -> ForeignFacts:
    shared = SharedWorker(functools.partial(Worker.loaded, python, package, id, json.loads(arguments), path))
    worker, known = shared.acquire()
    try:
        rows = RowSplit(sides)
        for prompt, characters, side in known["rows"]:
            rows.add(prompt, characters, side)
        rows.deal(f"{package} {id}")
        return ForeignFacts(shared, rows, known["max_turns"], known["threshold"])
    finally:
        shared.release(worker)
