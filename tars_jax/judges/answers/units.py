"""Units, by Pint, and currencies, by Babel, that stand after a number."""

from __future__ import annotations

import functools
import logging
import re
import threading
from typing import TYPE_CHECKING, Any, TypeGuard

from babel.numbers import get_currency_name, get_currency_symbol, list_currencies

if TYPE_CHECKING:
    import pint

_MAKING = threading.Lock()
_SMALL = "a an and as at am are is in per to of us he be do it pm by no so or on we the for"
_SMALL_WORDS = frozenset(_SMALL.split())  # that Pint has as units, or takes apart
_TEMPERATURE = re.compile(r"(?:°|degrees?|deg)? ?(?P<of>celsius|centigrade|fahrenheit|kelvin|[CFK])\b", re.IGNORECASE)


def registry() -> pint.UnitRegistry[Any]:
    """One for all threads: units of two registries cannot be compared."""
    with _MAKING:
        return _registry()


@functools.cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint  # a tenth of a second, which who asks for a list of judges should not wait for

    found: pint.UnitRegistry[Any] = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
    logging.getLogger("pint.util").setLevel(logging.ERROR)  # a word of two meanings is no news: the question tells
    for line in (
        "percentage_point = 1 = _ = percentage_points",
        "@alias kilogram = kilo = kilos",
        "@alias kilometer_per_hour = kmh",
    ):
        found.define(line)
    return found


def is_unit(unit: pint.Unit | frozenset[str] | str | None) -> TypeGuard[pint.Unit]:
    """Whether it is one of Pint's; else it is currencies, a thing that is counted, or none."""
    return not isinstance(unit, frozenset | str | None)


@functools.cache
def _currencies() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """(by sign or code, by name): "$" and "dollars" may be several."""
    signs: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    for code in sorted(list_currencies("en")):
        signs.setdefault(code, set()).add(code)
        signs.setdefault(get_currency_symbol(code, "en"), set()).add(code)
        for count in (1, 2):
            name = get_currency_name(code, count, "en").casefold()
            names.setdefault(name, set()).add(code)
            names.setdefault(name.split()[-1], set()).add(code)
    signs |= {"US$": {"USD"}, "C$": {"CAD"}}
    signs["$"] = signs["$"] | names["dollars"] | names["pesos"]
    names["yen"] = {"JPY"}
    signs["¥"] = signs["¥"] | {"CNY"}
    return tuple({key: frozenset(codes) for key, codes in table.items()} for table in (signs, names))  # type: ignore[return-value]


def currency(text: str) -> frozenset[str] | None:
    signs, names = _currencies()
    return signs.get(text) or signs.get(text.upper()) or names.get(text.casefold())


def unit_at(text: str, place: int) -> tuple[pint.Unit | frozenset[str], int] | None:
    """The longest unit that begins here, after a space or a hyphen, and its end."""
    start = re.match(r"[ -]?", text[place:]).end() + place  # type: ignore[union-attr]
    piece = text[start : start + 60]
    if match := re.match(r"(?:per cent|percent|pct|%)(?! ?points?)(?!\w)", piece, re.IGNORECASE):
        return registry().Unit("percent"), start + match.end()
    if match := re.match(r"‰|per mill?e?\b", piece, re.IGNORECASE):
        return registry().Unit("permille"), start + match.end()
    if match := re.match(r"(?:percentage|percent|%)[ -]points?\b|pp\b", piece, re.IGNORECASE):
        return registry().Unit("percentage_point"), start + match.end()
    if re.match(r"(?:°|degrees?)(?= ?(?:[NSEW]\b|north|south|east|west))", piece):
        return registry().Unit("degree"), start + re.match(r"°|degrees?", piece).end()  # type: ignore[union-attr]
    if re.match(r"h(?=[0-5]\d(?!\d))", piece):
        return registry().Unit("hour"), start + 1  # 2h45
    match = _TEMPERATURE.match(piece)
    if match and (len(match["of"]) > 1 or match[0] != match["of"] or match["of"] == "K"):
        name = {"c": "degC", "f": "degF", "k": "kelvin"}[match["of"][0].casefold()]
        return registry().Unit(name), start + match.end()
    if match := re.match(r"[$€£¥₹₽₩₺₫₪円]", piece):
        return (currency(match[0].replace("円", "¥")) or frozenset((match[0],))), start + 1
    words = re.match(r"[^\W\d_'\"]+|[°'\"µμΩ](?:\s?[^\W\d_]+)?", piece)
    if words is None:
        return None
    ends = [match.end() for match in re.finditer(r"(?:[^\W_]|[°'\"]|\^-?)+[.)]?", piece)][:6]
    for end in reversed(ends):
        phrase = piece[:end]
        if (unit := unit_of(phrase)) is not None:
            return unit, start + end
        if phrase.endswith(".") and (unit := unit_of(phrase[:-1])) is not None:
            return unit, start + end
    return None


