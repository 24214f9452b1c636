"""The store of trajectories: every episode that a flywheel has seen, with what is said of it and where it comes from.

    with Store("runs/store", create=True) as store:
        ids = store.add(trajectories, Origin(weights=lineage(policy).id, cycle=2))
        store.judge({ids[0]: Verdict(True, "annotator", "ada")})
        store.assign("sft", "cycle-2", store.ids("cycle=2 and verdict=1"))
        episodes = [store.load(id) for id in store.sample("set=sft", 100, seed=0)]

What lies in the folder is files; the index is made from them and may be removed at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from tars_jax import InputError
from tars_jax.data.store.incoming_checks import check_set, check_verdicts
from tars_jax.data.store.index import Index
from tars_jax.data.store.journal import FILE as JOURNAL
from tars_jax.data.store.journal import HEAD, INDEX, StoreJournal
from tars_jax.data.store.legacy_journal import warn_of_uncounted_lines
from tars_jax.data.store.query import HELD_OUT as IS_HELD_OUT
from tars_jax.data.store.query import parse
from tars_jax.data.store.records import (
    HELD_OUT,
    Origin,
    StoredRecord,
    episode_file,
    image_file,
    read_record,
    record_of,
    row_of,
    start_key,
    task_key,
    task_keys,
    write_new,
)
from tars_jax.data.store.verdicts import Verdict, own_verdict
from tars_jax.environment import Task
from tars_jax.json_fields import short_repr
from tars_jax.tasks.splits import EVAL, split_of
from tars_jax.trajectory import Trajectory

__all__ = ["Origin", "Store", "Verdict", "is_store"]

_UNKNOWN = Origin()
_ID = re.compile("[0-9a-f]{64}")
_HOLD_OUT = "SELECT 1 FROM held_out WHERE task = ?"
AT_A_TIME = 256  # episodes that are written before their events are


def is_store(path: Path) -> bool:
    """Whether a folder is a store, also one that has lost its journal."""
    left = (JOURNAL, HEAD, INDEX)
    return any((path / name).is_file() for name in left) or any((path / "episodes").glob("*/*.episode"))


class Store:
    """A store's folder. Any number of them may be open at once, in any number of processes of a machine."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        """Raises InputError where there is no store and `create` is False, and for a damaged one; NewerFormat for one
        that a newer version has written. One that can only be read is open for reading alone."""
        self.path = Path(path)
        if not is_store(self.path):
            if not create:
                raise InputError(f"store must be the folder of one, with a {JOURNAL}; got {str(path)!r}")
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                raise InputError(f"store must be a new folder or an empty one; got {str(path)!r}, which holds others")
            self.path.mkdir(parents=True, exist_ok=True)
        self.journal = StoreJournal(self.path)
        if not is_store(self.path):
            with self.journal.locked():
                self.journal.follow()
        elif not self.journal.is_writable or not self.journal.file.is_file():
            self.journal.require_whole()
            self.journal.require_links()
        elif self.journal.next.exists() or self.journal.shortfall() or not self.journal.is_linked():
            with self.journal.locked():  # which finishes it, or looks again while nobody writes
                self.journal.require_links()
        warn_of_uncounted_lines(self.journal)
        self.index = Index(self.path, self.journal)
        self._refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.index.close()

    # ---- writing

    def add(
        self,
        trajectories: Iterable[Trajectory],
        origin: Origin = _UNKNOWN,
        verdicts: Mapping[str, Sequence[Verdict]] | None = None,
    ) -> list[str]:
        """Keeps episodes, each once however often it is added; returns their ids in the order of `trajectories`.

        Each has its own verdict, of its environment or judge; `verdicts` are further ones, by the trajectory's id.
        What is damaged of an episode that is there already is mended. A task that says `"split": "eval"` is held out
        with its episode. Raises InputError for a trajectory that contradicts itself or could not be read back as it is;
        those before it are kept.
        """
        for id, said in (verdicts or {}).items():
            check_verdicts(said, short_repr(id))
        ids: list[str] = []
        batch: list[StoredRecord] = []
        try:
            for trajectory in trajectories:
                record = record_of(trajectory, origin)
                if self.holds_out(trajectory.task) and not self._rows(_HOLD_OUT, (task_key(trajectory.task),)):
                    self.hold_out([trajectory])  # by its split, or by the key of an earlier version
                batch.append(record)
                if len(batch) == AT_A_TIME:
                    full, batch = batch, []
                    ids += self._add(full, origin, verdicts or {})
        except InputError:
            self._add(batch, origin, verdicts or {})
            raise
        return ids + self._add(batch, origin, verdicts or {})

    def judge(self, verdicts: Mapping[str, Verdict | Sequence[Verdict]]) -> None:
        """Says more of stored episodes. A verdict that its speaker has given already is not given again."""
        with self._writing():
            events: list[dict[str, Any]] = []
            for id, said in verdicts.items():
                self._require(id)
                events += self._said(id, check_verdicts(said, id[:12]))
            self.journal.append(events)

    def hold_out(self, tasks: Iterable[Task | Mapping[str, Any] | Trajectory]) -> None:
        """No episode of these tasks can be assigned to a set from now on."""
        wanted: dict[str, str] = {}
        for task in tasks:
            if isinstance(task, Trajectory):
                wanted |= dict.fromkeys(task_keys(task.task), start_key(task))
            else:
                for key in task_keys(task.to_json() if isinstance(task, Task) else task):
                    wanted.setdefault(key, "")
        with self._writing():
            known = {row["task"]: row["start"] for row in self.index.rows("SELECT task, start FROM held_out")}
            new = [(task, start) for task, start in wanted.items() if task not in known or start > known[task] == ""]
            taken = self.index.rows("SELECT DISTINCT task FROM episodes JOIN members ON members.episode = episodes.id")
            if both := {row["task"] for row in taken} & {task for task, _ in new}:
                raise InputError(
                    f"tasks to hold out must be of no training set; got {len(both)} whose episodes are in one"
                )
            self.journal.append([{"hold_out": new}] if new else [])

    def holds_out(self, task: Mapping[str, Any]) -> bool:
        """Whether a task is held out, also one that says so itself. Raises InputError for what is no task, and for a
        split that is none."""
        known = any(self._rows(_HOLD_OUT, (key,)) for key in task_keys(task))
        return split_of(task, "task: ") == EVAL or known

    def assign(self, name: str, batch: str, ids: Sequence[str]) -> list[str]:
        """Puts episodes into the set `name`, once: a batch of that name which is there already stays as it is.

        Returns the episodes of the batch. One that is in the set already, by another batch, is left out. Raises
        InputError for an episode of a held-out task or of an evaluation: nothing is assigned then.
        """
        with self._writing():
            self.journal.append(self._assigned(name, batch, ids))
        return self.members(name, batch)

    def reassign(self, batch: str, sets: Mapping[str, Sequence[str]]) -> None:
        """Reassigns all sets from this batch on: each holds these episodes and no others, who is new joins it, who is
        not among them leaves it. Once, as `assign`; all sets in one writing. Raises InputError as `assign` does."""
        with self._writing():
            events: list[dict[str, Any]] = []
            for name, ids in sets.items():
                if assigned := self._assigned(name, batch, ids):
                    leaving = sorted(self._inside(name) - set(ids))
                    events += [{"leave": leaving, "set": name, "batch": batch}] if leaving else []
                    events += assigned
            self.journal.append(events)

    # ---- reading

    def count(self, where: str = "") -> int:
        condition = parse(where)
        return int(self._rows(f"SELECT COUNT(*) FROM episodes WHERE {condition.sql}", condition.values)[0][0])

    def rows(self, where: str = "", limit: int | None = None, order: str = "rowid") -> list[dict[str, Any]]:
        """Rows of the index about episodes, in the order in which they were added."""
        condition = parse(where)
        sql = f"SELECT * FROM episodes WHERE {condition.sql} ORDER BY {order}"
        found = self._rows(sql if limit is None else f"{sql} LIMIT {int(limit)}", condition.values)
        return [dict(row) for row in found]

    def ids(self, where: str = "") -> list[str]:
        """Ids of episodes in the order in which they were added."""
        condition = parse(where)
        found = self._rows(f"SELECT id FROM episodes WHERE {condition.sql} ORDER BY rowid", condition.values)
        return [row["id"] for row in found]

    def sample(self, where: str, count: int, seed: int) -> list[str]:
        """`count` different ones, or all where there are fewer: the same for the same episodes and seed, whoever added
        them in which order."""
        found = sorted(self.ids(where))
        chosen = np.random.default_rng((seed, 0x5704E)).permutation(len(found))[: max(0, count)]
        return [found[number] for number in chosen]

    def members(self, name: str, batch: str | None = None) -> list[str]:
        """The episodes of a set, batch by batch in the order in which these were assigned."""
        only, values = ("", (name,)) if batch is None else (" AND batch = ?", (name, batch))
        found = self._rows(
            "SELECT members.episode FROM members JOIN episodes ON episodes.id = members.episode "
            f"WHERE name = ?{only} ORDER BY episodes.cycle, batch, place",
            values,
        )
        return [row["episode"] for row in found]

    def left(self, batch: str) -> list[str]:
        """The episodes that left a set by a batch's `reassign`, in order of their ids."""
        found = self._rows("SELECT DISTINCT episode FROM leavers WHERE batch = ? ORDER BY episode", (batch,))
        return [row["episode"] for row in found]

    def has_batch(self, name: str, batch: str) -> bool:
        return bool(self._rows("SELECT 1 FROM batches WHERE name = ? AND batch = ?", (name, batch)))

    def verdicts(self, id: str) -> list[Verdict]:
        """All that was said, the oldest first."""
        self._refresh()
        return self.index.verdicts(id)

    def load(self, id: str) -> Trajectory:
        """Raises InputError that names the file which is missing or damaged."""
        return read_record(self.path, id)

    def load_all(self, ids: Iterable[str]) -> Iterator[Trajectory]:
        return map(self.load, ids)

    def load_judged(self, where: str = "") -> Iterator[Trajectory]:
        """Episodes for readers outside the store: their `success` is what counts of all that was said of them, and
        those that are held out say so in their metadata."""
        apart = {row["id"] for row in self._rows(f"SELECT id FROM episodes WHERE {IS_HELD_OUT}")}
        for row in self.rows(where):
            success = None if row["verdict"] is None else bool(row["verdict"])
            found = self.load(row["id"])
            held_out = {HELD_OUT: True} if row["id"] in apart else {}
            yield dataclasses.replace(found, success=success, metadata={**found.metadata, **held_out})

    def leaked(self) -> list[str]:
        """Members of training sets that are held out, or of an evaluation: none, as `assign` refuses them, but those
        that an evaluation has recorded later."""
        return self._members_where(f"purpose != 'training' OR {IS_HELD_OUT}")

    def same_first_screens(self) -> list[str]:
        """Members that begin exactly as a held-out episode that was played: told the same, shown the same screen and
        text. Of levels that fill a screen none should; an environment of few first screens has them."""
        return self._members_where("episodes.start IN (SELECT start FROM held_out WHERE start != '')")

    def _members_where(self, condition: str) -> list[str]:
        joined = "SELECT DISTINCT episodes.id FROM episodes JOIN members ON members.episode = episodes.id"
        return [row["id"] for row in self._rows(f"{joined} WHERE {condition}")]

    # ---- inside

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self.journal.locked():
            self.index.catch_up()
            self.journal.follow()
            yield
            self.index.catch_up()

    def _refresh(self) -> None:
        if not self.index.is_behind():
            return
        if not self.journal.is_writable:
            self.index.catch_up()
            return
        with self.journal.locked():
            self.index.catch_up()
            self.journal.follow()

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        self._refresh()
        return self.index.rows(sql, values)

    def _assigned(self, name: str, batch: str, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The event by which a set gets a batch; none where it has it."""
        check_set(name, batch)
        if self.index.rows("SELECT 1 FROM batches WHERE name = ? AND batch = ?", (name, batch)):
            return []
        self._require_trainable(ids, name)
        there = self._inside(name)
        return [{"assign": [id for id in dict.fromkeys(ids) if id not in there], "set": name, "batch": batch}]

    def _inside(self, name: str) -> set[str]:
        return {row["episode"] for row in self.index.rows("SELECT episode FROM members WHERE name = ?", (name,))}

    def _add(self, batch: Sequence[StoredRecord], origin: Origin, more: Mapping[str, Sequence[Verdict]]) -> list[str]:
        if not batch:
            return []
        with self._writing():  # of the files, too: a repair takes what nobody has listed for left behind
            images = ((image_file(self.path, name), png) for record in batch for name, png in record.images.items())
            write_new(images)
            write_new((episode_file(self.path, record.id), record.content) for record in batch)
            events: list[dict[str, Any]] = []
            for record in {record.id: record for record in batch}.values():
                further = more.get(record.trajectory.id, ())
                if self._row(record.id) is None:
                    said = [*own_verdict(record.trajectory), *further]
                    events.append({"add": row_of(record, origin, [verdict.to_json() for verdict in said])})
                else:
                    events += self._said(record.id, further)
            self.journal.append(events)
        return [record.id for record in batch]

    def _said(self, id: str, verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
        newest = {(each.kind, each.name): each for each in self.index.verdicts(id)}
        new = [each for each in verdicts if newest.get((each.kind, each.name)) != each]
        return [{"verdict": verdict.to_json(), "episode": id} for verdict in new]

    def _row(self, id: str) -> Any:
        found = self.index.rows("SELECT * FROM episodes WHERE id = ?", (id,))
        return found[0] if found else None

    def _require(self, id: str) -> Any:
        if not _is_id(id) or (row := self._row(id)) is None:
            raise InputError(f"{self.path}: an episode must be one of the store; got {short_repr(id)}")
        return row

    def _require_trainable(self, ids: Sequence[str], name: str) -> None:
        found = self.index.rows(
            f"SELECT id, purpose, task IN (SELECT task FROM held_out) AS held_out, {IS_HELD_OUT} AS apart "
            "FROM episodes WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([id for id in ids if _is_id(id)]),),
        )
        rows = {row["id"]: row for row in found}
        for id in ids:
            row = rows[id] if _is_id(id) and id in rows else self._require(id)
            if row["apart"] or row["purpose"] != "training":
                again = "which an evaluation has recorded, too" if row["apart"] else f"which is for {row['purpose']}"
                why = "whose task is held out" if row["held_out"] else again
                raise InputError(f"set {name} must hold episodes for training only; got {id[:12]}, {why}")


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and bool(_ID.fullmatch(value))
