"""What a run's updates were made of and what they made, so that they can be made again and compared bit for bit.

`updates.json` of a run says where the weights before the first update lie, and for every update the numbers of the
episodes that it took, in the order in which it took them, and a digest of the weights after it. With these weights and
the episodes' files that is all an update depends on: the order of minibatches follows from the seed and the update's
number.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from tars_jax import InputError
from tars_jax.json_fields import read_object
from tars_jax.model.sharding import leaf_name
from tars_jax.training.learner import LearnerState, PPOLearner, RecordedEpisodes, iterate
from tars_jax.training.run_directory import write_json
from tars_jax.trajectory import Trajectory

UPDATES_FILE = "updates.json"
FORMAT = "tars_jax updates 1"


@dataclasses.dataclass(frozen=True)
class Digests:
    """SHA-256 of the weights of policy and value model, or of all value models; None where there is none."""

    policy: str
    value: str | None

    @classmethod
    def of(cls, state: LearnerState) -> Digests:
        policy, value = state.policy, state.value
        if isinstance(value, tuple):
            return cls(digest(policy.parameters), digest([each.parameters for each in value]))
        return cls(digest(policy.parameters), None if value is None else digest(value.parameters))


@dataclasses.dataclass(frozen=True)
class Starts:
    """Where in the run the weights before the first update lie."""

    policy: str
    value: str | None  # None: the policy's trunk with a fresh head, or no value model

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


def read_updates(path: str | os.PathLike[str]) -> RecordedUpdates:
    """Raises InputError that names the file if it is missing, damaged or contradicts itself."""
    stored = read_object(path, "format", "starts", "episodes", "digests")
    if stored["format"] != FORMAT:
        raise InputError(f"{path}: field format must be {FORMAT!r}; got {stored['format']!r}")
    episodes, digests = stored["episodes"], stored["digests"]
    if not isinstance(episodes, list) or not all(isinstance(batch, list) for batch in episodes):
        raise InputError(f"{path}: field episodes must be a list of lists of numbers; got {episodes!r:.60}")
    if not all(type(index) is int and index >= 0 for batch in episodes for index in batch):
        raise InputError(f"{path}: field episodes must hold numbers of episodes, 0 or more; got {episodes!r:.60}")
    if not isinstance(digests, list) or len(digests) != len(episodes) + 1 or not all(map(_are_digests, digests)):
        raise InputError(
            f"{path}: field digests must be {len(episodes) + 1} objects with the SHA-256 of policy and value, one of "
            f"the start and one for each update; got {digests!r:.60}"
        )
    starts = stored["starts"]
    if not (isinstance(starts, dict) and "value" in starts and _is_below(starts.get("policy"))) or not (
        starts["value"] is None or _is_below(starts["value"])
    ):
        raise InputError(f"{path}: field starts must be the folders of policy and value in the run; got {starts!r:.60}")
    return RecordedUpdates(
        starts=Starts(starts["policy"], starts["value"]),
        digests=tuple(Digests(each["policy"], each["value"]) for each in digests),
        episodes=tuple(map(tuple, episodes)),
    )


def _is_below(folder: Any) -> bool:
    return isinstance(folder, str) and not folder.startswith("/") and ".." not in folder.split("/")


def _are_digests(record: Any) -> bool:
    if not isinstance(record, dict) or record.keys() != {"policy", "value"}:
        return False
    texts = [record["policy"]] if record["value"] is None else [record["policy"], record["value"]]
    return all(isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) for text in texts)
