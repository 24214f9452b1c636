"""Checks of what comes into a store: once, before anything is written of it.

Stricter than what is read back (`events.py`), as stores of earlier versions may hold what is refused here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.data.store.verdicts import Verdict
from tars_jax.json_fields import is_number, is_text, short_repr
from tars_jax.tasks.splits import split_of
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_types

DEEPEST = 200  # levels of JSON: interpreters and databases differ in how many they bear
LONGEST = 4096  # characters of a name: what a path has at most
STRICT = f"JSON of finite numbers and texts that have a UTF-8 form, at most {DEEPEST} levels deep"
_TEXT = f"text that has a UTF-8 form, of at most {LONGEST} characters"


def _is_name(value: Any) -> bool:
    return is_text(value) and len(value) <= LONGEST


_VERDICT = (lambda value: value is None or type(value) is bool, "True, False or None")
_NAME = (_is_name, _TEXT)
# What is read of an episode's metadata, wherever somebody reads it; other names are free.
_METADATA: dict[str, tuple[Callable[[Any], bool], str]] = {
    "environment_success": _VERDICT,
    "environment_reward": (is_number, "a finite number"),
    "judge": _NAME,
    "judge_version": _NAME,
    "corrects": _NAME,
    "site": _NAME,
    "instruction": (is_text, "text that has a UTF-8 form"),
    "cannot_say": (is_text, "text that has a UTF-8 form"),
    "held_out": (lambda value: type(value) is bool, "True or False"),
    "purpose": (lambda value: value in ("training", "evaluation"), "training or evaluation"),
    "infrastructure_failures": (
        lambda value: isinstance(value, list | tuple) and all(map(is_text, value)), "a list of texts",
    ),
    "final": (lambda value: isinstance(value, Mapping), "an object"),
}  # fmt: skip


def check_episode(trajectory: Trajectory, source: str) -> None:
    """Raises InputError that names `source` and the field for what is of another type than who reads it takes."""
    check_types(trajectory, source)
    for name, value in _said_in(trajectory):
        if not is_strict(value):
            raise InputError(f"{source}: field {name} must be {STRICT}; got {short_repr(value)}")
    if not isinstance(trajectory.task.get("environment"), str) or type(trajectory.task.get("max_steps")) is not int:
        raise InputError(
            f"{source}: field task must have an environment and max_steps; got {short_repr(trajectory.task)}"
        )
    split_of(trajectory.task, f"{source}: field task.")
    check_names({"id": trajectory.id, "task.environment": trajectory.task["environment"]}, f"{source}: field ")
    for name, (fits, wanted) in _METADATA.items():
        if name in trajectory.metadata and not fits(value := trajectory.metadata[name]):
            raise InputError(f"{source}: field metadata.{name} must be {wanted}; got {short_repr(value)}")


def check_names(names: Mapping[str, Any], prefix: str = "") -> None:
    """Raises InputError for one that is no text, or longer than any name."""
    for field, value in names.items():
        if not _is_name(value):
            raise InputError(f"{prefix}{field} must be {_TEXT}; got {short_repr(value)}")


def check_set(name: Any, batch: Any) -> None:
    """Raises InputError for what names no set, or no batch of one."""
    check_names({"set": name, "batch": batch})
    for field, value in {"set": name, "batch": batch}.items():
        if not value:
            raise InputError(f"{field} must be a name; got ''")


def check_verdicts(said: Any, of: str) -> Sequence[Verdict]:
    """Checks one or several verdicts on an episode. Raises InputError for what is none."""
    given = [said] if isinstance(said, Verdict) else said
    if not isinstance(given, Sequence) or not all(isinstance(each, Verdict) for each in given):
        raise InputError(f"what is said of {of} must be a Verdict or several; got {short_repr(said)}")
    for verdict in given:
        check_names({"name of a verdict": verdict.name, "version of a verdict": verdict.version})
    return given


def is_strict(value: Any) -> bool:
    """Whether others can read a value who take JSON by the letter, as databases do."""
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True) if _is_shallow(value) else ""
        return written.encode() != b""
    except (TypeError, ValueError):
        return False


def _is_shallow(value: Any, levels: int = DEEPEST) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _said_in(trajectory: Trajectory) -> Iterator[tuple[str, Any]]:
    """Each field of texts or JSON, with its name; but those of the policy's words, which may write half of a pair."""
    for name in ("id", "task", "metadata", "final_text"):
        yield name, getattr(trajectory, name)
    for number, step in enumerate(trajectory.steps):
        for name in ("text", "info"):
            yield f"steps[{number}].{name}", getattr(step, name)
