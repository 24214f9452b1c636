"""Recorded inputs and outputs of a run's updates, so that they can be repeated and compared bit for bit.

`updates.json` of a run says where the weights before the first update lie, and for every update the numbers of the
episodes that it took, in the order in which it took them, and a digest of the weights after it. With these weights and
the episodes' files that is all an update depends on: the order of minibatches follows from the seed and the update's
number.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

import jax
import numpy as np
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded_file
from tars_jax.model.sharding import leaf_name
from tars_jax.training.learner import LearnerState, PPOLearner, RecordedEpisodes, iterate
from tars_jax.training.run_directory import write_json
from tars_jax.trajectory import Trajectory

UPDATES_FILE = "updates.json"
FORMAT = "tars_jax updates 1"


Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="a SHA-256")]
Folder = Annotated[str, Meta(pattern=r"^(?!/)(?!(.*/)?\.\.(/|$))", description="a folder in the run")]


@dataclasses.dataclass(frozen=True)
class Digests:
    """SHA-256 of the weights of policy and value model, or of all value models; None where there is none."""

    policy: Sha256
    value: Sha256 | None

    @classmethod
    def of(cls, state: LearnerState) -> Digests:
        policy, value = state.policy, state.value
        if isinstance(value, tuple):
            return cls(digest(policy.parameters), digest([each.parameters for each in value]))
        return cls(digest(policy.parameters), None if value is None else digest(value.parameters))


@dataclasses.dataclass(frozen=True)
class Starts:
    """Folders, in the run, of the weights before the first update."""

    policy: Folder
    value: Folder | None  # None: the policy's trunk with a fresh head, or no value model

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(folder for folder in (self.policy, self.value) if folder is not None)


@dataclasses.dataclass(frozen=True)
class RecordedUpdates:
    """The updates of a run."""

    starts: Starts
    digests: tuple[Digests, ...]  # of the weights before the first update, and after each
    episodes: tuple[tuple[int, ...], ...]  # of each update, in order: their numbers in the pool


@dataclasses.dataclass(frozen=True)
class Remade:
    """An update that was made again."""

    state: LearnerState  # after it; its version is the number of the update, from 1
    digests: Digests
    metrics: dict[str, float]  # the learner's own


def digest(tree: Any) -> str:
    """SHA-256 over path, type, shape and bits of every leaf. Each leaf passes through the host."""
    total = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        array = np.asarray(leaf)
        total.update(f"{leaf_name(path)} {array.dtype}{list(array.shape)}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def remake(
    learner: PPOLearner,
    state: LearnerState,
    recorded: RecordedUpdates,
    load: Callable[[int], Trajectory],
    seed: int,
    part_of: Callable[[int], int] | None = None,
) -> Iterator[Remade]:
    """The recorded updates once more, from the state before the first. What was yielded is donated to the next.
    `part_of`: of a mixture, the part of an episode by its number."""
    for numbers in recorded.episodes:
        parts = None if part_of is None else np.array([part_of(number) for number in numbers])
        episodes = RecordedEpisodes([load(number) for number in numbers], parts)
        state, metrics = iterate(learner, state, episodes, seed)
        yield Remade(state, Digests.of(state), metrics)


def differing_leaves(found: Any, expected: Any) -> dict[str, float]:
    """For each leaf with other bits its largest difference; two trees of the same shapes."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(expected), strict=True)
    arrays = ((leaf_name(path), np.asarray(mine), np.asarray(theirs)) for (path, mine), theirs in pairs)
    return {
        name: float(np.abs(mine.astype(np.float64) - theirs.astype(np.float64)).max())
        for name, mine, theirs in arrays
        if mine.tobytes() != theirs.tobytes()
    }


def write_updates(
    path: str | os.PathLike[str],
    starts: Starts,
    episodes: Sequence[Sequence[int]],
    digests: Sequence[dict[str, Any]],
) -> None:
    """Keeps the pool's ledger and the digests that a run's checkpoints carried, as plain data."""
    batches = [list(batch) for batch in episodes]
    record = {"starts": dataclasses.asdict(starts), "episodes": batches, "digests": list(digests)}
    write_json(path, {"format": FORMAT, **record})


@dataclasses.dataclass(frozen=True)
class _File:
    format: Literal["tars_jax updates 1"]
    starts: Starts
    episodes: tuple[tuple[Annotated[int, Meta(ge=0)], ...], ...]
    digests: tuple[Digests, ...]


def read_updates(path: str | os.PathLike[str]) -> RecordedUpdates:
    """Reads the updates of a run. Raises InputError that names the file if it is missing, damaged or contradicts
    itself."""
    stored = decoded_file(pathlib.Path(path), _File)
    if len(stored.digests) != len(stored.episodes) + 1:
        raise InputError(
            f"{path}: field digests must be {len(stored.episodes) + 1} objects, one of the start and one for each "
            f"update; got {len(stored.digests)}"
        )
    return RecordedUpdates(stored.starts, stored.digests, stored.episodes)
