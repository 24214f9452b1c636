"""Signs that are told in words: a drop of 7 °C is -7 °C where a change was asked for, 430 m below sea level is -430 m.

They count for a reference with a sign. Of one without a sign ("by how many points did it fall?") the words are the
question's.
"""

from __future__ import annotations

import re

_ABOUT = r"(?:about|around|roughly|some|almost|exactly)"
_DOWN = (
    r"f[ae]ll(?:en|s)?|drop(?:ped|s)?|declin(?:ed?|es)|decreas(?:ed?|es)|s[aiu]nk|shr[aiu]nk|los[st]|loses|loss|deficit"
    r"|reduc(?:ed|tion)|down|lower(?:ed)?|contract(?:ed|ion)|minus|negative"
)
_UP = (
    r"r[io]se|risen|rises|grew|grown|gain(?:ed|s)?|increas(?:ed?|es)|climb(?:ed|s)?|profit|surplus|up|higher|plus"
    r"|positive"
)
_BEFORE = re.compile(
    rf"(?:\ban? )?(?:\b(?:net|total) )?\b(?:(?P<down>{_DOWN})|(?P<up>{_UP}))(?: by| of)?(?: {_ABOUT})?\s*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s*(?:(?P<down>lower|less|fewer|down|loss|drop|decrease|decline|fall|deficit|below (?:sea level|zero|freezing))"
    r"|(?P<up>higher|more|up|gain|increase|rise|profit|surplus|above (?:sea level|zero|freezing)))\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\ban? $", re.IGNORECASE)


def has_direction(word: str) -> bool:
    return bool(re.fullmatch(f"{_DOWN}|{_UP}", word, re.IGNORECASE))


def directed(text: str, start: int, end: int) -> tuple[int, int, int]:
    """(start, end, sign) of a number with the words that give it a sign; 0: none do, or two: "fell 7 % less"."""
    before, after = _BEFORE.search(text[:start]), _AFTER.match(text, end)
    signs = [-1 if match["down"] else 1 for match in (before, after) if match]
    if len(signs) != 1:
        return start, end, 0
    first = before.start() if before else start
    if after and (article := _ARTICLE.search(text[:first])):
        first = article.start()
    return first, after.end() if after else end, signs.pop()