_PER = re.compile(r" ?(?:(?P<per>/|per\b)|(?:an?|each|every)\b) ?(?:(?P<amount>\d+) ?)?")


def rate_at(text: str, place: int) -> tuple[float, pint.Unit, int] | None:
    """(how many, of which unit, end) of "/kg", "per 100 g", "a kilo", "an hour" that begins here."""
    match = _PER.match(text, place)
    found = unit_at(text, match.end()) if match else None
    if match is None or found is None or not is_unit(found[0]):
        return None
    is_word = found[1] - match.end() > 2  # "a m" is none
    return (float(match["amount"] or 1) or 1.0, found[0], found[1]) if match["per"] or is_word else None


@functools.lru_cache(maxsize=4096)
def unit_of(phrase: str) -> pint.Unit | frozenset[str] | None:
    if money := currency(phrase):
        return money
    if not re.fullmatch(r"[^\W\d_°'\"]*[°'\"]?[^\W_]*(?:[ ./*·^(-]+[^\W_]+)*[.)]?", phrase) or phrase in _SMALL_WORDS:
        return None
    if set(phrase.split()[1:]) & (_SMALL_WORDS - {"per"}):  # "mm in" is no product of units
        return None
    plain = re.sub(r"\bsq\b\.? ?", "square ", phrase)
    plain = re.sub(r"\bcu\b\.? ?", "cubic ", plain)
    plain = re.sub(r"(?<=[A-Za-zµμ])(?:\^(-?[1-9])|([23]))\b", r"**\1\2", plain)
    plain = plain.replace("yrs", "years").strip(" .")
    plain = re.sub(r"(?<!\*)-|·", " ", plain)
    small = plain.casefold() if len(plain) > 3 else plain  # Mb is no mb
    for candidate in dict.fromkeys((plain, plain.replace(" ", "_"), small, small.replace(" ", "_"))):
        if not re.fullmatch(r"[^\W\d]\w*|.*[ /*^].*|°", candidate) or candidate in _SMALL_WORDS:
            continue
        try:
            unit = registry().parse_units(candidate)
        except Exception:  # Pint's parser raises what tokenizers, operators and its own tables raise
            continue
        if _is_written(unit, candidate):
            return unit
    return None


def _is_written(unit: pint.Unit, phrase: str) -> bool:
    """Not a word that Pint takes apart, as "kilos" into kilo and seconds, nor a pure number such as "count"."""
    if unit.dimensionless and not (is_share(unit) or counts_bits(unit) or str(unit) in ("degree", "point")):
        return False
    for word in re.findall(r"[^\W\d]+", phrase):
        if len(word) < 4 or not word.islower() or word in ("per", "square", "cubic"):
            continue
        readings = registry().parse_unit_name(word)
        if not any(
            not prefix
            or registry().get_symbol(prefix + name) == word
            or (word.startswith(prefix) and len(word) > len(prefix) + 2)
            for prefix, name, _ in readings
        ):
            return False
    return True


def is_share(unit: object) -> bool:
    return str(unit) in ("percent", "permille")


def counts_bits(unit: pint.Unit) -> bool:
    """Pint takes bits and bytes for pure numbers."""
    return any(each in str(unit) for each in ("bit", "byte", "baud"))
