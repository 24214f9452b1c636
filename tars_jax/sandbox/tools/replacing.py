"""Text in place of text, whatever ends the lines: a part that is written with LF stands for lines that end by CRLF."""

from __future__ import annotations

import dataclasses
from typing import Literal

from tars_jax.sandbox.tools.arguments import ToolError

Which = Literal["one", "all", "any", "first", "last"]


def places(text: str, part: str) -> tuple[list[int], str]:
    """Where a part stands in a text, without overlaps, and how it is spelled there.

    A part whose lines end by \\n is looked for as it is, and then with the ends of Windows.
    """
    for spelled in (part, part.replace("\n", "\r\n")) if "\r" not in part else (part,):
        if found := _places(text, spelled):
            return found, spelled
    return [], part


@dataclasses.dataclass(frozen=True)
class Replacement:
    text: str
    count: int  # places that were changed
    line: int  # of the first of them, from 1 on


def replace(text: str, part: str, by: str, which: Which = "one", subject: str = "a part must be there") -> Replacement:
    """The text with `by` in some of the places of the part, its lines ending as those around.

    `which`: "one", which must be the only one; "all", one or more; "any", also none; the "first" or the "last" of them.
    Raises ToolError, which begins with the subject, such as "old_str must be in FILE".
    """
    found, spelled = places(text, part)
    if not found and which != "any":
        raise ToolError(f"{subject} exactly as it is written there; it was not found")
    if which == "one" and len(found) > 1:
        where = ", ".join(str(text.count("\n", 0, at) + 1) for at in found[:20])
        raise ToolError(f"{subject} once; it is there {len(found)} times, in lines {where}")
    chosen = {"first": found[:1], "last": found[-1:]}.get(which, found)
    pieces, at = [], 0
    for place in chosen:
        pieces += [text[at:place], by if "\r" in part else with_ends(by, text, place)]
        at = place + len(spelled)
    line = text.count("\n", 0, chosen[0]) + 1 if chosen else 1
    return Replacement("".join([*pieces, text[at:]]), len(chosen), line)


def with_ends(part: str, text: str, place: int) -> str:
    """A part with the ends of the line that stands at a place of a text; behind its last end, of the one before."""
    end = text.find("\n", place)
    end = end if end >= 0 else text.rfind("\n", 0, place)
    return part if "\r" in part or text[max(end - 1, 0) : end + 1] != "\r\n" else part.replace("\n", "\r\n")


def _places(text: str, part: str) -> list[int]:
    found, at = [], text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + len(part))
    return found
