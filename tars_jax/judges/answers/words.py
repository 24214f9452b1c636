"""A text as a judge of answers reads it: digits of any script, dashes, quotation marks and widths are made one.

Nothing that says something is dropped: a sign that no rule knows stays, and is left over.
"""

from __future__ import annotations

import functools
import re
import unicodedata

import number_parser

# Whose names of months, countries, languages and currencies are known (CLDR, by Babel).
_SPOKEN_IN = "en de fr es it pt nl sv da nb fi pl cs hu ro tr el ru uk ar he fa hi bn th vi id zh ja ko"
LANGUAGES = tuple(_SPOKEN_IN.split())
_WIDE = {"̈": "e", "̊": "a"}  # what is written for ä and å without such keys: ae, aa
GOES_ON = re.compile(r"[,;] ?\.+$")  # a list that says that there is more
_SCALE = re.compile(r"(?<=\d) ?: ?(\d{1,3}(?:,\d{3})+)(?![\d,])")  # 1:50,000
_CYRILLIC_VOWELS = frozenset("аеиоуыэюя")
_STRIKES = frozenset("\u0335\u0336\u0337\u0338")  # over a letter that is taken back
_QUOTED = re.compile(r"([\"'`])([^\"'`]+)\1")
_WORD = re.compile(r"\w+(?:['.&]\w+)*|[^\w\s]")


def vocabulary(words: str) -> frozenset[str]:
    """Words that blanks part."""
    return frozenset(words.split())


def plain(text: str) -> str:
    """The text in one width and one kind of each sign; superscripts after ^."""
    text = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", text)  # 4½
    text = re.sub(r"[⁰¹²³⁴-⁹⁻⁺]+", lambda match: "^" + unicodedata.normalize("NFKC", match[0]), text)
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text))
    return "".join(map(_sign, text))


@functools.lru_cache(maxsize=4096)
def _sign(character: str) -> str:
    if character.isascii():
        return character
    kind = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if kind == "Pd" or character == "−":
        return " - " if character in "—―" else "-"
    if "APOSTROPHE" in name or "PRIME" in name or (kind in ("Pi", "Pf") and "SINGLE" in name) or character in "ʻʼ´":
        return '"' if "DOUBLE" in name else "'"
    if kind in ("Pi", "Pf") or "CORNER BRACKET" in name or "DOUBLE LOW" in name:
        return '"'
    if kind in ("Zs", "Zl", "Zp"):
        return " " if kind == "Zs" else "\n"
    if kind == "Cf":
        return ""
    if character in _STRIKES:
        return "~"
    return {"。": ". ", "、": ", ", "，": ", ", "・": " ", "…": "..."}.get(character, character)


def canonical(text: str) -> str:
    """The text with single spaces, without quotation marks around it and a full stop at its end."""
    text, before = _SCALE.sub(lambda match: f":{match[1].replace(',', '')}", " ".join(plain(text).split())), ""
    while text != before:
        before = text
        text = (text if GOES_ON.search(text) else text.removesuffix(".").strip()) or text
        text = match[2].strip() if (match := _QUOTED.fullmatch(text)) else text
    return text


def words(text: str) -> list[tuple[int, int]]:
    """Positions of the words and signs of a text; every sign but spaces is in one of them."""
    return [match.span() for match in _WORD.finditer(text)]


def folded(text: str) -> str:
    """The text in small letters, without accents, strokes and ligatures.

    Accents are those of Latin and Greek letters; of other scripts a mark makes another letter (パ, バ and ハ; Й and И)
    or another sign (≠), but for the points of ё and the stress that dictionaries put on vowels.
    """
    found: list[str] = []
    base = ""
    for each in unicodedata.normalize("NFKD", text.casefold()):
        if not unicodedata.combining(each):
            base = each
            found.append(_letter(each))
        elif not _is_accent(base, each):
            found.append(each)
    return unicodedata.normalize("NFC", "".join(found))


@functools.lru_cache(maxsize=4096)
def _is_accent(base: str, mark: str) -> bool:
    if base in _CYRILLIC_VOWELS:
        return mark == "\u0301" or (base == "е" and mark == "\u0308")
    return unicodedata.name(base, "").startswith(("LATIN ", "GREEK ")) if base else False


@functools.lru_cache(maxsize=4096)
def _letter(character: str) -> str:
    if character.isascii():
        return character
    name = unicodedata.name(character, "")
    if match := re.fullmatch(r"LATIN SMALL (?:LETTER|LIGATURE) (?:DOTLESS )?([A-Z]{1,2})(?: WITH .*)?", name):
        return match[1].casefold()
    return {"ð": "d", "þ": "th", "ʻ": ""}.get(character, character)


def _wide(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text.casefold()).replace("ø", "oe")
    return folded("".join(_WIDE.get(each, each) for each in decomposed))


@functools.lru_cache(maxsize=8192)
def forms_of(raw: str) -> frozenset[str]:
    """Spellings of a word: with ae for ä, and as a number, of XII, twelve, twelfth or 12th."""
    found = {folded(raw), _wide(raw)}
    found |= {re.sub("isation", "ization", each) for each in found}
    plain_word = folded(raw)
    if re.fullmatch(r"[IVXLCDM]{2,}|V", raw) and (value := _roman(raw)):
        found.add(str(value))
    elif match := re.fullmatch(r"(\d+)(?:st|nd|rd|th)", plain_word):
        found.add(match[1])
    elif re.fullmatch(r"\d[\d.,]*", raw):
        figures = re.sub(r",(?=\d{3}\b)", "", raw)
        found |= {figures, re.sub(r"(?:\.0+)?$", ".0", figures, count=1)}  # 3.0 is 3, and not III
    elif plain_word.isascii() and plain_word.replace("-", "").isalpha() and len(plain_word) > 2:
        plain_word = plain_word.replace("-", " ")
        value = number_parser.parse_number(plain_word, language="en") or number_parser.parse_ordinal(plain_word)
        if value is not None:
            found.add(str(value))
    return frozenset(found)


def _roman(text: str) -> int:
    """0 for what is none."""
    worth = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    if not re.fullmatch(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", text):
        return 0
    values = [worth[letter] for letter in text]
    return sum(-one if one < next_one else one for one, next_one in zip(values, [*values[1:], 0], strict=True))


def roman_as_figures(text: str) -> str:
    """A text that is one Roman number, as figures."""
    return str(_roman(text.strip())) if len(text.strip()) > 1 and _roman(text.strip()) else text
