"""Checks of a trajectory, whoever made it: recorded columns that fit, and answers that can be trained on.

`check_trajectory` is asked of every file, `check_answers` of what a learner is to read.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.json_fields import short_repr
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tars_jax.trajectory.context import context_of

COLUMNS = {"tokens": "int32", "action_mask": "bool", "log_probs": "float32", "versions": "int32", "steps": "int32"}
_LEAST = {"tokens": 0, "versions": -1, "routes": -1}
_ROUNDING = 1e-3  # above 0, of the logarithm of a probability of 1
_FLAG = (bool, np.bool_)
_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "id": (str, "text"),
    "task": (Mapping, "an object"),
    "windows": (tuple, "a tuple"),
    "steps": (tuple, "a tuple"),
    "outcome": (Outcome, "an Outcome"),
    "metadata": (Mapping, "an object"),
    "final_screenshot": (bytes, "bytes"),
    "final_text": (str, "text"),
    "success": ((*_FLAG, type(None)), "True, False or None"),
}
_STEP_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "screenshot": (bytes, "bytes"),
    "response": (str, "text"),
    "thought": (str, "text"),
    "action": (str, "text"),
    "point": ((tuple, list, type(None)), "two numbers or None"),
    "think_tokens": (numbers.Integral, "a whole number"),
    "valid": (_FLAG, "True or False"),
    "info": (Mapping, "an object"),
    "text": (str, "text"),
}


def check_trajectory(trajectory: Trajectory, source: str) -> None:
    """Raises InputError that names `source` and the field for what contradicts itself or cannot be trained on."""
    check_types(trajectory, source)
    num_steps = len(trajectory.steps)
    rewards = {"reward": trajectory.reward}
    rewards |= {f"steps[{index}].reward": step.reward for index, step in enumerate(trajectory.steps)}
    for name, reward in rewards.items():
        if not _is_finite(reward):
            raise InputError(f"{source}: field {name} must be a finite number; got {short_repr(reward)}")
    for index, step in enumerate(trajectory.steps):
        if step.think_tokens < 0:
            raise InputError(f"{source}: field steps[{index}].think_tokens must be 0 or more; got {step.think_tokens}")
        if step.point is not None and not all(_is_finite(x) and 0 <= x <= 1000 for x in step.point):
            raise InputError(f"{source}: field steps[{index}].point must be numbers of 0..1000; got {step.point!r:.60}")
    for index, window in enumerate(trajectory.windows):
        for name, dtype in COLUMNS.items():
            array = getattr(window, name)
            if array.shape != (len(window.tokens),) or array.dtype != dtype:
                raise InputError(
                    f"{source}: field windows[{index}].{name} must be {dtype}[{len(window.tokens)}]; "
                    f"got {array.dtype}{list(array.shape)}"
                )
        if not window.tokens.size:
            raise InputError(f"{source}: field windows[{index}].tokens must hold one token or more; got none.")
        if (marks := window.action_mask.view(np.uint8)).max() > 1:  # in an array of booleans from a file
            raise InputError(f"{source}: field windows[{index}].action_mask must be 0 or 1; got {marks.max()}.")
        log_probs = window.log_probs[window.action_mask]
        impossible = log_probs[~(np.isfinite(log_probs) & (log_probs <= _ROUNDING))]
        if impossible.size:
            raise InputError(
                f"{source}: field windows[{index}].log_probs must be finite and at most 0 at sampled tokens; "
                f"got {impossible[0]}"
            )
        if not np.isfinite(window.log_probs).all():
            raise InputError(f"{source}: field windows[{index}].log_probs must be finite; got NaN or infinity.")
        routes = window.routes
        if routes is not None and (routes.ndim != 3 or len(routes) != len(window.tokens) or routes.dtype != np.int16):
            raise InputError(
                f"{source}: field windows[{index}].routes must be int16[{len(window.tokens)}, layers, experts of a "
                f"token]; got {routes.dtype}{list(routes.shape)}"
            )
        for name, least in _LEAST.items():
            values = getattr(window, name)
            if values is not None and values.min(initial=least) < least:
                raise InputError(f"{source}: field windows[{index}].{name} must be {least} or more; got {values.min()}")
        if window.steps.size and not -1 <= window.steps.min() <= window.steps.max() < num_steps:
            raise InputError(
                f"{source}: field windows[{index}].steps must be -1 to {num_steps - 1}; "
                f"got {window.steps.min()} to {window.steps.max()}"
            )
        if not all(type(image) is int and 0 <= image < num_steps for image in window.images):
            raise InputError(
                f"{source}: field windows[{index}].images must be steps 0 to {num_steps - 1}; got {window.images}"
            )
        if blank := [image for image in window.images if not trajectory.steps[image].screenshot]:
            raise InputError(
                f"{source}: field windows[{index}].images must name steps with a screenshot; got step {blank[0]}."
            )
    check_windows(trajectory, source)
    check_rewarded(trajectory, source)


def check_types(trajectory: Trajectory, source: str) -> None:
    """Raises InputError for a field that is of another type than `Trajectory` and `Step` say. Numbers, and what arrays
    must be, are looked at by `check_trajectory`."""
    _check_kinds(trajectory, _KINDS, f"{source}: field ")
    for name, kind in (("steps", Step), ("windows", ContextWindow)):
        for index, each in enumerate(getattr(trajectory, name)):
            if not isinstance(each, kind):
                raise InputError(f"{source}: field {name}[{index}] must be a {kind.__name__}; got {short_repr(each)}")
    for index, step in enumerate(trajectory.steps):
        _check_kinds(step, _STEP_KINDS, f"{source}: field steps[{index}].")


def _check_kinds(record: Any, kinds: Mapping[str, tuple[type | tuple[type, ...], str]], prefix: str) -> None:
    for name, (kind, wanted) in kinds.items():
        if not isinstance(value := getattr(record, name), kind):
            raise InputError(f"{prefix}{name} must be {wanted}; got {short_repr(value)}")


def _is_finite(value: Any) -> bool:
    """Whether it is a number, of Python's or NumPy's, that a float can hold."""
    try:
        return isinstance(value, numbers.Real) and not isinstance(value, _FLAG) and math.isfinite(value)
    except OverflowError:
        return False


def check_windows(trajectory: Trajectory, source: str) -> None:
    """Raises InputError for a sampled token whose log-probability is not that of its own window.

    A window's first token is drawn from nothing that the window holds: it would be read from whatever is packed before.
    """
    for index, window in enumerate(trajectory.windows):
        where = f"{source}: field windows[{index}]"
        if window.action_mask[:1].any():
            raise InputError(f"{where}.action_mask must begin with a token that was read; got a sampled one.")
        steps = window.steps[window.action_mask]
        if (back := np.flatnonzero(np.diff(steps) < 0)).size:
            first, then = steps[back[0] : back[0] + 2]
            raise InputError(f"{where}.steps must not go back at sampled tokens; got {then} after {first}.")


def check_sampled(trajectory: Trajectory, source: str) -> None:
    """Raises InputError for answers that no policy sampled: of players and datasets, and retokenized ones."""
    for index, window in enumerate(trajectory.windows):
        if (window.versions[window.action_mask] < 0).any():
            raise InputError(
                f"{source}: field windows[{index}].versions must be those of the policy that sampled each token, "
                "for PPO; got -1, as episodes of players, of datasets and retokenized ones have: these can be imitated"
            )


def check_rewarded(trajectory: Trajectory, source: str) -> None:
    """Raises InputError for a reward or a penalty that no token would get: of a step without a sampled one.

    An episode of context alone has no targets, and so nothing to give them."""
    if not trajectory.windows or not trajectory.outcome.carries_reward:
        return
    answered = {step for window in trajectory.windows for step in window.steps[window.action_mask].tolist()}
    last = len(trajectory.steps) - 1
    if not answered and len(set(context_of(trajectory))) == len(trajectory.steps):
        return
    for number, step in enumerate(trajectory.steps):
        if number not in answered and (number == last or step.reward != 0 or not step.valid):
            raise InputError(
                f"{source}: field steps[{number}] must have a sampled token in a window, for its reward; got none."
            )


def check_answers(trajectory: Trajectory, source: str) -> None:
    """Raises InputError for answers over all windows that no learner could give their rewards.

    Rewards stand at the last sampled token of their step: a step that is answered twice, with another one in between,
    would get its own twice. Not asked is that versions grow: a server may be given older weights again.
    """
    check_windows(trajectory, source)
    check_rewarded(trajectory, source)
    before = 0
    for index, window in enumerate(trajectory.windows):
        steps = window.steps[window.action_mask]
        if steps.min(initial=0) < 0:
            raise InputError(f"{source}: field windows[{index}].steps must name a step for each sampled token; got -1.")
        if steps.size and steps[0] < before:
            raise InputError(
                f"{source}: field windows[{index}].steps must not go back behind earlier windows at sampled tokens; "
                f"got {steps[0]} after {before}."
            )
        before = int(steps.max(initial=before))
