"""Kinds of answers, and the relation of another text of a kind to the reference, read whole.

A text that is not a value of the kind as a whole, to its last sign, is none.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import re
from collections.abc import Callable, Iterator

from tars_jax.judges.answers.dates import When, compare_dates, dates_in, read_date, weekday_of
from tars_jax.judges.answers.names import ARTICLES, compare_names, is_code, kinds_of
from tars_jax.judges.answers.numbers import with_figures
from tars_jax.judges.answers.quantities import ABOUT, BOUND, quantities_in, read_quantity
from tars_jax.judges.answers.quantity import Quantity, Same, compare, is_rounded
from tars_jax.judges.answers.question_forms import asks_day, asks_in_turn, asks_order, asks_pair, is_written_alike
from tars_jax.judges.answers.questions import ParsedQuestion
from tars_jax.judges.answers.retold import asks_share, retelling
from tars_jax.judges.answers.signs import directed, has_direction
from tars_jax.judges.answers.times import compare_times, read_time, times_in
from tars_jax.judges.answers.units import is_unit
from tars_jax.judges.answers.words import roman_as_figures

_CHARGE = re.compile(r"\b(?:charged?|oxidation|ions?|valen)", re.IGNORECASE)
_ASKS_WHEN = re.compile(r"\b(?:when|years?|date[sd]?|born|since|decade|century)\b", re.IGNORECASE)
_ASKS_VERSION = re.compile(r"\b(?:versions?|releases?)\b", re.IGNORECASE)
_AT_DAY = re.compile(r"(?:in|on|at|from(?=.*\b(?:to|until|till|through)\b)) (?:the year )?", re.IGNORECASE)
_ITEMS = re.compile(
    r"\s*(?:(?<=\d)\s?[x×]\s?(?=\d)|;|\||,\s+and\s|,\s|/|\s&\s|\sand\s|\sas well as\s)\s*(?:and\s+)?", re.IGNORECASE
)
_BOTH = re.compile(r"(?:both|all of)\s+", re.IGNORECASE)
_OTHER_WORDS = frozenset(["but", "not", "no", "all", "except", "neither", "none", "are", "is"])
_OR = re.compile(r",?\s+(?:or|and/or)\s+(?:(?:maybe|perhaps|possibly|rather)\s+)?", re.IGNORECASE)

Reader = Callable[[str], Same | None]  # of a text that is a value of the kind as a whole; None where it is none
Finder = Callable[[str], Iterator[Same]]  # of each value of the kind within a text


def _never(said: str) -> bool:
    return False


@dataclasses.dataclass(frozen=True)
class AnswerKind:
    name: str
    read: Reader
    find: Finder
    agrees: Callable[[str], bool] = _never  # of a text in another unit: as exactly as it says


@functools.lru_cache(maxsize=1024)
def kind_of(reference: str, question: ParsedQuestion, *, is_closed: bool) -> AnswerKind:
    """A code, a time, a day, a number, a list or a name."""
    if _ASKS_VERSION.search(question.text) and re.fullmatch(r"[vV]?\d+(?:\.\d+)+", reference):
        bare = reference.lstrip("vV")
        return _kind("name", lambda said: _compare_versions(said, bare))
    if (time := read_time(reference)) is not None:

        def times(said: str) -> Iterator[tuple[bool, Same]]:
            for start, end, each in times_in(said, spans=time.to is not None):
                yield (start, end) == (0, len(said)), compare_times(each, time)

        return _typed("time", times)
    day = read_date(_AT_DAY.sub("", reference))
    if day is not None and (not day.is_bare or day.to or not question.text or _ASKS_WHEN.search(question.text)):
        return _typed("day", lambda said: _days(said, day))
    retell = retelling(reference, question.text)
    if roman_as_figures(reference) == reference:
        told = _ranged(retell(reference))
        wanted = _read_change(told, question) or read_quantity(told, question.text)
        if wanted is not None and not re.fullmatch(r"\d+(?:st|nd|rd|th)", reference):
            if wanted.sign_after and _CHARGE.search(question.text):
                wanted = dataclasses.replace(wanted, value=wanted.sign_after * abs(wanted.value), sign_after=0)
            return _number(wanted, retell, question)
    parts = parts_of(reference, question.text)
    if len(parts) > 1:
        kinds = [kind_of(each, question, is_closed=is_closed) for each in parts]
        return _kind("list", lambda said: _compare_lists(said, kinds, question))

    def names(said: str) -> Same:
        same = compare_names(
            said, reference, is_person=question.asks_person, is_closed=is_closed, is_day=asks_day(question.text)
        )
        is_sure = same is not Same.YES or is_written_alike(said, reference, question.text)
        return same if is_sure else Same.UNSURE

    return _kind("code" if is_code(reference) else "name", names)


def _kind(name: str, read: Reader) -> AnswerKind:
    return AnswerKind(name, lambda said: _chosen(said, read), lambda said: iter(()))


def _typed(name: str, find: Callable[[str], Iterator[tuple[bool, Same]]]) -> AnswerKind:
    """`find`: of each value in a text, whether it is the whole text, and how it stands to the reference."""

    def read(said: str) -> Same | None:
        said = said.strip()
        is_between = bool(re.match(r"between\b", said, re.IGNORECASE))
        exact = ABOUT.sub("", said)
        found = list(find(said if is_between else _AT_DAY.sub("", exact, count=1)))
        if len(found) != 1 or not found[0][0]:
            return None
        is_hedged = exact != said and found[0][1] is Same.YES  # c. 1883 may be 1884
        return Same.UNSURE if is_hedged else found[0][1]

    return AnswerKind(name, lambda said: _chosen(said, read), lambda said: (same for _, same in find(said)))


def _chosen(said: str, read: Reader) -> Same | None:
    """Answers to a choice with `Same.OTHER` where they give no single alternative, whichever of it is right."""
    same = read(said)
    offered = _OR.split(said)
    if same is Same.YES or len(offered) == 1:
        return same
    found = [read(each) for each in offered if each]
    if Same.YES not in found:
        return Same.NO if found and set(found) == {Same.NO} else None
    return Same.UNSURE if set(found) == {Same.YES} else Same.OTHER


def _days(said: str, wanted: When) -> Iterator[tuple[bool, Same]]:
    said = re.sub(r"\b[MDCLXVI]{2,}\b", lambda found: roman_as_figures(found[0]), said)
    said = with_figures(said).text
    for start, end, each in dates_in(said, spans=wanted.to is not None):
        same = compare_dates(each, wanted)
        start, end, told = weekday_of(said, start, end)
        if told is not None and each.day and each.month and each.year and each.year > 0:
            is_so = datetime.date(each.year, each.month, each.day).weekday() == told
            same = same if is_so else Same.UNSURE
        before = said[:start].strip().casefold()
        yield before in ("", "the", "between", "le", "el", "am") and said[end:].strip() in ("", "."), same


def _number(wanted: Quantity, retell: Callable[[str], str], question: ParsedQuestion) -> AnswerKind:
    shares = asks_share(question.text)

    def find(said: str) -> Iterator[tuple[int, int, Same]]:
        for start, end, each in quantities_in(said):
            if each.sign_after and not _CHARGE.search(question.text):
                each = dataclasses.replace(each, sign_after=0, is_signed=False)  # 3- is -3 of a charge alone
            if bound := BOUND.search(said[:start]):
                start = bound.start()
            if wanted.is_signed and not each.is_signed and each.high is None:
                start, end, sign = directed(said, start, end)
                each = dataclasses.replace(each, value=(sign or 1) * each.value, is_glued=each.is_glued and not sign)
            same = compare(each, wanted, shares=shares)
            yield start, end, Same.UNSURE if same is Same.OTHER else same

    def read(said: str) -> Same | None:
        told = ABOUT.sub("", _ranged(retell(said).strip()))
        found = list(find(told))
        if len(found) != 1 or found[0][0] != 0:
            return None
        rest = told[found[0][1] :].strip()
        counted = f"{rest}s" if re.match(r"(?:1|one) ", told) else rest
        counts = question.counts(counted) and not is_unit(wanted.unit)
        return found[0][2] if not rest or counts else None

    def agrees(said: str) -> bool:
        bare = ABOUT.sub("", said.strip())
        found = list(quantities_in(bare))
        return len(found) == 1 and found[0][:2] == (0, len(bare)) and is_rounded(found[0][2], wanted)

    return AnswerKind(
        "number", lambda said: _chosen(said, read), lambda said: (each[2] for each in find(retell(said))), agrees
    )


def _compare_versions(said: str, wanted: str) -> Same | None:
    if not re.fullmatch(r"[vV]?\d+(?:\.\d+)+(?:-\w+)?", said):
        return None
    return Same.YES if said.lstrip("vV") == wanted else Same.NO


def _read_change(reference: str, question: ParsedQuestion) -> Quantity | None:
    """Rose by 3%, of a question that does not say itself in which direction."""
    found = list(quantities_in(reference))
    if len(found) != 1 or any(map(has_direction, question.order)):
        return None
    start, end, sign = directed(reference, *found[0][:2])
    wanted = read_quantity(reference[slice(*found[0][:2])], question.text)
    if wanted is None or not sign or (start, end) != (0, len(reference)):
        return None
    return dataclasses.replace(wanted, value=sign * wanted.value, is_signed=True)


def _ranged(text: str) -> str:
    text = re.sub(r"\b(\d+) (dollars?|euros?|pounds?) and (\d\d) (?:cents?|pence|pennies)\b", r"\1.\3 \2", text)
    text = re.sub(r"\b(\d+):([0-5]\d) (?:hours|h)\b", r"\1 h \2 min", text)
    text = re.sub(r"^between (.*\d.*) and (?=.*\d)", r"\1 to ", text, flags=re.IGNORECASE)
    return re.sub(r"^from (?=.*\d.* (?:to|until) )", "", text, flags=re.IGNORECASE)


def parts_of(reference: str, question: str) -> tuple[str, ...]:
    """Parts of a list; a reference of two that a comma parts is one place, or a list where the question asks for
    several."""
    many = re.search(r"\b(?:which|what|list|name|who)\b.*\b(?:\w+s|two|both|all|people)\b", question, re.IGNORECASE)
    if ";" in reference:
        found = reference.split(";")
    else:
        found = re.split(r"\s*,\s+and\s+|\s*,\s+|\s+and\s+", reference)
        is_moment = any(read_time(each) for each in found)  # 15 March, 18:00
        is_pair = asks_pair(question) or all(each.isdigit() for each in found)
        if len(found) == 2 and "," in reference and not (many or is_moment or is_pair):
            return ()
        if len(found) == 2 and kinds_of(reference):
            return ()
    return tuple(each.strip() for each in found if each.strip())


def _compare_lists(said: str, kinds: list[AnswerKind], question: ParsedQuestion) -> Same | None:
    is_ordered, is_in_turn = asks_order(question.text), asks_in_turn(question.text)
    items = [_bare(each, question) for each in _ITEMS.split(_BOTH.sub("", said.strip())) if each.strip()]
    read = [[kind.read(item) for kind in kinds] for item in items]
    if len(items) == len(kinds) and (is_ordered or is_in_turn):
        found = [row[place] for place, row in enumerate(read)]
        return Same.YES if set(found) == {Same.YES} else Same.NO if is_ordered and Same.NO in found else None
    taken = [next((place for place, same in enumerate(row) if same is Same.YES), None) for row in read]
    if len(items) == len(kinds) and None not in taken:
        return Same.YES if len(set(taken)) == len(kinds) else Same.NO
    are_items = len(items) > 0 and all(len(item.split()) < 4 and not _OTHER_WORDS & {*item.split()} for item in items)
    if are_items and (len(items) < len(kinds) or all(place is not None for place in taken)):
        return Same.NO if any(place is not None for place in taken) or len(items) == 1 else None
    if are_items and len(items) > len(kinds) and len({*taken} - {None}) == len(kinds):
        return Same.NO
    strays = [row for row, place in zip(read, taken, strict=True) if place is None]
    return Same.NO if are_items and any(set(row) == {Same.NO} for row in strays) else None


def _bare(item: str, question: ParsedQuestion) -> str:
    """Without an article, or a word of the question for what it is: "room 204"."""
    first, _, rest = item.strip().partition(" ")
    is_own = (first.casefold() in ARTICLES and first != "A") or question.is_title([first.casefold()])
    return rest if is_own and rest else item.strip()
