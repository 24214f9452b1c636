"""Marks around text that others wrote, which that text cannot write: not in another case, spacing, or look-alikes.

What stands in the text like the beginning of a mark loses its bracket. A word of other letters than a to z behind a
bracket may look like a mark's name (Cyrillic, full width, with signs of no width in it), so it is taken for one.
"""

from __future__ import annotations

import re
import unicodedata

NAMES = ("screen", "actions", "claim", "question", "reference", "answer")
_TAKEN = (*NAMES, "think")  # where a model's thought ends, its answer begins (`verdicts.py`)
_BRACKET = "<＜﹤‹〈⟨《«❮❬˂≺"
_ENTITY = r"&(?:lt|#0*60|#x0*3c);?"
_BEGINS = re.compile(rf"(?:[{_BRACKET}]|{_ENTITY})(?=([^<>]{{0,60}}))", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")


def between(name: str, text: str) -> str:
    """The text between the marks of that name, one of NAMES."""
    return f"<{name}>\n{unmarked(text)}\n</{name}>"


def unmarked(text: str) -> str:
    """Without what is, or looks like, one of our marks."""
    return _BEGINS.sub(lambda found: "[" if _looks_like_a_mark(found[1]) else found[0], text)


def _looks_like_a_mark(behind: str) -> bool:
    """`behind`: what follows a bracket."""
    visible = "".join(sign for sign in behind if unicodedata.category(sign) != "Cf")
    words = _WORD.findall(unicodedata.normalize("NFKC", visible).casefold())
    return "".join(words).startswith(_TAKEN) or not "".join(words[:1]).isascii()
