"""Whether an answer says what the reference says, and nothing against it.

The reference's words, or its number (`quantities.py`), day (`dates.py`) or list, are looked for in the answer. What
else the answer says must be words of the question, or such as answers are put in ("I think it is ..."): another name, a
"not", an "or", a word to the judge are in neither, so that the answer is wrong. Alternatives stand between ` || `.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tars_jax.judges.dates import dates_in, read_date, without_accents
from tars_jax.judges.quantities import Quantity, folded, quantities_in, read_quantity

ALTERNATIVES = " || "
LONGEST = 2000  # characters of an answer; more is none
_RIGHT, _WRONG = "\ue000", "\ue001"  # stand for numbers and days that are, or are not, the reference's
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ß": "ss"})
_WIDE = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})  # as typed without such keys
_SHORT = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "dr": "doctor"}
_SMALL = frozenset(("of", "the", "and", "for", "in", "on", "de", "la", "du", "des", "a", "an"))
_FRAMES = """a an the it its is was are were am be been being become became this that there these they them he she his
her their in on at of by to as for from with answer answers final called named name known i we my think believe guess
suppose say would so probably likely most perhaps maybe possibly presumably apparently seems seem appears appear looks
like must according page article entry encyclopedia source table infobox text says said states stated shows gives
found reads read looked formerly also full exactly precisely about approximately approx around roughly circa ca c some
total which who whose has have had us me yes well ok okay sure certain confident here since year people inhabitants ad
ce city town country both long high tall wide deep old le la les el los il lo der die das den"""
_OPPOSED = """not no never none nor neither or either except without unlike wrong false incorrect cannot could unknown
unclear if unless least over under below above fewer less more before after until between than other others another any
anything anyone whatever nearly almost"""
_FRAME, _AGAINST = frozenset(_FRAMES.split()), frozenset(_OPPOSED.split())
_PARTS = re.compile(r"\s*(?:[,;]\s*and\s+|;|,(?!\d{3}\b)|\s+and\s+|\s+&\s+)\s*")
_TOKEN = re.compile(rf"[{_RIGHT}{_WRONG}]|[^\W_]+[+#]*|[,;:.!?()/\n]")
_MARKS = frozenset(",;:.!?()/\n")


class _Word(NamedTuple):
    text: str
    segment: int
    capital: bool


def says_the_same(
    answer: str, reference: str, words: Callable[[str], tuple[str, ...]], question: str = ""
) -> bool:  # fmt: skip
    """`words` tells what makes a difference in a text without a type; those of the question may stand in an answer."""
    references = [each.strip() for each in reference.split(ALTERNATIVES)]
    if any(words(answer) == words(each) for each in references):
        return True
    if len(answer) > LONGEST or not answer.strip():
        return False
    answer = re.sub(rf"[{_RIGHT}{_WRONG}*`_]", " ", answer)
    asked = frozenset(word.text for word in _words(question))
    if " or " in question:  # whose names are what there is to choose from
        asked = frozenset(word.text for word in _words(question) if not word.capital)
    if wanted := {_yes_or_no(each) for each in references} - {""}:
        return _yes_or_no(answer) in wanted
    names = [each for each in references if read_date(each) is None and read_quantity(each) is None]
    return any(_typed(answer, each, asked) for each in references) or _named(answer, names, asked)


def _yes_or_no(text: str) -> str:
    first = re.match(r"\s*(yes|no)\b(?!\s+\w)", text.casefold())
    return first[1] if first else ""


def _typed(answer: str, reference: str, asked: frozenset[str]) -> bool:
    if day := read_date(reference):
        plain = without_accents(answer)
        return _carries(_marked(plain, ((a, b, found == day) for a, b, found in dates_in(plain))), [(_RIGHT,)], asked)
    if (wanted := read_quantity(reference)) is not None:
        if wanted.is_year:
            plain = without_accents(answer)
            marked = _marked(plain, ((a, b, found.year == wanted.value) for a, b, found in dates_in(plain)))
        else:
            marked = folded(answer)
        if wanted.value == 0:
            marked = re.sub(r"\b(?:none|no)\b", "0", marked)
        marked = re.sub(r"\ba dozen\b", "12", marked)
        return _carries(_marked(marked, _compared(quantities_in(marked, wanted.unit), wanted)), [(_RIGHT,)], asked)
    parts = [each for each in _PARTS.split(reference) if each]
    if len(parts) < 2:
        return False
    plain = re.sub(r"(?m)(?:^|(?<=\s))(?:[-•]|\d{1,2}[.)])\s+", ", ", answer)  # bullets and numbers of a list
    wanted_parts = [_plain(part) for part in parts]
    return _carries(_words(plain), wanted_parts, asked | {"and"}, every=True)


def _compared(found: Iterator[tuple[int, int, Quantity]], wanted: Quantity) -> Iterator[tuple[int, int, bool]]:
    return ((start, end, each.says(wanted)) for start, end, each in found)


def _marked(text: str, found: Iterator[tuple[int, int, bool]]) -> str:
    """With a sign in the place of each thing found."""
    pieces, done = [], 0
    for start, end, right in found:
        pieces += [text[done:start], f" {_RIGHT if right else _WRONG} "]
        done = end
    return "".join((*pieces, text[done:]))


def _named(answer: str, references: Sequence[str], asked: frozenset[str]) -> bool:
    for wide in (False, True):
        said = _words(answer, wide)
        for other in (False, True):
            wanted = [target for each in references if (target := _plain(each, other))]
            if wanted and _carries(said, wanted, asked):
                return True
    return False


def _carries(
    answer: str | list[_Word], targets: Sequence[tuple[str, ...]], asked: frozenset[str], *, every: bool = False
) -> bool:
    """Whether the answer has one of the targets (`every`: all), and beside them nothing that stands against it."""
    said = _words(answer) if isinstance(answer, str) else answer
    covered = [False] * len(said)
    held: set[tuple[str, ...]] = set()
    for target in sorted(targets, key=len, reverse=True):
        place = 0
        while place < len(said):
            length = _match(said, place, target)
            if length and not any(covered[place : place + length]):
                covered[place : place + length] = [True] * length
                held.add(target)
                place += length
            else:
                place += 1
    if not held or (every and len(held) < len(set(targets))):
        return False
    holding = {word.segment for word, is_target in zip(said, covered, strict=True) if is_target}
    refused = _refused(said, holding)
    rest = [
        word.text
        for word, is_target in zip(said, covered, strict=True)
        if not is_target and word.segment not in refused and word.text != "but"
    ]
    and_is_bound = "and" in rest and not every
    # A letter after a name is a part of it: vitamin A is not vitamin.
    longer = any(
        len(word.text) == 1 and word.segment == before.segment and is_target and not own
        for before, is_target, word, own in zip(said, covered, said[1:], covered[1:], strict=False)
    )
    if longer or and_is_bound or any(word in _AGAINST or word not in _FRAME | asked for word in rest):
        return False
    return not _is_turned_round(said, covered, asked)


def _refused(said: Sequence[_Word], holding: set[int]) -> set[int]:
    """Segments that only say what the answer is not: "Lima, not Quito"; "not Quito but Lima"."""
    segments: dict[int, list[str]] = {}
    for word in said:
        segments.setdefault(word.segment, []).append(word.text)
    found = set()
    for number, words in segments.items():
        if number in holding:
            continue
        starts_so = words[0] in ("not", "nor") or words[:2] in (["rather", "than"], ["instead", "of"])
        before = any(segments[each][0] == "but" for each in holding if each > number) and min(holding) > number
        if starts_so or (before and {"not", "first", "thought"} & set(words)):
            found.add(number)
    return found


def _is_turned_round(said: Sequence[_Word], covered: Sequence[bool], asked: frozenset[str]) -> bool:
    """As "the capital of Paris is France", where the capital of France was asked for."""
    for place in range(1, len(said) - 1):
        if covered[place - 1] or not covered[place]:
            continue
        end = place
        while end < len(said) and covered[end]:
            end += 1
        after = [word.text for word in said[end:]]
        if said[place - 1].text in ("of", "in") and after and after[0] in ("is", "was", "are") and len(after) > 1:
            before = {word.text for word in said[: place - 1]} - _SMALL
            if before & asked and any(word in asked - _FRAME for word in after[1:]):
                return True
    return False


def _match(said: Sequence[_Word], place: int, target: Sequence[str]) -> int:
    """How many words of the answer, from a place on, are the target; 0: none. An abbreviation stands for its words."""
    taken, wanted = place, 0
    while wanted < len(target):
        if taken >= len(said):
            return 0
        word = said[taken]
        if _is_word(word.text, target[wanted]):
            taken, wanted = taken + 1, wanted + 1
        elif target[wanted] == "the":
            wanted += 1
        elif word.capital and (length := _abbreviated(word.text, target[wanted:])):
            taken, wanted = taken + 1, wanted + length
            while wanted < len(target) and target[wanted] in _SMALL:
                wanted += 1
        elif len(target) == 1 and (length := _spelled_out(said[taken:], target[0])):
            return length
        else:
            return 0
    return taken - place


def _is_word(said: str, wanted: str) -> bool:
    return said == wanted or (len(wanted) > 4 and said == f"{wanted}s") or _SHORT.get(said) == wanted


def _abbreviated(word: str, target: Sequence[str]) -> int:
    """How many words of the target "UAE" or "DR" are the first letters of; small words may be left out."""
    if not 2 <= len(word) <= 6:
        return 0
    taken = 0
    for place, each in enumerate(target):
        if taken < len(word) and each.startswith(word[taken]):
            taken += 1
        elif each not in _SMALL:
            return place if taken == len(word) else 0
        if taken == len(word) and (place + 1 == len(target) or target[place + 1] not in _SMALL):
            return place + 1
    return len(target) if taken == len(word) else 0


def _spelled_out(said: Sequence[_Word], target: str) -> int:
    """The other way round: the reference is the abbreviation."""
    if not 3 <= len(target) <= 6:
        return 0
    words = [word.text for word in said[: 2 * len(target)]]
    for length in range(len(target) - 1, len(words) + 1):
        if _abbreviated(target, words[:length]) == length and words[length - 1] not in _SMALL:
            return length
    return 0


def _plain(text: str, wide: bool = False) -> tuple[str, ...]:
    """The words of a reference, without a leading article."""
    words = [word.text for word in _words(text, wide)]
    return tuple(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def _words(text: str, wide: bool = False) -> list[_Word]:
    """Without accents, apostrophes and marks, each with the number of its segment between marks or before "but"."""
    text = re.sub(r"n['’]t\b", " not", text)
    text = re.sub(r"\bnot (?:\w+ly |quite )?(?:sure|certain)\b", " ", text)
    text = re.sub(r"\b(?:[^\W\d_]\.){2,}", lambda match: match[0].replace(".", "") + " ", text)
    text = re.sub(r"['’‘ʻ`´]", "", text.replace("&", " and ")).replace("none other than", "")
    found: list[_Word] = []
    segment = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        plain = token.casefold()
        if token in _MARKS or plain in ("but", "rather", "instead"):
            segment += 1
        if token not in _MARKS:
            spelled = without_accents((plain.translate(_WIDE) if wide else plain).translate(_LETTERS))
            found.append(_Word(spelled.translate(_LETTERS), segment, token[:1].isupper()))
    return found
