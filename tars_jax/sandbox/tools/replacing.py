"""Text in place of text, whatever ends the lines: a part that is written with LF stands for lines that end by CRLF."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def places(text: str, part: str) -> tuple[list[int], str]:
    """Where a part stands in a text, without overlaps, and how it is spelled there.

    A part whose lines end by \\n is looked for as it is, and then with the ends of Windows.
    """
    for spelled in (part, part.replace("\n", "\r\n")) if "\r" not in part else (part,):
        if found := _places(text, spelled):
            return found, spelled
    return [], part


def replaced(text: str, part: str, by: str, which: Callable[[Sequence[int]], Sequence[int]] = tuple) -> str:
    """The text with `by` in some of the places of the part, its lines ending as those around. `which` may raise."""
    found, spelled = places(text, part)
    pieces, at = [], 0
    for place in which(found):
        pieces += [text[at:place], by if "\r" in part else with_ends(by, text, place)]
        at = place + len(spelled)
    return "".join([*pieces, text[at:]])


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
