"""The text of `--help` about an experiment's fields: their values, their sentences and their rules (`schema.py`)."""

from __future__ import annotations

import ast
import pathlib
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from tars_jax.launcher import LAUNCHER
from tars_jax.pipelines.config import AUTO, Unset, flatten, load_config, read_python
from tars_jax.pipelines.schema import Described, described

WIDTH = 110
USAGE = f"usage: {LAUNCHER} {{}} [--config=FILE] [--config.FIELD=VALUE ...]"


def list_experiments(root: pathlib.Path, names: Sequence[str]) -> str:
    """The experiments with the first sentence of their configs."""
    told = {name: ast.get_docstring(ast.parse((root / "configs" / f"{name}.py").read_text("utf-8"))) for name in names}
    lines = [f"  {name:<24} {(text or '').splitlines()[0]}" for name, text in told.items() if text]
    listed = f"experiments: {', '.join(names)}"
    return "\n".join([USAGE.format("EXPERIMENT"), listed, *lines, f"fields of one: {LAUNCHER} EXPERIMENT --help"])


def list_fields(name: str, flags: Sequence[str], root: pathlib.Path) -> str:
    """The fields of an experiment: value, description, what each must be."""
    file = root / "configs" / f"{name}.py"
    values = flatten(load_config(name, flags, root=root, checked=False))
    about = dict(described(read_python(file)))
    told = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")[0]
    lines = [USAGE.format(name), *([told] if told else []), f"{file.relative_to(root)} says what to expect.", ""]
    section = ""
    for field, value in values.items():
        said = about.get(field, Described("", None))
        if (group := field.rpartition(".")[0]) != section:
            section = group
            lines += [""] if group else []
            lines += _wrapped(about[group].about if group in about else "", "  ")
        lines.append(f"  --config.{field}={flag_value(value)}")
        rule = said.rule.allowed if said.rule else ("true or false" if isinstance(value, bool) else "")
        rule = f"{rule}, or {AUTO}" if rule and isinstance(value, Unset) else rule
        words = [said.about.removesuffix("."), f"must be {rule}" if rule else ""]
        lines += _wrapped("; ".join(filter(None, words)), "      ")
    return "\n".join(lines)


def flag_value(value: Any) -> str:
    """A value as a flag takes it."""
    return (",".join(map(str, value)) or "()") if isinstance(value, tuple) else str(value)


def _wrapped(text: str, indent: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
