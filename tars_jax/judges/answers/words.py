"""A text as a judge of answers reads it: signs folded, speech and markup taken off, cut into clauses of words.

What looks different and is the same is made the same: digits of any script, dashes, quotation marks, widths, accents.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import unicodedata
from collections.abc import Iterator

import number_parser

# Whose names of months, countries, languages and currencies are known (CLDR, by Babel).
_SPOKEN_IN = "en de fr es it pt nl sv da nb fi pl cs hu ro tr el ru uk ar he fa hi bn th vi id zh ja ko"
LANGUAGES = tuple(_SPOKEN_IN.split())
_WIDE = {"̈": "e", "̊": "a"}  # what is written for ä and å without such keys: ae, aa
_KEPT = frozenset("°№")  # symbols that say something
_ANSWER_KEYS = ("final_answer", "answer", "final", "result", "output", "response", "value")
_MARKUP = (
    (re.compile(r"```\w*\n?|`"), ""),
    (re.compile(r"~~.*?~~|<(del|s|strike)>.*?</\1>", re.DOTALL | re.IGNORECASE), " "),
    (re.compile(r"\[([^\[\]\n]*)\]\(\S*?\)"), r"\1"),
    (re.compile(r"https?://\S+"), " "),
    (
        re.compile(r"\$([^$\n]*[\\={^_][^$\n]*|[^$\s\d][^$\n]{0,40}[^$\s]|\d[\d.,]*)\$(?!\d)"),
        r"\1",
    ),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|mathit|operatorname)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\}"), r" \1/\2"),
    (re.compile(r"\\boxed\s*\{([^{}]*)\}"), "\nFinal answer: \\1\n"),
    (re.compile(r"\\[,;: !]|\\quad|~"), " "),
    (re.compile(r"\\times|\\cdot"), "×"),
    (re.compile(r"\\[()\[\]]"), " "),
    (re.compile(r"(?<!\d)(?<!\d )\$(?=\s*\n|\s*$)|(?:(?<=\n)|^)\s*\$(?=\s*\n)"), " "),
    (re.compile(r"(?<=\w)_\{?(\d)\}?|(?<=\})_(\d)"), r"\1\2"),
    (re.compile(r"<(?:/?[A-Za-z!][^<>]*|\|[^<>]*\|)>"), "\n"),
    (re.compile(r"(?m)^[ \t]*(?:>+|[-*•+])[ \t]+"), "\n"),
    (re.compile(r"(?m)^[ \t]*\|?[ \t:|-]+\|[ \t:|-]*$"), ""),
    (re.compile(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)"), ""),
    (re.compile(r"[{}]"), " "),
)
_BOLD = re.compile(r"(?m)^[ \t]*\*\*[^*\n]+\*\*[ \t.]*$")  # a line of its own
_LAST_BOLD = re.compile(r"(?<=[.:\w])[ \t]*\n\s*\n[ \t]*\*\*([^*\n]+)\*\*[ \t.]*\Z")
_LETTERED = re.compile(r"(?:^|\s)\(?[a-h1-9]\)\s")
_HEADING = re.compile(r"(?m)^[ \t]*#{1,6}[ \t]+(.*)$")


@dataclasses.dataclass(frozen=True)
class Word:
    raw: str
    forms: frozenset[str]  # that it may have: without accents, with ae for ä, as a number
    is_possessive: bool = False
    is_joined: bool = False  # by a hyphen, with the word before

    @property
    def text(self) -> str:
        return folded(self.raw)

    @property
    def capital(self) -> bool:
        return self.raw[:1].isupper()


def plain(text: str) -> str:
    """Of one width and one kind of each sign; superscripts after ^."""
    text = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", text)  # 4½
    text = re.sub(r"[⁰¹²³⁴-⁹⁻⁺]+", lambda match: "^" + unicodedata.normalize("NFKC", match[0]), text)
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text))
    return "".join(map(_sign, text))


@functools.lru_cache(maxsize=4096)
def _sign(character: str) -> str:
    if character.isascii():
        return character if character >= " " or character in "\n\t" else ""
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
    if kind in ("Cf", "Co", "Cs", "Cn", "Cc"):
        return ""
    if "ARROW" in name:
        return " : "
    if kind in ("So", "Sk") and character not in _KEPT:
        return " "
    return {"。": ". ", "、": ", ", "，": ", ", "・": " ", "…": "..."}.get(character, character)


def spoken(text: str) -> str:
    """Without markup: code, Markdown, LaTeX, tags; of a JSON object, its answer."""
    text = re.sub(r"\A([-+\u2212\u2013]) (?=\d[^\n]*\Z)", r"\1", _of_json(text.strip()))  # a sign, no list of one
    if len(_BOLD.findall(text)) == 1:
        text = _LAST_BOLD.sub("\nFinal answer: \\1", text)
    for form, instead in _MARKUP[:8]:
        text = form.sub(instead, text)
    headings = _HEADING.sub("", text)
    text = headings if headings.strip(" \n#-=") else _HEADING.sub(r"\1", text)
    for form, instead in _MARKUP[8:]:
        text = form.sub(instead, text)
    text = _unnumbered(plain(text))
    return re.sub(r"[ \t]+", " ", text).strip()


def _unnumbered(text: str) -> str:
    """The items of a numbered list, each in a line."""
    text = re.sub(r"(?:^|\s)\(?[a-h1-9]\)\s+(?=\S)", "\n", text) if len(_LETTERED.findall(text)) > 1 else text
    found = [int(number) for number in re.findall(r"(?:^|\s)(\d{1,2})[.)]\s", text)]
    return (
        re.sub(r"(?:^|\s)\d{1,2}[.)]\s+", "\n", text)
        if len(found) > 1 and found == [*range(1, len(found) + 1)]
        else text
    )


def _of_json(text: str) -> str:
    if not text.startswith("{"):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for key in _ANSWER_KEYS:
        value = found.get(key) if isinstance(found, dict) else None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
    return text


def folded(text: str) -> str:
    """In small letters, without accents, strokes and ligatures."""
    return "".join(map(_letter, unicodedata.normalize("NFKD", text.casefold())))


@functools.lru_cache(maxsize=4096)
def _letter(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    name = unicodedata.name(character, "")
    if match := re.fullmatch(r"LATIN SMALL (?:LETTER|LIGATURE) (?:DOTLESS )?([A-Z]{1,2})(?: WITH .*)?", name):
        return match[1].casefold()
    return {"ð": "d", "þ": "th", "ʻ": ""}.get(character, character)


def _wide(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text.casefold()).replace("ø", "oe")
    return folded("".join(_WIDE.get(each, each) for each in decomposed))


@functools.lru_cache(maxsize=8192)
def forms_of(raw: str) -> frozenset[str]:
    """As it may be written: with ae for ä, and as a number, of XII, twelve, twelfth or 12th."""
    found = {folded(raw), _wide(raw)}
    found |= {re.sub("isation", "ization", each) for each in found}
    plain_word = folded(raw)
    if re.fullmatch(r"[IVXLCDM]{2,}|[VX]", raw) and (value := _roman(raw)):
        found.add(str(value))
    elif match := re.fullmatch(r"(\d+)(?:st|nd|rd|th)", plain_word):
        found.add(match[1])
    elif re.fullmatch(r"\d[\d.,]*", raw):
        found.add(re.sub(r",(?=\d{3}\b)", "", raw))
        found.add(re.sub(r"\.0+$", "", raw))
    elif plain_word.isascii() and plain_word.isalpha() and len(plain_word) > 2:
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


_TOKEN = re.compile(
    r"[\ue000-\uf8ff]|[^\W\d_]{1,2}[-+]+(?![\w+-])|\d+(?:[.,]\d+)*(?:st|nd|rd|th)?(?![^\W\d_])|[^\W_]+[+#]*(?![^\W_])|[^\W_]+|\.{2,}|[^\w\s]|\n"
)
_ABBREVIATED = re.compile(
    r"\b((?:[A-Z][b-df-hj-np-tv-z]{1,2}|vs|ca|approx|(?<=[a-z] )[A-Z]|[A-Z](?=\. [A-Z]\.)|(?<=[A-Z]\. )[A-Z]"
    r"|(?:(?<![^\n])|(?<=, ))[A-Z](?=\. [A-Z]\w+(?:,|;| and|$))))\."
    r"(?=\s+(?!(?:I|It|Its|The|This|That|They|He|She|We|In|And|But|So|An?)\b)\w)"
)
_HELD = "\x01"  # stands where a possessive 's was


def tokens(text: str) -> Iterator[Word | str]:
    """Words, and marks as text, of a text that is `plain`. A full stop within or after a shortened word is none."""
    text = re.sub(r"\b(ca|wo|sha)n't\b", r"\1n not", text, flags=re.IGNORECASE)
    text = re.sub(r"n't\b", " not", text)
    text = re.sub(r"\bcannot\b", "can not", text, flags=re.IGNORECASE)
    text = re.sub(
        r"\b(?:[^\W\d_]\.){2,}(?:\s+(?=[a-z(])|)", lambda match: match[0].replace(".", "").strip() + " ", text
    )
    text = _ABBREVIATED.sub(r"\1 ", text)
    text = re.sub(r"(?<=\w)'(?:m|d|ve|re|ll)\b", " ", text).replace("&", " and ")
    text = re.sub(r"(?<=\w)'s\b|(?<=s)'(?=\s)", _HELD, text)
    text = re.sub(r"(?<=[^\W\d_])'(?=[^\W\d_])", "", text)  # d'Or, Xi'an
    text = re.sub(r"(?<=\s)-+(?=\s)|--+", ";", text)
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == _HELD or (token == "." and text[match.end() : match.end() + 1].strip()):
            continue
        if token[0].isalnum() or "\ue000" <= token[0] <= "\uf8ff":
            is_joined = bool(re.search(r"[^\W_]-\Z", text[max(match.start() - 2, 0) : match.start()]))
            yield Word(token, forms_of(token), text[match.end() : match.end() + 1] == _HELD, is_joined)
        else:
            yield token
