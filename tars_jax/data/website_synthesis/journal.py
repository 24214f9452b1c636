"""Journal of candidates' outcomes, written as they are known: a run that was killed tries none of them twice."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.refusals import Refusal
from tars_jax.data.website_synthesis.task import SynthesizedTask


@dataclasses.dataclass(frozen=True)
class CandidateOutcome:
    """Outcome of one candidate."""

    reason: str  # why it is no task; empty: it is one
    task: SynthesizedTask | None = None
    unshown: tuple[tuple[str, str], ...] = ()  # (program, label) of fields that no reader shows, or that get in the way
    complaint: str = ""  # about a rewriter's words
    refused: tuple[Refusal, ...] = ()  # what a form wants before it is taken
    where: str = ""  # that its solution stops

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "task": self.task and self.task.to_json()}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> CandidateOutcome:
        task = record["task"] and SynthesizedTask.from_json(record["task"])
        return cls(
            record["reason"], task, tuple(map(tuple, record["unshown"])), record["complaint"],
            tuple(map(tuple, record["refused"])), record["where"],
        )  # fmt: skip


def candidate_key(instruction: str, plan: Sequence[PageMove | str]) -> str:
    """The key of a candidate, the same in every process."""
    return hashlib.sha256(repr((instruction, tuple(plan))).encode()).hexdigest()[:20]


class OutcomeJournal:
    """Outcomes by key, in a file of one JSON object a line; without a path they are only remembered."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, CandidateOutcome] = {}
        self._asked: set[str] = set()
        if path is not None and path.exists():
            whole, _, torn = path.read_bytes().rpartition(b"\n")  # a kill may have cut the last line
            for line in whole.split(b"\n") if whole else ():
                record = json.loads(line)
                self._known[record["key"]] = CandidateOutcome.from_json(record)
            if torn:
                os.truncate(path, len(whole) + 1 if whole else 0)

    def known(self, key: str) -> CandidateOutcome | None:
        self._asked.add(key)
        return self._known.get(key)

    def note(self, key: str, outcome: CandidateOutcome) -> None:
        """Lies on the disk when this returns."""
        self._known[key] = outcome
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **outcome.to_json()}, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def left(self) -> Iterator[SynthesizedTask]:
        """Tasks of an earlier run that nobody has asked for again, as where a site was explored in another way."""
        for key, outcome in self._known.items():
            if key not in self._asked and outcome.task is not None:
                yield outcome.task
