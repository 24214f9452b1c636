"""What `--help` says of an experiment's fields: their values, what they take, and the words beside them in the config.

A config file describes a field by the comment on its line or by those right above it; what it takes over from another
config is described there.
"""

from __future__ import annotations

import ast
import io
import pathlib
import textwrap
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tars_jax.launcher import LAUNCHER
from tars_jax.pipelines.config import AUTO, Unset, flatten, load_config
from tars_jax.rules import Rule

WIDTH = 110
# Of fields that every config has, or many: where the config itself says nothing.
EVERYWHERE = {"seed": "of all that is drawn", "run": "run directory; empty: a new one under runs/"}
USAGE = f"usage: {LAUNCHER} {{}} [--config=FILE] [--config.FIELD=VALUE ...]"


def list_experiments(root: pathlib.Path, names: Sequence[str]) -> str:
    """The experiments with the first sentence of their configs."""
    told = {name: ast.get_docstring(ast.parse((root / "configs" / f"{name}.py").read_text("utf-8"))) for name in names}
    lines = [f"  {name:<24} {(text or '').splitlines()[0]}" for name, text in told.items() if text]
    listed = f"experiments: {', '.join(names)}"
    return "\n".join([USAGE.format("EXPERIMENT"), listed, *lines, f"fields of one: {LAUNCHER} EXPERIMENT --help"])


def list_fields(name: str, flags: Sequence[str], root: pathlib.Path, rules: Mapping[str, Rule]) -> str:
    """The fields of an experiment: value, description, what each must be."""
    file = root / "configs" / f"{name}.py"
    values = flatten(load_config(name, flags, root=root, rules={}))
    usual = file.with_name("quickstart.py")
    about = EVERYWHERE | (descriptions(usual) if usual.exists() else {}) | descriptions(file)
    about |= {field: about[inner] for field in values if field not in about and (inner := _inner(field)) in about}
    told = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")[0]
    lines = [USAGE.format(name), *([told] if told else []), f"{file.relative_to(root)} says what to expect.", ""]
    section = ""
    for field, value in values.items():
        if (group := field.rpartition(".")[0]) != section:
            section = group
            lines += [""] if group else []
            lines += _wrapped(about.get(group, ""), "  ")
        lines.append(f"  --config.{field}={shown(value)}")
        rule = rules[field].allowed if field in rules else ("true or false" if isinstance(value, bool) else "")
        rule = f"{rule}, or {AUTO}" if rule and isinstance(value, Unset) else rule
        words = [about.get(field, "").removesuffix("."), f"must be {rule}" if rule else ""]
        lines += _wrapped("; ".join(filter(None, words)), "      ")
    return "\n".join(lines)


def shown(value: Any) -> str:
    """As a flag takes it."""
    return (",".join(map(str, value)) or "()") if isinstance(value, tuple) else str(value)


def descriptions(file: pathlib.Path) -> dict[str, str]:
    """Dotted field or section -> the words beside it in a config file, or in the configs that it takes it from."""
    source = file.read_text("utf-8")
    tree, comments = ast.parse(source), _comments(source)
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "configs":
            for other in node.names:
                found |= descriptions(file.parent / f"{other.name}.py")
    renamed: dict[str, str] = {}
    own: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (path := _path(node.targets[0])):
            own |= _beside(path, node.lineno, comments)
            own |= _of_dictionary(path, node.value, comments)
            if original := _path(node.value.func if isinstance(node.value, ast.Call) else node.value):
                renamed[path] = original.removesuffix(".copy_and_resolve_references")
        elif isinstance(node, ast.Return) and node.value is not None:
            own |= _of_dictionary("", node.value, comments)
        elif isinstance(node, ast.Call) and (path := _path(node.func)).endswith(".update"):
            own |= _of_dictionary(path.removesuffix(".update"), node, comments)
    for path, original in renamed.items():
        found |= {path + field.removeprefix(original): text for field, text in found.items() if _is_in(field, original)}
    return found | own


def _comments(source: str) -> dict[int, tuple[str, bool]]:
    """Line -> its comment, and whether nothing else is on the line."""
    return {
        token.start[0]: (token.string.removeprefix("#").strip(), not token.line[: token.start[1]].strip())
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }


def _beside(path: str, line: int, comments: Mapping[int, tuple[str, bool]]) -> dict[str, str]:
    if line in comments and not comments[line][1]:
        return {path: comments[line][0]}
    above: list[str] = []
    while (line := line - 1) in comments and comments[line][1]:
        above.insert(0, comments[line][0])
    return {path: " ".join(above)} if above else {}


def _of_dictionary(path: str, node: ast.AST, comments: Mapping[int, tuple[str, bool]]) -> dict[str, str]:
    """Of the keys of a dictionary, or of one that a call is given."""
    if isinstance(node, ast.Call):
        return {
            field: text for argument in node.args for field, text in _of_dictionary(path, argument, comments).items()
        }
    found: dict[str, str] = {}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                field = f"{path}.{key.value}".removeprefix(".")
                alone = key.lineno != node.lineno  # what stands beside a dictionary of one line is about all of it
                found |= (_beside(field, key.lineno, comments) if alone else {}) | _of_dictionary(
                    field, value, comments
                )
    return found


def _path(node: ast.AST) -> str:
    """a.b of config.a.b; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return ".".join(names) if isinstance(node, ast.Name) else ""


def _inner(field: str) -> str:
    """The field of a config that stands as a section in another."""
    return field.partition(".")[2]


def _is_in(field: str, section: str) -> bool:
    return field == section or field.startswith(f"{section}.")


def _wrapped(text: str, indent: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
