"""Steps that are context: a learner reads them and imitates none of them (`metadata["context_steps"]`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.json_fields import short_repr
from tars_jax.trajectory import ContextWindow, Trajectory

CONTEXT_STEPS = "context_steps"


def context_of(trajectory: Trajectory, steps: int | None = None) -> list[int]:
    """Its steps that are context, of the first `steps`. Raises InputError where the metadata say what is no step."""
    given = trajectory.metadata.get(CONTEXT_STEPS, ())
    count = len(trajectory.steps)
    if not isinstance(given, list | tuple) or not all(type(each) is int and 0 <= each < count for each in given):
        raise InputError(
            f"trajectory {trajectory.id!r}: {CONTEXT_STEPS} must be steps of 0 to {count - 1}; got {short_repr(given)}"
        )
    return [each for each in given if steps is None or each < steps]


def context_in(record: Mapping[str, Any], where: str, count: int) -> dict[str, list[int]]:
    """For metadata: the steps of `count` that a record, which lies at `where`, names as context, if there are any.

    Raises InputError that names the field.
    """
    given = record.get(CONTEXT_STEPS)
    if given is None:
        return {}
    if not isinstance(given, list) or not all(type(each) is int and 0 <= each < count for each in given):
        raise InputError(
            f"{where}: field {CONTEXT_STEPS} must be numbers of steps, 0 to {count - 1}; got {short_repr(given)}"
        )
    return {CONTEXT_STEPS: sorted(set(given))} if given else {}


def as_context(trajectory: Trajectory, steps: Sequence[int]) -> Trajectory:
    """The same, where the answers of these steps are no targets.

    The token that ends an answer stays one where the step has a reward, a penalty or the end to carry
    (`check_rewarded`): that a turn ends is true of any answer. Where all steps are context none has anything to carry.
    """
    if not steps:
        return trajectory
    wanted = (
        set()
        if len(set(steps)) == len(trajectory.steps)
        else {
            number
            for number in steps
            if trajectory.steps[number].reward != 0
            or not trajectory.steps[number].valid
            or number == len(trajectory.steps) - 1
        }
    )
    last = {number: _last(trajectory.windows, number) for number in wanted}
    windows = tuple(
        _masked(window, steps, {place for at, place in last.values() if at == index})
        for index, window in enumerate(trajectory.windows)
    )
    return dataclasses.replace(trajectory, windows=windows)


def _last(windows: Sequence[ContextWindow], step: int) -> tuple[int, int]:
    """(window, token) of the last sampled token of a step; (-1, -1) where it has none."""
    for index in range(len(windows) - 1, -1, -1):
        places = np.flatnonzero(windows[index].action_mask & (windows[index].steps == step))
        if places.size:
            return index, int(places[-1])
    return -1, -1


def _masked(window: ContextWindow, steps: Sequence[int], kept: set[int]) -> ContextWindow:
    mask = window.action_mask & ~np.isin(window.steps, steps)
    for place in kept:
        mask[place] = True
    versions = np.where(mask, window.versions, -1).astype(np.int32)
    log_probs = np.where(mask, window.log_probs, 0).astype(np.float32)
    return dataclasses.replace(window, action_mask=mask, versions=versions, log_probs=log_probs)
