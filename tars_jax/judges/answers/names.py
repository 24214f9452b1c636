"""Whether an answer has a name: its words in other spellings, its initials, and what CLDR knows of names.

CLDR (by Babel) has the names of countries, cities, languages, currencies and months in many languages: of two that it
knows the judge can tell whether they are one. Of others it can tell that they are written alike, and nothing more.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence

from babel import Locale
from babel.core import get_global

from tars_jax.judges.answers.words import LANGUAGES, Word, folded, forms_of, tokens

ARTICLES = frozenset(("the", "a", "an"))
SMALL = frozenset(("of", "the", "and", "for", "in", "on", "de", "la", "du", "des", "a", "an"))
_AND = frozenset(("and", "und", "et"))
_SHORT = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort"}


# Of companies and clubs, after their names.
DESIGNATORS = frozenset(["inc", "ltd", "llc", "plc", "corp", "gmbh", "ag", "sa", "nv", "fc", "cf", "sc", "afc"])


class Person(tuple[Word, ...]):
    """A name of a person, who may have more given names than it says, and whose name may be spelled otherwise."""


def words_of(text: str) -> tuple[Word, ...]:
    """Of a name, without a leading article."""
    found = tuple(each for each in tokens(text) if isinstance(each, Word))
    return found[1:] if len(found) > 1 and found[0].text in ARTICLES else found


def is_designator(word: Word) -> bool:
    return word.text in DESIGNATORS and (len(word.raw) > 2 or word.raw.isupper())  # Ag is silver


def is_code(text: str) -> bool:
    """Whether a reference is one that has no other names: it has figures or signs, or is a short word of capitals."""
    return bool(
        re.search(r"\d|[_/\\@#+=]|\w\.\w|(?:^|\s)-", text)
        or re.fullmatch(r"[A-Z]{1,5}|\w|[^\W\d_]{1,2}[-+]+", text)
        or any(form.isdigit() for word in words_of(text) for form in word.forms)
    )


def match(said: Sequence[Word], place: int, wanted: Sequence[Word]) -> int:
    """How many words from `place` on are the name; 0: none are."""
    taken = place
    for number, target in enumerate(wanted):
        while number and taken < len(said) and said[taken].text in ARTICLES and target.text not in ARTICLES:
            taken += 1
        figures = number and target.text.isdigit() and wanted[number - 1].text.isdigit()
        taken += bool(figures and taken < len(said) and said[taken].text == "to")  # 3 to 2 for 3:2
        is_last = number == len(wanted) - 1
        if is_last and number and isinstance(wanted, Person):
            taken = _after_given_names(said, taken, target)
        if taken < len(said) and (
            _is_word(said[taken], target, is_last=is_last)
            or (not is_last and _is_initial(said[taken], target))
            or (number and isinstance(wanted, Person) and _is_spelled_otherwise(said[taken], target))
        ):
            taken += 1
        elif number and target.text in ARTICLES:
            continue
        else:
            return _joined(said, place, wanted) or _initials(said, place, wanted)
    return taken - place


def _is_word(said: Word, wanted: Word, *, is_last: bool) -> bool:
    if is_last and said.is_possessive and not wanted.is_possessive:
        return False
    own, other = said.text, wanted.text
    return (
        bool(said.forms & wanted.forms)
        or (len(other) > 3 and not said.raw.isupper() and own == f"{other}s")
        or (len(own) > 3 and not wanted.raw.isupper() and other == f"{own}s")
        or {own, other} <= _AND
        or _SHORT.get(own) == other
        or _SHORT.get(other) == own
    )


def _after_given_names(said: Sequence[Word], place: int, surname: Word) -> int:
    for more in (1, 2):
        is_name = all(word.capital for word in said[place : place + more])
        if place + more < len(said) and is_name and _is_word(said[place + more], surname, is_last=True):
            return place + more
    return place


def _is_initial(one: Word, other: Word) -> bool:
    short, long = sorted((one.raw, other.raw), key=len)
    return len(short) == 1 < len(long) and short.isupper() and long[0] == short and long.isalpha()


def _is_spelled_otherwise(one: Word, other: Word) -> bool:
    """Dostoevsky, Dostoyevsky: long, and the same but for vowels that are left out and doubled letters."""
    shorter, longer = sorted((one.text, other.text), key=len)
    if len(shorter) < 7 or one.is_possessive or len(longer) - len(shorter) not in (1, 2):
        return False
    bones = {re.sub(r"(.)\1+", r"\1", re.sub(r"(?<=.)[aeiouywh]", "", each)) for each in (shorter, longer)}
    return len(bones) == 1


def _joined(said: Sequence[Word], place: int, wanted: Sequence[Word]) -> int:
    """Written together or apart: data base, database."""
    target = "".join(word.text for word in wanted)
    if len(target) < 5:
        return 0
    own = ""
    for taken, word in enumerate(said[place : place + len(wanted) + 2], 1):
        own += word.text
        if own == target and not word.is_possessive:
            return taken
    return 0


def _initials(said: Sequence[Word], place: int, wanted: Sequence[Word]) -> int:
    """SMTP for Simple Mail Transfer Protocol, and the other way round."""
    if _is_short_for(said[place].raw, wanted) and not said[place].is_possessive:
        return 1
    if len(wanted) == 1 and re.fullmatch(r"[A-Z]{3,6}", wanted[0].raw):
        for end in range(place + len(wanted[0].raw), min(len(said), place + 12) + 1):
            if _is_short_for(wanted[0].raw, said[place:end]) and said[end - 1].text not in SMALL:
                return end - place
    return 0


def _is_short_for(short: str, words: Sequence[Word]) -> bool:
    if not re.fullmatch(r"[A-Z]{2,6}", short) or short in get_global("territory_aliases"):
        return False
    all_initials = "".join(word.text[:1] for word in words)
    initials = "".join(word.text[:1] for word in words if word.text not in SMALL)
    return short.casefold() in (initials, all_initials)


def kinds_of(text: str) -> frozenset[str]:
    """What CLDR knows by this name, such as "territory DE"; none where it knows nothing."""
    bare = text.strip().strip("\"'.,;:!?()")
    words = " ".join(re.findall(r"\w+", folded(re.sub(r"^(?:the|a|an)\s+", "", bare, flags=re.IGNORECASE))))
    found = _named().get(words, frozenset())
    if re.fullmatch(r"[A-Z]{2,3}", bare.replace(".", "")):
        codes = get_global("territory_aliases").get(bare.replace(".", ""), [])
        if len(codes) == 1:
            found = found | {f"territory {codes[0]}"}
        if bare.replace(".", "") in ("US", "EU", "UN"):
            found = found | {f"territory {bare.replace('.', '')}"}
    return found


@functools.cache
def _named() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for locale in map(Locale.parse, LANGUAGES):
        tables = {
            "territory": locale.territories, "language": locale.languages, "currency": locale.currencies,
            "month": locale.months["stand-alone"]["wide"], "weekday": locale.days["stand-alone"]["wide"],
        }  # fmt: skip
        for number, name in locale.months["format"]["abbreviated"].items():
            found.setdefault(" ".join(re.findall(r"\w+", folded(name))), set()).add(f"month {number}")
        for zone, shown in locale.time_zones.items():
            for name in (shown.get("city", ""), zone.rpartition("/")[2].replace("_", " ")):
                found.setdefault(" ".join(re.findall(r"\w+", folded(name))), set()).add(f"city {zone}")
        for kind, names in tables.items():
            for code, name in names.items():
                if kind == "territory" and str(code).isdigit() and code not in ("001", "150"):
                    continue
                if not isinstance(name, str):
                    continue
                for each in {name, *re.split(r"\s*[()]\s*", name)} - {""}:
                    words = " ".join(re.findall(r"\w+", folded(each)))
                    found.setdefault(words, set()).add(f"{kind} {code}")
    return {name: frozenset(codes) for name, codes in found.items()}


def is_territory(text: str) -> bool:
    return any(each.startswith("territory") for each in kinds_of(text))


def knows_better(said: str, wanted: str) -> bool | None:
    """Whether two names are one, where CLDR knows both; None where it does not."""
    own, target = kinds_of(said), kinds_of(wanted)
    if own & target:
        return True
    kinds = {each.split()[0] for each in own} & {each.split()[0] for each in target}
    return False if kinds else None


def is_of_other_script(said: str, wanted: str) -> bool:
    return bool(_scripts(said) - (_scripts(wanted) or {"LATIN"}))


@functools.lru_cache(maxsize=1024)
def _scripts(text: str) -> frozenset[str]:
    return frozenset(unicodedata.name(each, " ").split()[0] for each in text if each.isalpha())


def akin(one: str, other: str) -> bool:
    """Forms of one word: complete and completed, play and player; of strong verbs, which change their vowels, wrote and
    written."""
    if one == other:
        return True
    if not (one.isalpha() and other.isalpha()):
        return False
    bones = [re.sub(r"(?<=.)[aeiouy]+", "", each) for each in (one, other)]
    if (
        bones[0]
        and len(min(bones, key=len)) > 1
        and abs(len(one) - len(other)) < 4
        and bones[0][0] in "bcdfghjklmnpqrstvwxz"
    ):
        short, long = sorted(bones, key=len)
        if long.startswith(short) and re.fullmatch(r"|n|s|d|tn|ng|nng|tng", long[len(short) :]):
            return True
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    longest = max(len(one), len(other)) - shared
    return (shared >= 4 and longest <= 4) or (shared >= 3 and longest <= 1)


__all__ = [
    "akin",
    "forms_of",
    "is_code",
    "is_of_other_script",
    "is_territory",
    "kinds_of",
    "knows_better",
    "match",
    "words_of",
]
