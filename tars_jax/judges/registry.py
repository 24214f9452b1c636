"""Judges by name: ours, package.module:attribute, or an entry point of the group `tars_jax.judges`."""

from __future__ import annotations

from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.judges.judge import DEFAULT_TIME_LIMIT_S, Judge
from tars_jax.judges.reference import reference_answer
from tars_jax.plugins import Plugins

_PLUGINS = Plugins("judge", "tars_jax.judges")
_OURS = {"reference": reference_answer}


def load_judge(name: str) -> Judge:
    """The judge of that name: a function (trajectory, task) -> (reward, success), or a class whose objects are called
    so. An attribute `time_limit` says how many seconds it may take for an episode.

    Raises InputError where there is none, or where it is no such thing.
    """
    value: Any = _PLUGINS.load(name, _OURS)
    function = value() if isinstance(value, type) else value
    if not callable(function):
        raise InputError(f"judge {name!r} must be a function or a class; got an object of type {type(value).__name__}")
    return Judge(name, function, getattr(function, "time_limit", DEFAULT_TIME_LIMIT_S))


def judge_of(task: Task, judge: Judge | None) -> Judge | None:
    """Who judges an episode of the task: `judge`, if there is one; else the reference, where a judge is to compare with
    it; None where the environment, or nobody, says.

    Raises InputError for a task that is left to a judge alone without any.
    """
    if judge is not None or task.verification.by != "judge":
        return judge
    if not task.verification.reference:
        raise InputError(
            f"task.judge must name a judge for {task.environment}, whose tasks a judge alone tells; got ''"
        )
    return load_judge("reference")
