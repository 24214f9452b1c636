"""Folders of trajectories, RUN/trajectories/STAGE: which of them hold an evaluation, that nothing is to learn from."""

from __future__ import annotations

import re
from pathlib import Path

from tars_jax import InputError

MARK = "evaluation"  # an empty file beside the episodes, written before the first of them
ASKS = "?purpose=evaluation"  # behind a folder's name where its evaluation is meant, as of a store
_BEFORE_THE_MARK = re.compile(r"before|after([-_].*)?|validate_.*")  # stages of runs that had none


def mark_evaluation(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()


def is_evaluation(folder: Path) -> bool:
    """Whether the episodes that lie in it are of an evaluation."""
    if (folder / MARK).is_file():
        return True
    return folder.absolute().parent.name == "trajectories" and bool(_BEFORE_THE_MARK.fullmatch(folder.name))


def folder_to_learn_from(name: str) -> Path:
    """The folder of a name, which may end with `ASKS`. Raises InputError for that of an evaluation without."""
    folder = Path(name.removesuffix(ASKS))
    if is_evaluation(folder) and not name.endswith(ASKS):
        raise InputError(
            f"a folder to learn from must not be of an evaluation unless its name ends with {ASKS}; got {name!r}"
        )
    return folder
