"""On which side a task stands, to train on or to evaluate: one word for it wherever tasks are written and read.

A record of a task says `"split": "train"` or `"split": "eval"` beside its other fields; one that says nothing is on
neither side yet. Whoever reads such records asks `split_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import shown

FIELD = "split"
TRAIN, EVAL = SPLITS = ("train", "eval")


def split_of(record: Mapping[str, Any], prefix: str = "") -> str:
    """What a record says; empty: nothing. `prefix` stands before the field's name in an error.

    Raises InputError for another word, an empty one too, for a name that differs from the field's by case or blanks
    alone, and for one that stands in `about`, where tasks of websites had "held_out" before: passed over, each would
    put what is held out into training.
    """
    about = record.get("about")
    if isinstance(about, Mapping) and FIELD in about:
        raise InputError(
            f"{prefix}about.{FIELD} must not be there, as {FIELD} beside the task's other fields says "
            f"{' or '.join(SPLITS)}; got {shown(about[FIELD])}"
        )
    for name in record:
        if name != FIELD and name.strip().casefold() == FIELD:
            raise InputError(f"{prefix}{FIELD} must be written so; got {shown(name)}")
    if FIELD not in record:
        return ""
    if (said := record[FIELD]) not in SPLITS:
        raise InputError(f"{prefix}{FIELD} must be {' or '.join(SPLITS)}; got {shown(said)}")
    return str(said)


def without_split(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record as the task itself is, whichever side it stands on."""
    return {name: value for name, value in record.items() if name != FIELD}
