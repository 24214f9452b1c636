"""The split of tasks, train or eval, which keeps held-out tasks out of training: one word for it wherever tasks are
written and read.

A record of a task says `"split": "train"` or `"split": "eval"` beside its other fields; one that says nothing is on
neither side yet. Whoever reads such records asks `split_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import short_repr

FIELD = "split"
TRAIN, EVAL = SPLITS = ("train", "eval")


def split_of(record: Mapping[str, Any], prefix: str = "") -> str:
    """The side that a record names, train or eval; empty: none. `prefix` stands before the field's name in an error.

    Raises InputError for another word, an empty one too, for a name that differs from the field's by case or blanks
    alone, and for one that stands in `about`, where tasks of websites had "held_out" before: passed over, each would
    put what is held out into training.
    """
    about = record.get("about")
    if isinstance(about, Mapping) and FIELD in about:
        raise InputError(
            f"{prefix}about.{FIELD} must not be there, as {FIELD} beside the task's other fields says "
            f"{' or '.join(SPLITS)}; got {short_repr(about[FIELD])}"
        )
    for name in record:
        if name != FIELD and name.strip().casefold() == FIELD:
            raise InputError(f"{prefix}{FIELD} must be written so; got {short_repr(name)}")
    if FIELD not in record:
        return ""
    if (said := record[FIELD]) not in SPLITS:
        raise InputError(f"{prefix}{FIELD} must be {' or '.join(SPLITS)}; got {short_repr(said)}")
    return str(said)


def without_split(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record as the task itself is, whichever side it stands on."""
    return {name: value for name, value in record.items() if name != FIELD}
