"""Regular expressions of numbers between two bounds."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable

_DECIMALS = "[0-9]{0,5}[1-9]"  # ends as JSON prints it, and is never 0: 1.0 is 1


def any_of(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def integers_between(low: int, high: int) -> str:
    """Of the integers low..high in decimal, low <= high."""
    parts = []
    if low < 0:
        parts.append("-" + any_of(_naturals(max(1, -high), -low)))
    if high >= 0:
        parts += _naturals(max(0, low), high)
    return any_of(parts)


def numbers_between(low: float, high: float, open_low: bool = False, open_high: bool = False) -> str | None:
    """Of numbers low..high: integers, and decimals of up to six places between two integers; where there is neither,
    of all that have as few places as there must be. An open bound is no such number. None if there are none.
    """
    whole_low, whole_high = math.ceil(low), math.floor(high)
    first = whole_low + (open_low and whole_low == low)
    last = whole_high - (open_high and whole_high == high)
    parts = [integers_between(first, last)] if first <= last else []
    if whole_high > max(whole_low, 0):  # n.d lies between n and n + 1
        parts.append(rf"{integers_between(max(whole_low, 0), whole_high - 1)}\.{_DECIMALS}")
    if whole_low < min(whole_high, 0):
        parts.append(rf"-{integers_between(max(-whole_high, 0), -whole_low - 1)}\.{_DECIMALS}")
    return any_of(parts) if parts else _few_places(low, high, open_low, open_high)


def _few_places(low: float, high: float, open_low: bool, open_high: bool) -> str | None:
    bounds = decimal.Decimal(repr(low)), decimal.Decimal(repr(high))
    for places in range(1, 7):
        scale = decimal.Decimal(10) ** places
        first, last = math.ceil(bounds[0] * scale), math.floor(bounds[1] * scale)
        first += open_low and first == bounds[0] * scale
        last -= open_high and last == bounds[1] * scale
        if first <= last:
            numbers = (decimal.Decimal(number) / scale for number in range(first, min(last, first + 99) + 1))
            return any_of(f"{number:f}".replace(".", r"\.") for number in numbers)
    return None


def _naturals(low: int, high: int) -> list[str]:
    """Of 0 <= low..high, one pattern or more for each number of digits."""
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
