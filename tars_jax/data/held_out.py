"""Held-out episodes, from which nothing learns unless it is asked for: of evaluations and of held-out tasks, outside a
store.

An export says of each episode what its store knew: `purpose` and `held_out`, beside the messages or in the trajectory's
metadata. Behind the name of a file or a folder, conditions ask for them as of a store: `FILE?held_out=1`. Files of
earlier versions say nothing and are read whole.
"""

from __future__ import annotations

import collections
import dataclasses
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.data.store.query import admits, for_training, parse
from tars_jax.data.store.records import HELD_OUT, ORIGIN, PURPOSES
from tars_jax.json_fields import short_repr
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.folders import folder_to_learn_from, is_evaluation

PURPOSE = "purpose"
TRAINING, EVALUATION = PURPOSES
log = logging.getLogger(__name__)


def purpose_of(trajectory: Trajectory) -> str:
    """Training, where nothing says that it is of an evaluation."""
    origin = trajectory.metadata.get(ORIGIN)
    own = origin.get(PURPOSE) if isinstance(origin, dict) else None
    return EVALUATION if EVALUATION in (own, trajectory.metadata.get(PURPOSE)) else TRAINING


def is_held_out(trajectory: Trajectory) -> bool:
    return trajectory.metadata.get(HELD_OUT) is True


def marks_of(trajectory: Trajectory) -> dict[str, Any]:
    """Marks of a trajectory as an export writes them."""
    return {PURPOSE: purpose_of(trajectory), HELD_OUT: is_held_out(trajectory)}


def marks_in(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Inverse of `marks_of`, for metadata: those that say that it is kept apart. Raises InputError for others."""
    given = {PURPOSE: TRAINING, HELD_OUT: False} | {name: each for name, each in record.items() if each is not None}
    purpose, held_out = given[PURPOSE], given[HELD_OUT]
    if purpose not in PURPOSES:
        raise InputError(f"{where}: field {PURPOSE} must be {' or '.join(PURPOSES)}; got {short_repr(purpose)}")
    if type(held_out) is not bool:
        raise InputError(f"{where}: field {HELD_OUT} must be true or false; got {short_repr(held_out)}")
    evaluation = {PURPOSE: EVALUATION} if purpose == EVALUATION else {}
    return evaluation | ({HELD_OUT: True} if held_out else {})


def of_evaluation(trajectory: Trajectory) -> Trajectory:
    """Marks a trajectory as one of an evaluation."""
    return dataclasses.replace(trajectory, metadata={**trajectory.metadata, PURPOSE: EVALUATION})


def path_and_conditions(name: str) -> tuple[Path, str]:
    """Splits the name of a file or folder, which may have question marks, too, into path and conditions.

    Raises InputError for conditions of other fields than these two, and for a folder of an evaluation where none is of
    `purpose`.
    """
    path, where = Path(name), ""
    for end in (place for place, letter in enumerate(name) if letter == "?"):
        if not path.exists() and Path(name[:end]).exists():
            path, where = Path(name[:end]), name[end + 1 :]
    if more := sorted(parse(where).fields - {PURPOSE, HELD_OUT}):
        raise InputError(f"behind the name of a file, conditions must be of purpose or held_out; got {more[0]}")
    if PURPOSE not in parse(where).fields:
        folder_to_learn_from(str(path))
    return path, where


def exclude_held_out(trajectories: Iterable[Trajectory], where: str, source: Path) -> Iterator[Trajectory]:
    """Trajectories that the conditions select, as in a store; how many others there are is said in the log."""
    condition = parse(for_training(where))
    in_evaluation = is_evaluation(source)
    left_out = collections.Counter[str]()
    for trajectory in trajectories:
        is_unmarked = in_evaluation and ORIGIN not in trajectory.metadata
        purpose = EVALUATION if is_unmarked else purpose_of(trajectory)
        held_out = is_held_out(trajectory)
        if admits(condition, PURPOSE, purpose) and admits(condition, HELD_OUT, int(held_out)):
            yield of_evaluation(trajectory) if is_unmarked else trajectory
        else:
            left_out["of held-out tasks" if held_out else f"for {purpose}"] += 1
    for what, count in left_out.items():
        log.warning(
            "%s: %d episodes %s are left out: ?purpose=* or ?held_out=1 behind the name asks", source, count, what
        )
