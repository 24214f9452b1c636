"""A number with its unit, and when two of them are the same.

A number is the same as a more exact one where it is that one rounded to three digits or more. Units of one quantity are
converted, by Pint; a unit that is left out is the reference's own.
"""

from __future__ import annotations

import dataclasses
import decimal
import enum
from typing import TYPE_CHECKING

from tars_jax.judges.answers.units import counts_bits, is_share, is_unit, registry

if TYPE_CHECKING:
    import pint

LEAST_DIGITS = 3  # that a rounded number must have


class Same(enum.Enum):
    """Relation of an answer's quantity to the reference."""

    YES = enum.auto()
    NO = enum.auto()
    UNSURE = enum.auto()  # by another custom it is the same, or it is more exact, or a bound
    OTHER = enum.auto()  # of another kind; or a choice of several: no answer


@dataclasses.dataclass(frozen=True)
class Quantity:
    value: float  # as written, before its unit; with its word of size
    unit: pint.Unit | frozenset[str] | None = None  # of Pint; the currencies that it may be; None: none that is known
    per: pint.Unit | str | None = None  # of a price: what costs so much
    high: float | None = None  # of a range, whose `value` is the lower end
    digits: int = 15  # that are significant
    decimals: int = 0  # as written; below 0: it ends with zeros
    other: float | None = None  # by another custom
    bound: str = ""  # ">", ">=", "<", "<=", or what else stands around it: "almost"
    tolerance: float = 0.0  # of a reference, in its own unit
    is_year: bool = False
    rounds: bool = False  # whether as a reference it is told by a rounded number, too
    is_signed: bool = False  # as written
    is_both: bool = False  # plus or minus
    sign_after: int = 0  # as chemists write it: 2+, 3-
    is_glued: bool = False  # letters follow at once that are no unit
    end: int = dataclasses.field(default=0, compare=False)  # in its text


def compare(said: Quantity, wanted: Quantity, *, shares: bool = False) -> Same:
    """`shares`: the question asks for a share, so that 0.81 is 81 %."""
    if shares and wanted.unit is None and is_share(said.unit):
        said = dataclasses.replace(said, value=said.value / _whole(said.unit), unit=None)
    if said.per is not None and isinstance(wanted.unit, frozenset):
        if wanted.per is None:
            return Same.UNSURE if _is_close(said.value, wanted.value) else Same.NO
        if isinstance(said.per, str) or isinstance(wanted.per, str):
            return Same.NO
        if said.per.dimensionality != wanted.per.dimensionality:
            return Same.NO
        each = float(registry().Quantity(1, wanted.per).to(said.per).magnitude)
        said = dataclasses.replace(said, value=said.value * each, per=None)
    said = _read_otherwise(said, wanted)
    if _converted(said, wanted) is None:
        return Same.OTHER
    is_money = said.unit is not None and isinstance(said.unit, frozenset) | isinstance(wanted.unit, frozenset)
    if is_money and not _is_same_money(said.unit, wanted.unit):
        return Same.UNSURE if _is_close(said.value, wanted.value) else Same.NO
    if (said.high is None) != (wanted.high is None):
        return Same.NO
    if said.high is not None and wanted.high is not None:
        ends = (
            dataclasses.replace(said, value=said.high, high=None),
            dataclasses.replace(wanted, value=wanted.high, high=None),
        )
        low = dataclasses.replace(said, high=None), dataclasses.replace(wanted, high=None)
        both = {compare(*low), compare(*ends)}
        return both.pop() if len(both) == 1 else Same.NO
    if wanted.is_signed and said.sign_after:
        said = dataclasses.replace(said, value=said.sign_after * abs(said.value), bound="")
    if said.is_both != wanted.is_both:
        is_bare = wanted.is_both and not said.is_signed and _is_close(said.value, wanted.value)
        return Same.UNSURE if is_bare else Same.NO
    converted = _converted(said, wanted)
    assert converted is not None
    if said.is_glued and not wanted.is_glued and _is_close(converted, wanted.value):
        return Same.UNSURE
    if said.bound != wanted.bound:
        return Same.NO if said.bound and wanted.bound and said.bound[0] != wanted.bound[0] else Same.UNSURE
    if abs(converted - wanted.value) <= max(wanted.tolerance, 1e-9 * abs(wanted.value)):
        return Same.YES
    if said.unit is None and is_share(wanted.unit) and _is_close(_whole(wanted.unit) * converted, wanted.value):
        return Same.YES if shares else Same.UNSURE
    if said.other is not None and _is_close(said.other, wanted.value):
        return Same.UNSURE
    if wanted.is_year or wanted.tolerance:
        return Same.NO
    return _rounded_same(said, wanted, converted)


