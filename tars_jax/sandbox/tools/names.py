"""Names of tools of others as names of functions."""

from __future__ import annotations

import re
from collections.abc import Collection

LONGEST_NAME = 64


def free_name(tool: str, owner: str, taken: Collection[str]) -> str:
    """A name that both grammars can write and that no folded one of `taken` is alike; `owner` is put before it."""
    written = re.sub(r"[^A-Za-z0-9_.-]", "_", tool)[:LONGEST_NAME] or "tool"
    if not re.match(r"[A-Za-z_]", written):
        written = f"_{written}"
    candidates = [written, f"{owner}_{written}"[:LONGEST_NAME]]
    if not re.match(r"[A-Za-z_]", candidates[1]):
        candidates[1] = f"_{candidates[1]}"
    for name in candidates:
        if folded(name) not in taken:
            return name
    number = 2
    while folded(name := f"{candidates[1][: LONGEST_NAME - 6]}_{number}") in taken:
        number += 1
    return name


def folded(name: str) -> str:
    """Alike for names that differ in case and signs alone, which policies confuse."""
    return re.sub(r"[_.-]", "", name).casefold() or name
