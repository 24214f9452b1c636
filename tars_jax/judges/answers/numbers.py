"""Numbers as figures, in words, and with words of size, by the customs of several languages (CLDR, by Babel)."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import pkgutil
import re
from collections.abc import Iterator

import number_parser
import number_parser.data
from babel import Locale
from babel.numbers import NumberFormatError, parse_decimal

from tars_jax.judges.answers.units import unit_of
from tars_jax.judges.answers.words import LANGUAGES, folded, roman_as_figures

CUSTOMS = ("en", "en_IN", "de", "fr")  # how figures are grouped; the first that reads them counts
_SIZED = ("en", "en_GB", "en_IN", "de", "es", "fr")  # whose words of size are known
FIGURES = r"(?:[1-9]\d{0,2}(?: \d{3})+(?:,\d{1,2}(?!\d)|(?![\d.,]?\d))|\d+(?:[.,']\d+)*|\.\d+)"
_WORD = r"[^\W\d_]+"
FRACTION = re.compile(r"(?<![\d/.,])(?:(?P<whole>\d+)[ -])?(?P<part>\d{1,2})[⁄/](?P<of>\d{1,2})(?![\d/]|[.,]\d)")
_BEFORE_AND = frozenset(("hundred", "thousand", "million"))
_DIVISORS = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "eighth": 8, "tenth": 10}
_SPOKEN = re.compile(
    r"\b(?P<part>one|two|three|four|five|seven|nine)[ -]"
    r"(?P<of>half|halves|(?:third|quarter|fourth|fifth|eighth|tenth)s?)\b",
    re.IGNORECASE,
)
_ONE = frozenset(("one", "and"))
_AND_A_HALF = ["and", "a", "half"]
# Words that say a number without being one.
_WORDS = (
    "all any both couple docena double douzaine dozen dozzina dutzend each either every everybody everyone everything "
    "few gross half infinite infinity neither never nil no nobody none nothing nought null once only other others "
    "pair pi same score several single sole thrice triple twice unlimited whole zero"
)
_QUANTIFIERS = frozenset(_WORDS.split())


@dataclasses.dataclass(frozen=True)
class Spelled:
    """A text with figures in place of words, and where its characters were."""

    text: str
    places: tuple[int, ...]

    def place(self, here: int) -> int:
        return self.places[here]


@functools.lru_cache(maxsize=1024)
def with_figures(text: str) -> Spelled:
    pieces: list[str] = []
    places: list[int] = []
    done = 0

    def keep(piece: str, start: int, step: int) -> None:
        pieces.append(piece)
        places.extend(start + step * number for number in range(len(piece)))

    for start, end, value in sorted((*_fractions_in(text), *_words_in(text)), key=lambda each: (each[0], -each[1])):
        if start >= done:
            keep(text[done:start], done, 1)
            done = end
            pieces.append(value)
            places.extend([start] * len(value))
    keep(text[done:], done, 1)
    return Spelled("".join(pieces), (*places, len(text)))


def _words_in(text: str) -> Iterator[tuple[int, int, str]]:
    for match in re.finditer(rf"\b{_WORD}(?:[ -]{_WORD})*\b", text):
        for start, end, value in _spelled_in(match[0]):
            yield match.start() + start, match.start() + end, value


def _fractions_in(text: str) -> Iterator[tuple[int, int, str]]:
    """3/4, 1 1/2, three quarters, as decimals."""
    for match in FRACTION.finditer(text):
        if int(match["of"]):
            yield *match.span(), f"{int(match['whole'] or 0) + int(match['part']) / int(match['of']):.9g}"
    for match in _SPOKEN.finditer(text):
        part, of = _in_words(match["part"]), _DIVISORS.get(match["of"].casefold().removesuffix("s"))
        if part and of:
            yield *match.span(), f"{part / of:.9g}"


def _spelled_in(run: str) -> Iterator[tuple[int, int, str]]:
    """Numbers in words: twenty-three, one thousand two hundred, a dozen, half a million, four point five, eighteen
    eighty-three. A word of size that alone ends one is left to `size_at`; "one" alone mostly stands for a noun."""
    words = list(re.finditer(_WORD, run))
    texts = [word[0].casefold() for word in words]
    place = 0
    while place < len(words):
        halves = texts[place : place + 2] in (["half", "a"], ["half", "an"])
        first = place + (2 if halves else texts[place] in ("a", "an"))
        if place < first < len(words) and _is_counted(texts[first:], halves):
            yield words[place].start(), words[first - 1].end(), "0.5" if halves else "1"
            place = first
        elif found := _number_at(texts, place):
            value, end = found
            yield words[place].start(), words[end - 1].end(), value
            place = end
        else:
            place += 1


def _number_at(texts: list[str], place: int) -> tuple[str, int] | None:
    """Number that the words from `place` on say, as figures, and where it ends."""
    end = place
    while end < len(texts) and (
        _in_words(texts[end]) is not None
        or (end > place and texts[end] in sizes())
        or (end > place and texts[end] == "and" and texts[end - 1] in _BEFORE_AND)
    ):
        end += 1
    while end > place and texts[end - 1] == "and":
        end -= 1
    if end == place or (end < len(texts) and number_parser.parse_ordinal(texts[end]) is not None):
        return None  # none, or a day: twenty-first
    said = texts[place:end]
    if said[-1] in sizes() and not set(said[:-1]) & sizes().keys():
        said = said[:-1]
    after = texts[place + len(said) :]
    is_range = after[:1] == ["to"] and bool(after[1:]) and _in_words(after[1]) is not None
    if len(said) == 1 and said[0] in _ONE and not (is_range or after[:3] == _AND_A_HALF or _is_counted(after, True)):
        return None
    value = _in_words(" ".join(said))
    digits = [_in_words(each) for each in itertools.takewhile(_is_digit, after[1:])] if after[:1] == ["point"] else []
    if digits and value is not None:
        return f"{value}.{''.join(map(str, digits))}", place + len(said) + 1 + len(digits)
    if value is None and len(said) in (2, 3):  # a year
        century, rest = _in_words(said[0]), _in_words(" ".join(said[1:]))
        value = 100 * century + rest if century and rest and 10 < century < 21 and 9 < rest < 100 else None
    return (str(value), place + len(said)) if value is not None else None


def _is_counted(after: list[str], takes_units: bool) -> bool:
    """Whether a word of size or a unit follows: one hour, half a million, but a few; "an hour" only with its half."""
    if not after:
        return False
    is_unit = takes_units or after[1:4] == _AND_A_HALF
    return after[0] in sizes() or (is_unit and len(after[0]) > 2 and unit_of(after[0]) is not None)


def _is_digit(text: str) -> bool:
    return (value := _in_words(text)) is not None and 0 <= value < 10


@functools.lru_cache(maxsize=4096)
def _in_words(text: str) -> int | None:
    plain = text.casefold()
    if not plain.isascii() or plain in ("a", "an", "and") or plain in sizes():
        return None
    value = number_parser.parse_number(plain, language="en")
    return value if isinstance(value, int) else None


def says_no_number(text: str) -> bool:
    """Whether words say none at all, in whatever language number_parser has numbers of: as a name does, or a color."""
    if any(each.isdigit() for each in with_figures(text).text):
        return False
    return not any(_may_count(each) for each in re.findall(_WORD, text))


@functools.lru_cache(maxsize=4096)
def _may_count(word: str) -> bool:
    small = folded(word)
    is_sum = any(len(each) > 3 and small.startswith(each) for each in _number_words())  # zweihundert
    is_other = small in _QUANTIFIERS or small.removesuffix("s") in _DIVISORS or small in sizes()
    is_rank = number_parser.parse_ordinal(small) is not None if small.isascii() else False
    is_one = len(word) > 2 and unit_of(small) is not None  # a dollar, an hour
    return is_one or is_sum or is_other or is_rank or small in _number_words() or roman_as_figures(word) != word


@functools.cache
def _number_words() -> frozenset[str]:
    """Without those of one or two letters, which are other words, too."""
    kinds = ("UNIT_NUMBERS", "DIRECT_NUMBERS", "TENS", "HUNDREDS", "BIG_POWERS_OF_TEN")
    known = {each.name for each in pkgutil.iter_modules(number_parser.data.__path__)}
    found = (
        folded(word)
        for language in LANGUAGES if language in known
        for kind in kinds
        for word in importlib.import_module(f"number_parser.data.{language}").info[kind]
    )  # fmt: skip
    return frozenset(word for word in found if len(word) > 2)


@functools.lru_cache(maxsize=4096)
def readings_of(figures: str) -> list[float]:
    """Readings of the figures by the customs that can read them, the likeliest first."""
    if re.fullmatch(r"\d{1,3}(?:([ '])\d{3})(?:\1\d{3})*(?:\.\d+|,\d{1,2})?", figures):
        return [float(re.sub(r"[ ']", "", figures).replace(",", "."))]
    if len(figures) > 40 or re.match(r"0\d", figures):
        return []
    found: list[float] = []
    for custom in CUSTOMS:
        try:
            value = float(parse_decimal(figures, locale=custom, strict=True))
        except (NumberFormatError, ValueError):
            continue
        if value not in found:
            found.append(value)
    if not found and re.fullmatch(r"\d+(?:\.\d+)?", figures):  # 0.500, or 007
        found.append(float(figures))
    return found


def digits_of(figures: str, value: float) -> tuple[int, int]:
    """(significant digits, decimals): zeros at the end of a whole number are not significant."""
    if value.is_integer() and not re.search(r"[.,]\d{1,2}$", figures):
        whole = str(int(value))
        return max(len(whole.rstrip("0")), 1), 0
    decimals = len(re.split(r"[.,]", figures)[-1])
    return max(len(re.sub(r"\D", "", figures).lstrip("0")), 1), decimals


@functools.cache
def sizes() -> dict[str, float]:
    """million, lakh, Mrd, dozen: the words for which CLDR's short and long numbers have these."""
    found: dict[str, float] = {"dozen": 12.0, "hundred": 100.0}
    for locale in map(Locale.parse, _SIZED):
        for style in ("long", "short"):
            for numbers in locale.compact_decimal_formats[style].values():
                for power, shown in numbers.items():
                    zeros, word = re.fullmatch(r"(0*)(.*)", shown.pattern, re.DOTALL).groups()  # type: ignore[union-attr]
                    word = re.sub(r"[\s'.]+", " ", word).strip().casefold()
                    if zeros and word and " " not in word:
                        found.setdefault(word, int(power) / 10 ** (len(zeros) - 1))
    return found


def size_at(text: str, place: int, is_money: bool) -> tuple[float, int] | None:
    match = re.match(rf"([ -]?)({_WORD})\.?(?=\W|\d|$)", text[place:])
    if match is None or (size := sizes().get(match[2].casefold())) is None:
        return None
    short = len(match[2]) == 1
    if short and (match[1] or not (match[2].isupper() or is_money or match[2] == "k")):
        return None
    return size, place + match.end(2)
