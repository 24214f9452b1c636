"""What is wrong with a value is said in one form everywhere: "X must be ...; got Y"."""

import ast
import re
from collections.abc import Iterator

from tars_jax.pipelines.checkout import ROOT

SOURCES = sorted([*(ROOT / "tars_jax").rglob("*.py"), *(ROOT / "experiments").rglob("*.py")])
# "X got Y; it takes Z", "X is Y, it takes Z", "X takes Z, got Y", and "X must be Z, got Y".
OLD = re.compile(r"[;,:] (it|they) takes?\b|\btakes\b.*, got \{|, got \{|\bgot \{.*; (it|they) ")


def raised(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every string in what is raised; a value in it stands as {}."""
    for statement in ast.walk(ast.parse(source)):
        if not isinstance(statement, ast.Raise) or statement.exc is None:
            continue
        for node in ast.walk(statement.exc):
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
                yield node.lineno, "".join(parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value


def old_forms(source: str) -> list[int]:
    return sorted({line for line, text in raised(source) if OLD.search(text)})


def test_raised_messages_say_what_must_be_and_what_was_got() -> None:
    found = [f"{path.relative_to(ROOT)}:{line}" for path in SOURCES for line in old_forms(path.read_text("utf-8"))]
    assert not found


def test_the_old_forms_are_found() -> None:
    for message in (
        "config.rows got {rows}; it takes at least 1.",
        "field rows is {rows}, it takes at least 1",
        "rows takes 1 or more, got {rows}",
        "rows must be 1 or more, got {rows}",
        "rows holds {rows}: it takes at least 1",
    ):
        assert old_forms(f"raise InputError(f{message!r})") == [1], message
        assert old_forms(f"def f():\n    raise Refused(\n        f{message!r}, 'rows')") == [3], message
    assert not old_forms("raise InputError(f'rows must be 1 or more; got {rows}')")
    assert not old_forms("x = 'it is one; it takes another'")