def _whole(unit: object) -> int:
    return 1000 if str(unit) == "permille" else 100


def is_rounded(said: Quantity, wanted: Quantity) -> bool:
    """Whether it is the other in a unit of its own, rounded to the digits that it has: 5 km (3.1 mi)."""
    if said.unit is None or said.unit == wanted.unit or said.bound != wanted.bound or said.high != wanted.high:
        return False
    back = _converted(wanted, said)
    return back is not None and _is_close(_rounded(back, said.digits), said.value)


def _rounded(value: float, digits: int) -> float:
    """Rounds to so many significant digits, halves away from zero, as people do: 1234.5 is 1235."""
    exact = decimal.Decimal(repr(float(value)))
    last = decimal.Decimal((0, (1,), exact.adjusted() + 1 - min(digits, 15)))
    return float(exact.quantize(last, rounding=decimal.ROUND_HALF_UP)) if value else 0.0


def _rounded_same(said: Quantity, wanted: Quantity, converted: float) -> Same:
    if wanted.rounds and said.digits >= LEAST_DIGITS:
        back = _converted(wanted, said)
        if back is not None and _is_close(_rounded(back, said.digits), said.value):
            return Same.YES
    if wanted.rounds and said.digits == LEAST_DIGITS - 1 and is_rounded(said, wanted):
        return Same.UNSURE  # 62 miles, of 100 km
    is_exact = wanted.decimals and wanted.rounds and _is_close(round(converted, wanted.decimals), wanted.value)
    return Same.UNSURE if is_exact else Same.NO


def _is_same_money(one: object, other: object) -> bool:
    """$ and dollars are US dollars, too, but Canadian dollars are not all of what $ may be, no money is none."""
    if not (isinstance(one, frozenset) and isinstance(other, frozenset)):
        return False
    return one == other or bool(one & other & _MAIN)


_MAIN = frozenset(("USD", "JPY", "GBP", "EUR", "INR", "KRW", "RUB"))  # what a sign of several currencies first means
_LETTERS = {"coulomb": "degree_Celsius", "farad": "degree_Fahrenheit"}  # C and F of a temperature


def _read_otherwise(said: Quantity, wanted: Quantity) -> Quantity:
    """Reads a letter as it is meant beside such a reference: C and F are degrees, and so is "degrees"; m and M of a
    count are millions."""
    unit = str(said.unit)
    if wanted.unit is None and unit in ("meter", "molar"):
        return dataclasses.replace(said, value=said.value * 1e6, unit=None, decimals=said.decimals - 6)
    if str(wanted.unit).startswith("degree_"):
        if unit in _LETTERS:
            return dataclasses.replace(said, unit=registry().Unit(_LETTERS[unit]))
        if unit == "degree":
            return dataclasses.replace(said, unit=wanted.unit)
    return said


def _converted(said: Quantity, wanted: Quantity) -> float | None:
    """The answer's value in the reference's unit; None where that is of another kind."""
    if said.unit is None or said.unit == wanted.unit:
        return said.value
    if isinstance(said.unit, frozenset):
        same = wanted.unit is None or (isinstance(wanted.unit, frozenset) and bool(said.unit & wanted.unit))
        return said.value if same else None
    if not is_unit(wanted.unit) or is_share(said.unit) != is_share(wanted.unit):
        return None
    if {str(said.unit), str(wanted.unit)} == {"point", "percentage_point"}:
        return said.value
    if "percentage_point" in (str(said.unit), str(wanted.unit)):
        return None
    if said.unit.dimensionality != wanted.unit.dimensionality or counts_bits(said.unit) != counts_bits(wanted.unit):
        return None
    return float(registry().Quantity(said.value, said.unit).to(wanted.unit).magnitude)


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
