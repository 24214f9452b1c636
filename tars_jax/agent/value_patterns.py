"""Numbers and classes of characters as regular expressions: what a schema allows, and how one is written."""

from __future__ import annotations

import decimal
import math
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
    """Characters that a text of `^[...]*$` or `^[...]+$` may be made of, out of ASCII and those that the class itself
    names. None for other patterns."""
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


PLACES = 6  # of decimals
_DECIMALS = f"[0-9]{{0,{PLACES - 1}}}[1-9]"  # ends as JSON prints it, and is never 0: 1.0 is 1


def any_of(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def integers_between(low: int, high: int) -> str:
    """Pattern of the integers low..high in decimal, low <= high."""
    parts = []
    if low < 0:
        parts.append("-" + any_of(_naturals(max(1, -high), -low)))
    if high >= 0:
        parts += _naturals(max(0, low), high)
    return any_of(parts)


def numbers_between(low: float, high: float, open_low: bool = False, open_high: bool = False) -> str | None:
    """Pattern of the numbers low..high that have at most six decimal places. An open bound is no such number. None if
    there are none."""
    lowest, highest = (decimal.Decimal(repr(bound)) * 10**PLACES for bound in (low, high))
    first, last = math.ceil(lowest), math.floor(highest)
    first += open_low and first == lowest
    last -= open_high and last == highest
    parts = ["0"] if first <= 0 <= last else []
    if max(first, 1) <= last:
        parts += _positive(max(first, 1), last)
    if first <= min(last, -1):
        parts.append("-" + any_of(_positive(max(-last, 1), -first)))
    return any_of(parts) if parts else None


def _positive(first: int, last: int) -> list[str]:
    """Patterns of the numbers first..last in millionths, at least one."""
    one = 10**PLACES
    whole, least, most = (-(-first // one), last // one), -(-(first - 1) // one), (last + 1) // one - 1
    parts = [integers_between(*whole)] if whole[0] <= whole[1] else []
    if least <= most:  # between n and n + 1 for all of these n
        parts.append(rf"{integers_between(least, most)}\.{_DECIMALS}")
    for edge in sorted({first // one, last // one}):
        if least <= edge <= most:
            continue
        bounds = max(1, first - edge * one), min(one - 1, last - edge * one)
        if bounds[0] <= bounds[1]:
            parts.append(rf"{edge}\.{_decimals(*bounds, PLACES)}")
    return parts


def _decimals(first: int, last: int, places: int) -> str:
    """Digits behind the point, of which the last is not 0, of first..last in units of the last of `places`."""
    unit = 10 ** (places - 1)
    alike: dict[str, list[str]] = {}  # first digits by what may follow them
    for digit in range(10):
        low, high = max(1, first - digit * unit), min(unit - 1, last - digit * unit)
        follow = ""
        if low <= high:
            all_of_them = (low, high) == (1, unit - 1)
            follow = f"[0-9]{{0,{places - 2}}}[1-9]" if all_of_them else _decimals(low, high, places - 1)
        if digit and first <= digit * unit <= last:
            alike.setdefault(f"(?:{follow})?" if follow else "", []).append(str(digit))
        elif follow:
            alike.setdefault(follow, []).append(str(digit))
    return any_of(f"{_digit(digits[0], digits[-1])}{follow}" for follow, digits in alike.items())


def _naturals(low: int, high: int) -> list[str]:
    """Patterns of 0 <= low..high, one or more for each number of digits."""
    parts = []
    for digits in range(len(str(low)), len(str(high)) + 1):
        least = max(low, 10 ** (digits - 1) if digits > 1 else 0)
        parts.append(_same_length(str(least), str(min(high, 10**digits - 1))))
    return parts


def _same_length(low: str, high: str) -> str:
    rest = len(low) - 1
    if low == high:
        return low
    if low[1:] == "0" * rest and high[1:] == "9" * rest:
        return _digit(low[0], high[0]) + (f"[0-9]{{{rest}}}" if rest else "")
    if low[0] == high[0]:
        return low[0] + _same_length(low[1:], high[1:])
    parts = [low[0] + _same_length(low[1:], "9" * rest)]
    if int(high[0]) - int(low[0]) > 1:
        parts.append(_digit(str(int(low[0]) + 1), str(int(high[0]) - 1)) + f"[0-9]{{{rest}}}")
    return any_of([*parts, high[0] + _same_length("0" * rest, high[1:])])


def _digit(low: str, high: str) -> str:
    return low if low == high else f"[{low}-{high}]"
