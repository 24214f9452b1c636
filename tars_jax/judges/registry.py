"""Judges by name: ours, package.module:attribute, or an entry point of the group `tars_jax.judges`."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.judges.answer_judge import AnswerJudge
from tars_jax.judges.browsecomp import BrowseCompJudge
from tars_jax.judges.judge import DEFAULT_TIME_LIMIT_S, Judge, Judgement, JudgeUnavailable
from tars_jax.judges.reference import reference_answer
from tars_jax.judges.rewards import rewards_judge
from tars_jax.judges.rubric import RubricJudge
from tars_jax.judges.votes import voting
from tars_jax.judges.webjudge import WebJudge
from tars_jax.plugins import Plugins
from tars_jax.trajectory import Trajectory

_PLUGINS = Plugins("judge", "tars_jax.judges")


def environment_verdict(trajectory: Trajectory, task: Task) -> Judgement:
    """The environment's own verdict as the whole reward: the control that a reward model is held against. Raises
    JudgeUnavailable where it says nothing."""
    if trajectory.success is None:
        raise JudgeUnavailable(f"{task.environment} says nothing of success")
    return Judgement(float(trajectory.success), bool(trajectory.success))


_OURS: Mapping[str, Any] = {
    "environment": environment_verdict,
    "reference": reference_answer,
    "webjudge": WebJudge,
    "rubric": RubricJudge,
    "answer": AnswerJudge,
    "browsecomp": BrowseCompJudge,
}


def load_judge(name: str, options: Mapping[str, Any] | None = None, more: Mapping[str, Any] | None = None) -> Judge:
    """The judge of that name: a function (trajectory, task) -> (reward, success), or a class whose objects are called
    so. An attribute `time_limit` says how many seconds it may take for an episode, `version` which of several it is
    (a checksum of its options, unless it says so), and `close()` is called at the end.

    Args:
      options: keyword arguments of the class; a function takes none.
      more: judges of rooms above this one, by name.

    Raises InputError where there is none, where it is no such thing, and for options that it does not take.
    """
    load = functools.partial(load_judge, more=more)
    of_others = {"votes": functools.partial(voting, load), "rewards": functools.partial(rewards_judge, load)}
    value: Any = _PLUGINS.load(name, {**_OURS, **of_others, **(more or {})})
    is_made = isinstance(value, type) or value in of_others.values()
    function = _made(name, value, options or {}) if is_made else value
    if isinstance(function, Judge):
        return dataclasses.replace(function, version=_version_of(options or {}))
    if not callable(function):
        raise InputError(f"judge {name!r} must be a function or a class; got an object of type {type(value).__name__}")
    if options and not is_made:
        raise InputError(f"judge {name!r} must be a class to have options; got {', '.join(options)}")
    version = getattr(function, "version", "") or _version_of(options or {})
    return Judge(name, function, getattr(function, "time_limit", DEFAULT_TIME_LIMIT_S), version=version)


@functools.lru_cache(maxsize=64)
def _kept(name: str, options: str) -> Judge:
    """Loaded once for all episodes."""
    return load_judge(name, json.loads(options))


def _version_of(options: Mapping[str, Any]) -> str:
    """A checksum, so that verdicts of other models, prompts or thresholds can be told apart."""
    return hashlib.sha256(json.dumps(options, sort_keys=True, default=str).encode()).hexdigest()[:12] if options else ""


def _made(name: str, judge: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    try:
        inspect.signature(judge).bind(**options)
    except TypeError as error:
        taken = ", ".join(inspect.signature(judge).parameters) or "none"
        raise InputError(f"options of judge {name!r} must be {taken}; got {dict(options)!r:.200}: {error}") from error
    return judge(**options)


def judge_of(task: Task, judge: Judge | None, own: tuple[str, Mapping[str, Any]] | None = None) -> Judge | None:
    """Judge of an episode of the task: `judge`, if there is one; else `own`, name and options of the one that its
    environment names; else the reference, where a judge is to compare with it; None where the environment, or nobody,
    says.

    Raises InputError for a task that is left to a judge alone without any, and as `load_judge` does.
    """
    if judge is None and own is not None:
        return _kept(own[0], json.dumps(own[1], sort_keys=True))
    if judge is not None or task.verification.by != "judge":
        return judge
    if not task.verification.reference:
        raise InputError(
            f"task.judge must name a judge for {task.environment}, whose tasks a judge alone tells; got ''"
        )
    return load_judge("reference")
