"""Verdicts on an episode's success: by whom they are, and which counts.

An episode may have several verdicts: the environment's own, those of judges and their versions, of annotators. What
counts, its V, is this:

1. Of each speaker (kind and name) its newest verdict stands; what it said before is kept, and no longer counts.
2. The most trusted kind that has spoken decides: an annotator before the environment, the environment before a judge.
3. Where speakers of that kind disagree, nothing counts: the episode goes into no training set until one of them, or an
   annotator, has spoken again.

Speakers who disagree are contradictory, also where one of them is more trusted: that is reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tars_jax import InputError
from tars_jax.json_fields import is_text, short_repr
from tars_jax.trajectory import Trajectory

KINDS = ("annotator", "environment", "judge")  # the most trusted first


@dataclasses.dataclass(frozen=True)
class Verdict:
    """V in {0, 1} (UI-TARS-2, 2.3) as one speaker gives it."""

    value: bool
    kind: str  # one of KINDS
    name: str = ""  # of the environment, the judge or the annotator
    version: str = ""  # of the judge: its weights or its prompt
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind of a verdict must be one of {', '.join(KINDS)}; got {self.kind!r}")
        if type(self.value) is not bool:
            raise InputError(f"value of a verdict must be True or False; got {self.value!r:.40}")
        for field in ("name", "version", "note"):
            if not is_text(getattr(self, field)):
                raise InputError(
                    f"{field} of a verdict must be text that has a UTF-8 form; got {short_repr(getattr(self, field))}"
                )

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in dataclasses.asdict(self).items() if value != ""}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Verdict:
        """Inverse of `to_json`. Raises InputError for what is none."""
        known = [field.name for field in dataclasses.fields(cls)]
        if not isinstance(record, Mapping) or not {"value", "kind"} <= record.keys() <= set(known):
            raise InputError(f"a verdict must be an object of {', '.join(known)}; got {short_repr(record)}")
        return cls(**record)


class CountedVerdicts(NamedTuple):
    """The verdict that counts, out of all on an episode."""

    value: bool | None  # None: nobody has spoken, or those who decide disagree
    by: str  # the kind that decides; empty: nobody
    contradictory: bool


def counted(verdicts: Iterable[Verdict]) -> CountedVerdicts:
    """Counts an episode's verdicts, the oldest first, by the rule above."""
    newest: dict[tuple[str, str], Verdict] = {}
    for verdict in verdicts:
        newest[verdict.kind, verdict.name] = verdict
    standing = list(newest.values())
    contradictory = len({verdict.value for verdict in standing}) > 1
    for kind in KINDS:
        values = {verdict.value for verdict in standing if verdict.kind == kind}
        if len(values) == 1:
            return CountedVerdicts(values.pop(), kind, contradictory)
        if values:
            return CountedVerdicts(None, kind, contradictory)
    return CountedVerdicts(None, "", contradictory)


def own_verdict(trajectory: Trajectory) -> list[Verdict]:
    """The one that a recorded episode comes with: of its judge, else of its environment; none where nobody said."""
    if trajectory.success is None or not trajectory.outcome.carries_reward:
        return []
    if judge := trajectory.metadata.get("judge"):
        version = str(trajectory.metadata.get("judge_version", ""))
        return [Verdict(trajectory.success, "judge", str(judge), version)]
    return [Verdict(trajectory.success, "environment", str(trajectory.task.get("environment", "")))]
