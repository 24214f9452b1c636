"""Classes of characters in regular expressions: what a schema's `pattern` allows, and how one is written."""

from __future__ import annotations

import re
from collections.abc import Iterable

_OF_ONE_CLASS = re.compile(r"\^(\[(?:[^\]\\]|\\.)+\])[*+]\$", re.DOTALL)
_ESCAPED = frozenset(r"\]^-[&~|")  # which Rust's `regex` or Python's `re` take for more than themselves
_COMMON = (*map(chr, range(ord(" "), ord("~") + 1)), "\n", "\t", "\r")


def character_class(characters: Iterable[str]) -> str:
    """`[0-9a-z]` of single characters, runs of three and more as ranges."""
    runs: list[list[str]] = []
    for character in sorted(set(characters)):
        if runs and ord(character) == ord(runs[-1][-1]) + 1:
            runs[-1].append(character)
        else:
            runs.append([character])
    return "[" + "".join(_run(run) for run in runs) + "]"


def characters_of(pattern: str) -> list[str] | None:
    """What a text of `^[...]*$` or `^[...]+$` may be made of: of all characters those that are common (ASCII) or that
    the class itself names. None for other patterns."""
    found = _OF_ONE_CLASS.fullmatch(pattern)
    if found is None:
        return None
    try:
        allowed = re.compile(found[1])
    except re.error:
        return None
    return [each for each in dict.fromkeys([*_COMMON, *found[1]]) if allowed.fullmatch(each)]


def _run(run: list[str]) -> str:
    written = [f"\\{each}" if each in _ESCAPED else each for each in run]
    return f"{written[0]}-{written[-1]}" if len(run) > 2 else "".join(written)
