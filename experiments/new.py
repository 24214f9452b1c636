"""A file to go on from is written where the user stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.pipelines.templates import NAMES, check_name, template

POSITIONAL = ("kind", "name")


def run(config: Any) -> None:
    name = config.name or NAMES[config.kind]
    path = Path.cwd() / f"{name}.py"
    check_name(name, path.parent)
    text = template(config.kind, name)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"config.name must be that of a new file; got {name!r}, and {path} is there") from None
    print(f"{path.name}: its first lines say how to try it")
