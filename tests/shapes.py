"""Shapes as documents have them, executed: a field's comment `# [R, T] int32: ...` is what the field is."""

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import Any

TYPES = ("int16", "int32", "uint8", "float32", "bool")
SHAPE = re.compile(r"\[([^\[\]]*)\](?: (\w+))?")


def documented(cls: type) -> dict[str, list[tuple[str, str]]]:
    """Of each field that has any, the shapes that its comment allows, or `all [R, T]` in the docstring, with dtypes."""
    lines = inspect.getsource(cls).splitlines()
    (tree,) = ast.parse(textwrap.dedent("\n".join(lines))).body
    assert isinstance(tree, ast.ClassDef)
    common = re.search(r"\ball (\[[^\]]*\])", inspect.getdoc(cls) or "")
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind, line = ast.unparse(node.annotation), lines[node.lineno - 1]
            above = re.match(r"\s*# (\[.*)", lines[node.lineno - 2])
            comment = line.partition("  # ")[2] or (above[1] if above else "")
            head = re.match(r"\[[^\[\]]*\](?: \w+)?(?: or \[[^\[\]]*\](?: \w+)?)*", comment)
            if head is None and common and re.search(r"\bArray\b|ndarray", kind):
                head = re.match(".*", f"{common[1]} {comment.partition(':')[0]}")
            if head is not None and "tuple" not in kind:
                found[node.target.id] = SHAPE.findall(head[0])
    return found


def assert_documented(value: Any, axes: dict[str, int]) -> None:
    """Every field has one of its shapes. An axis that is not in `axes` yet is added; numbers stand for themselves."""
    fields = getattr(value, "_fields", None)
    names = [each.name for each in dataclasses.fields(value)] if fields is None else fields
    shapes = documented(type(value))
    for name in names:
        array = getattr(value, name)
        if name in shapes and hasattr(array, "shape"):
            bound = [found for shape, dtype in shapes[name] if (found := _bound(array, shape, dtype, axes)) is not None]
            where = f"{type(value).__name__}.{name}"
            assert bound, f"{where} must be {shapes[name]} with {axes}; got {array.shape} {array.dtype}"
            axes |= bound[0]


def _bound(array: Any, shape: str, dtype: str, axes: dict[str, int]) -> dict[str, int] | None:
    """The axes with those of this array; None where it is of another shape or type."""
    parts, found = [part.strip() for part in shape.split(",") if part.strip()], dict(axes)
    if len(parts) != len(array.shape) or (dtype in TYPES and array.dtype != dtype):
        return None
    for part, size in zip(parts, array.shape, strict=True):
        if part.isidentifier():
            if found.setdefault(part, size) != size:
                return None
        elif not set(re.findall(r"[A-Za-z]\w*", part)) - found.keys() and eval(part, {}, found) != size:
            return None
    return found
