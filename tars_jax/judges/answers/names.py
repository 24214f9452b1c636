"""Whether a text is a name: its words in other spellings, its initials, and what CLDR knows of names.

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

from tars_jax.judges.answers.numbers import with_figures
from tars_jax.judges.answers.quantity import Same
from tars_jax.judges.answers.words import LANGUAGES, canonical, folded, forms_of

ARTICLES = frozenset(("the", "a", "an"))
SMALL = frozenset(("of", "the", "and", "for", "in", "on", "de", "la", "du", "des", "a", "an"))
_ALIKE = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "&": "and", "und": "and", "et": "and"}
_TITLES = re.compile(r"(?:(?:dr|prof|sir|dame)\.? )+", re.IGNORECASE)  # before the whole name of a person
_DESIGNATORS = re.compile(r",? (?:inc|ltd|llc|plc|corp|gmbh|ag|f\.?c|a\.?f\.?c)\.?$", re.IGNORECASE)
_OF_DAYS = ("month", "weekday")
_CODE = re.compile(r"[_/\\@#+=^<>%()\[\]{}*]|\w\.\w|(?:^|\s)-")


def is_code(text: str) -> bool:
    """Whether a reference has no other names: it has figures or signs, or is a short word of capitals."""
    return bool(re.search(r"\d", text) or _CODE.search(text) or re.fullmatch(r"[A-Z]{1,5}|\w|[^\W\d_]{1,2}[-+]+", text))


def compare_names(said: str, wanted: str, *, is_person: bool, is_closed: bool, is_day: bool) -> Same:
    """Two names as they stand, each the whole of its text: another spelling is the same, another name may be an alias
    of one that is not closed. `is_day`: months and days of the week have names in other languages."""
    said, wanted = canonical(said), canonical(wanted)
    if said.casefold() == wanted.casefold():
        return Same.YES
    if is_code(wanted):
        if _are_alike(said, wanted, by_hyphens=False) or _signs_of(said) == _signs_of(wanted):
            return Same.YES
        is_part = any(
            re.search(rf"(?<!\w){re.escape(one.casefold())}(?!\w)", other.casefold())
            for one, other in ((said, wanted), (wanted, said))
        )
        return Same.UNSURE if is_part or not is_code(said) or _has_figures_of(said, wanted) else Same.NO
    is_company = not is_person and not _DESIGNATORS.search(wanted)
    if (
        _are_alike(_DESIGNATORS.sub("", said) if is_company else said, wanted)
        or (is_person and _is_same_person(said, wanted))
        or _is_short(said, wanted)
    ):
        return Same.YES
    if (known := knows_better(said, wanted, is_day=is_day)) is not None:
        return Same.YES if known else Same.NO
    if is_of_other_script(said, wanted):
        return Same.UNSURE
    is_in_it = re.search(rf"(?<!\w){re.escape(folded(wanted))}(?!\w)", folded(said))
    return Same.NO if is_closed and not is_in_it else Same.UNSURE


def _has_figures_of(said: str, wanted: str) -> bool:
    """4 by 5 metres, of 4 m × 5 m; 150 metres, of 150 m (490 ft): what is left out is not understood, yet no other."""
    if not re.search(r"\d\s?[^\W\d]*\s*[x×]\s*\d|\d.*\(", wanted):
        return False
    own, target = (re.findall(r"\d+(?:[.,]\d+)*", each) for each in (said, wanted))
    return bool(own) and own in (target, target[: len(own)], target[-len(own) :])


def _signs_of(code: str) -> str:
    """A code without its spaces and such signs as may be left out: BA 2490, 3:1, 1920 by 1080, E=mc^2."""
    text = re.sub(r"^(?:https?://)?(?:www\.)?(?=\S+\.\S+$)|(?<=\w)/$", "", with_figures(code).text)
    text = re.sub(r"(?<=\d)\s*(?:-|:|\bto\b)\s*(?=\d)", "-", text)
    text = re.sub(r"(?<=\d)\s*(?:[x×*]|\bby\b)\s*(?=\d)", "x", text.casefold())
    is_long = sum(map(str.isdigit, text)) > 5  # a number of a book, an account, a telephone
    text = re.sub(
        r"(?<=[^\W\d_])(?:\s+|-)(?=\d)|(?<=\d)(?:\s+|-)(?=[^\W\d_])|\s+(?=\W)|(?<=\W)\s+|(?<=[^\W\d])\^|_", "", text
    )
    return re.sub(r"(?<=\d)[\s-]+(?=\d)", "", text) if is_long and "." not in text else text


def _are_alike(said: str, wanted: str, *, by_hyphens: bool = True) -> bool:
    placed = re.sub(r"(?: \(| in |/)([A-Z][^()]*?)\)?$", r", \1", said) if ", " in wanted else said  # Brill (Torland)
    one, other = (_parts(each, by_hyphens) for each in (placed, wanted))
    if len(one) == len(other) and all(map(_is_alike, one, other)):
        return True
    own, target = ("".join(map(folded, each)) for each in (one, other))
    is_counted = any(re.fullmatch(r"[IVXLCDM]+", each) for each in (*one, *other))  # Louis XI V
    return own == target and len(own) > 4 and by_hyphens and own.isalpha() and not is_counted


def _parts(text: str, by_hyphens: bool) -> list[str]:
    text = re.sub(r"(?<=[^\W\d_])'(?=[^\W\d_])", "", text)  # d'Or, Xi'an
    found = re.findall(r"[^\s-]+" if by_hyphens else r"\S+", text)
    found = [each.rstrip(".") or each for each in found]
    return found[1:] if len(found) > 1 and found[0] != "A" and found[0].casefold() in ARTICLES else found


def _is_alike(one: str, other: str) -> bool:
    short = _ALIKE.get(one.casefold(), one.casefold()), _ALIKE.get(other.casefold(), other.casefold())
    return bool(forms_of(one) & forms_of(other)) or short[0] == short[1]


def _is_same_person(said: str, wanted: str) -> bool:
    """With a title, the family name first, given names by initials or middle ones left out."""
    if (title := _TITLES.match(said)) and not _TITLES.match(wanted):
        said = said[title.end() :]
    family, comma, given = said.partition(", ")
    one, other = _parts(f"{given} {family}" if comma else said, False), _parts(wanted, False)
    if len(one) < 2 or len(other) < 2 or not _is_alike(one[-1], other[-1]):
        return False
    if len(one) == len(other):
        return all(_is_alike(a, b) or _is_initial(a, b) for a, b in zip(one, other, strict=True))
    is_middle_left_out = len(one) == 2 and len(other) == 3 and not re.fullmatch(r"[IVX]+|[JS]r", other[-1])
    return is_middle_left_out and _is_alike(one[0], other[0])


def _is_initial(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) == 1 < len(long) and short.isupper() and long[0] == short and long.isalpha()


def _is_short(said: str, wanted: str) -> bool:
    """SMTP for Simple Mail Transfer Protocol, and the other way round."""
    return _is_short_for(said, wanted.split()) or _is_short_for(wanted, said.split())


def _is_short_for(short: str, parts: Sequence[str]) -> bool:
    if not re.fullmatch(r"[A-Z]{3,6}", short) or short in get_global("territory_aliases"):
        return False
    all_initials = "".join(each[:1] for each in parts)
    initials = "".join(each[:1] for each in parts if each not in SMALL)
    return short in (initials.upper(), all_initials.upper())


def kinds_of(text: str) -> frozenset[str]:
    """Entries that CLDR has for this name, such as "territory DE"; empty where it has none."""
    bare = text.strip().strip("\"'.")
    words = " ".join(re.findall(r"\w+", folded(re.sub(r"^(?:the|a|an)\s+", "", bare, flags=re.IGNORECASE))))
    if not words or re.search(r"[,;]\s*$|[^\w\s'.,&()-]", bare):
        return frozenset()
    if folded(bare) != bare.casefold():
        words = f"={' '.join(bare.casefold().split())}"  # Brasília is no Finnish Brazil
    found = _named(LANGUAGES[:1]).get(words) or _named(LANGUAGES).get(words, frozenset())
    if re.fullmatch(r"[A-Z]{2,3}", bare.replace(".", "")):
        codes = get_global("territory_aliases").get(bare.replace(".", ""), [])
        if len(codes) == 1:
            found = found | {f"territory {codes[0]}"}
        if bare.replace(".", "") in ("US", "EU", "UN"):
            found = found | {f"territory {bare.replace('.', '')}"}
    return found


@functools.cache
def _named(languages: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """By the words of a name without accents; with accents behind "="."""
    found: dict[str, set[str]] = {}
    for locale in map(Locale.parse, languages):
        tables = {
            "territory": locale.territories, "language": locale.languages, "currency": locale.currencies,
            "month": locale.months["stand-alone"]["wide"], "weekday": locale.days["stand-alone"]["wide"],
        }  # fmt: skip
        for number, name in locale.months["format"]["abbreviated"].items():
            found.setdefault(" ".join(re.findall(r"\w+", folded(name))), set()).add(f"month {number}")
        for zone, shown in locale.time_zones.items():
            for name in (shown.get("city", ""), zone.rpartition("/")[2].replace("_", " ")):
                for key in _keys(name):
                    found.setdefault(key, set()).add(f"city {zone}")
        for kind, names in tables.items():
            for code, name in names.items():
                if kind == "territory" and str(code).isdigit() and code not in ("001", "150"):
                    continue
                if not isinstance(name, str):
                    continue
                for each in {name, *re.split(r"\s*[()]\s*", name)} - {""}:
                    for key in _keys(each):
                        found.setdefault(key, set()).add(f"{kind} {code}")
    return {name: frozenset(codes) for name, codes in found.items()}


def _keys(name: str) -> tuple[str, str]:
    return " ".join(re.findall(r"\w+", folded(name))), f"={name.casefold()}"


def is_in_territory(place: str, territory: str) -> bool:
    """Lima, Peru: whether CLDR has a city of that name there."""
    zones = get_global("zone_territories")
    inside = {zones.get(each.split()[1], "") for each in kinds_of(place) if each.startswith("city")}
    return bool({f"territory {each}" for each in inside} & kinds_of(territory))


def knows_better(said: str, wanted: str, *, is_day: bool = True) -> bool | None:
    """Whether two names are one, where CLDR knows both; None where it does not."""
    own, target = kinds_of(said), kinds_of(wanted)
    if not is_day:
        own, target = (frozenset(each for each in found if each.split()[0] not in _OF_DAYS) for found in (own, target))
    kinds, wanted_kinds = ({each.split()[0] for each in found} for found in (own, target))
    if own & target:
        return True if "territory" in kinds or "territory" not in wanted_kinds else None  # Mexico City is no country
    return False if kinds & wanted_kinds else None


def is_of_other_script(said: str, wanted: str) -> bool:
    return bool(_scripts(said) - (_scripts(wanted) or {"LATIN"}))


@functools.lru_cache(maxsize=1024)
def _scripts(text: str) -> frozenset[str]:
    return frozenset(unicodedata.name(each, " ").split()[0] for each in text if each.isalpha())
