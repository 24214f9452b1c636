"""Templates of `new` for a user to go on from: files that run as they are, each for one kind of thing to bring."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path

from tars_jax import InputError

FOLDER = Path(__file__).parent
NAMES = {"environment": "mine", "judge": "my_judge", "player": "my_player"}  # of the modules, by kind


def template(kind: str, name: str) -> str:
    """The text of a module `name` of a kind."""
    return re.sub(rf"\b{NAMES[kind]}\b", name, (FOLDER / f"{kind}.py").read_text(encoding="utf-8"))


def check_name(name: str, folder: Path) -> None:
    """Raises InputError for a name that no module can have, or that a module elsewhere has."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"config.name must be a name that Python can import, such as mine; got {name!r}")
    found = importlib.util.find_spec(name)
    if found is not None and found.origin != str(folder / f"{name}.py"):
        raise InputError(f"config.name must be that of no module which is installed; got {name!r}, {found.origin}")
