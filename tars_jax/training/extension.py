"""A run that goes on after its end: a field of its config may grow, and the stages after it are done again.

What those stages had found is kept beside what they find next: RUN/trajectories/after becomes after-15 where the field
was 15. What they had cost is added to what they cost again.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

FILE = "extended.json"  # stage -> what it had recorded before the run was extended


@dataclasses.dataclass(frozen=True)
class Extension:
    """The stage to which a field that may grow belongs."""

    stage: str  # goes on from its last checkpoint
    again: tuple[str, ...] = ()  # done again after it


def grown_fields(
    stored: Mapping[str, Any], asked: Mapping[str, Any], extensions: Mapping[str, Extension]
) -> dict[str, int]:
    """The fields that may grow and do, with the values that the run had. Both configs map dotted fields to values."""
    values = {field: (stored.get(field), asked.get(field)) for field in extensions}
    return {
        field: before
        for field, (before, now) in values.items()
        if type(before) is int and type(now) is int and now > before
    }


def set_aside(folder: pathlib.Path, stages: Mapping[str, Any], extension: Extension, value: int) -> dict[str, Any]:
    """The records of stages that stay; moves away what is to be done again. `value` is the one that the field had."""
    for stage in extension.again:
        played, kept = (folder / "trajectories" / name for name in (stage, f"{stage}-{value}"))
        if stage in stages and played.is_dir() and not kept.exists():
            played.rename(kept)
    return {name: record for name, record in stages.items() if name not in (extension.stage, *extension.again)}
