"""Every form in which a model's answer can say a verdict beside its closed form, in whatever letters.

A verdict that a person would see is seen here, too: in letters of another width, case or alphabet, apart ("V E R D I C
T"), amid signs of markup, without a colon, as a field of JSON ("success": false), as a score, by another name at the
beginning of a line ("Result: failed"), as a word or a cross alone on its line, in some other languages, too. A line
that names a verdict, a grade or a requirement with a value that denies ("Completed: no") speaks against success, and so
does a judge who refuses to judge. What else is told in a sentence is no form: "The first try failed."
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_LOW, _HIGH = 0.4, 0.8  # shares of the best score that say failure, and success
_LOOKS, _AS = "аеорсхіѕјԁувнкмтпοεανρτικ", "aeopcxisjdybhkmtnoeavptik"  # Cyrillic and Greek, as a to z
_ALIKE = str.maketrans(_LOOKS + _LOOKS.upper(), _AS + _AS.upper())
_TAG = re.compile(r"</?[a-z][^<>\n]{0,80}>", re.IGNORECASE)
_APART = re.compile(r"(?<![^\W_])[^\W\d_](?:[\s.·_–-]{1,3}[^\W\d_](?![^\W_])){2,}")
_NO = r"(?:un|in|not|non|no|never)"
_SIGNS = r"(?:[^\w\n]|_)*"
_BEGINS = rf"(?:^{_SIGNS}|[\"'{{,](?:[^\w\n]|_){{0,80}})"  # a line, or a field; bounded, as quotes may stand in rows
_IS = r"[\"'`*\\\s]*(?:[:=]|->|=>)[\"'`*\\\s]*"
_TRUTHS = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
    **dict.fromkeys(("null", "none", "unknown", "unclear", "partial", "partly", "maybe"), None),
}
_TRUTH = rf"(?P<truth>{'|'.join(map(re.escape, sorted(_TRUTHS, key=len, reverse=True)))})(?![\w.])"
_NAMES = r"(?:result|outcome|decision|judge?ment|conclusion|assessment|ruling|evaluation|status)"
_SCORE = re.compile(
    rf"(?:^{_SIGNS}|[\"'{{]\s*)score{_IS}(?P<score>\d+(?:\.\d+)?)(?:\s*(?P<percent>%)|\s*/\s*(?P<most>\d+))?(?![\w.])",
    re.MULTILINE,
)
# Lines of a name and a value: what may stand around the name, names of both readers, and values that deny.
_AROUND = r"(?:(?:the|my|final|overall|is|was|task|goal|agent(?:'s)?)\s+){0,3}"
_RULINGS = r"(?:verdict|judge?ment|ruling|assessment|decision|evaluation|rating|grade)"
_KEYS = {
    "verdict": rf"(?:{_RULINGS}|{_NAMES}|reward|fact|success(?:ful)?|complet(?:ed?|ion)|done|finished|solved|achieved|"
    r"accomplished|fulfilled|satisfied|passed|met|correct|overall|goal|task|"
    r"(?:key\s+)?(?:requirement|criterion|point|condition)\s*#?\d*)",
    "answer": rf"(?:{_RULINGS}|reward|correct(?:ness)?|match(?:es)?|[a-d])",
}
_REACHED = (
    r"(?:success|succeed|pass|accept|met\b|done\b|complet|correct|right\b|achiev|fulfil|finish|solv|satisf|shown\b)\w*"
)
_DENIES = (
    r"(?:no|nope|none|false|0(?:\.0+)?(?:\s*%|\s*/\s*\d+)?|negative|f|unsuccess\w*|in(?:correct|complete)(?:ly)?|wrong"
    r"|fail(?:s|ed|ure)?|reject(?:s|ed)?|denied|un(?:met|solved|fulfilled|finished|done|known|clear|decided)"
    rf"|(?:not|never|no)\W+(?:\w+\W+)?{_REACHED}|partial(?:ly)?|partly|mixed|pending|n/a|thumbs down)(?!\w)"
)
_SIGN = r"[\u274c\u2717\u2718\u2612\U0001f44e\U0001f6ab\u26d4]"
_TO_JUDGE = r"(?:judge|decide|determine|assess|evaluate|rule\b|(?:give|say|reach) (?:a|any|the|my) verdict)"
_REFUSAL = re.compile(
    r"^[^\w\n]*no (?:verdict|judge?ment)\b|\bi (?:refuse|decline) to answer"
    rf"|\bi(?:'| a)m (?:unable|not able) to (?:answer|{_TO_JUDGE})"
    r"|\bi (?:cannot|can ?not|can't|could not|couldn't|refuse to|decline to|will not|won't|do not|don't) "
    rf"(?:\w+ )?{_TO_JUDGE}",
    re.MULTILINE,
)
_FOREIGN = (
    "misserfolg fehlschlag fehlgeschlagen gescheitert durchgefallen échec échoué fracaso "
    "fracasado fallo fallido fracasso falha fallimento fallito insuccesso провал провалено "
    "неудача неуспех невдача 失败 失敗 不合格 未通过 不成功 실패 mislukt mislukking onvoldoende porażka "
    "niepowodzenie başarısız selhání neúspěch misslyckande misslyckad misslyckades mislykket "
    "epäonnistui kudarc eșec αποτυχία فشل विफल असफल gagal"
)


class _Words(NamedTuple):
    """Words of one closed form: patterns that say yes and no, and of the fields of JSON that do."""

    yes: str
    no: str
    fields: str
    denied: str  # fields whose truth says no

    def says(self, word: str) -> bool | None:
        return False if re.match(self.no, word) else True if re.match(self.yes, word) else None


_OF: dict[str, _Words] = {
    "verdict": _Words(
        "success|succeed|pass|accept",
        rf"{_NO}[^\w\n]*(?:a[^\w\n]*)?(?:success|succeed|pass|accept)|fail|reject",
        "[a-z_ ]{0,20}(?:success|succeeded|passed|achieved|fulfilled)[a-z_]{0,8}",
        "[a-z_]{0,20}(?:unsuccess|fail)[a-z_]{0,8}",
    ),
    "answer": _Words("correct|right", rf"{_NO}[^\w\n]*(?:correct|right)|wrong|false", "(?:is_?)?(?:correct|right)",
                     "(?:is_?)?(?:incorrect|wrong)"),
    "fact": _Words("yes|true|holds", "no|false", "(?:is_?)?(?:holds|shown|true)", "(?:is_?)?(?:false|missing)"),
}  # fmt: skip


def readings(text: str) -> list[str]:
    """The text in letters of which one stands for all that look or mean the same; with letters that stand apart brought
    together; and without tags."""
    signs = unicodedata.normalize("NFKD", text)
    kept = "".join(sign for sign in signs if unicodedata.category(sign) not in ("Mn", "Me", "Cf")).translate(_ALIKE)
    return [kept, _APART.sub(_together, kept), _TAG.sub("", kept)]


def verdicts_said(answer: str, name: str) -> Iterator[tuple[str, bool | None]]:
    """Verdicts that the answer gives in forms other than the closed one of that name, each with its truth; None: it is
    neither. The answer is without its thoughts."""
    words = _OF.get(name)
    if words is None:
        return
    for text in dict.fromkeys(map(str.casefold, readings(answer))):
        yield from _fields(text, words)
        yield from _denials(text, name)
        if name == "verdict":
            yield from _verdict_alone(text, words)
            yield from _scores(text)


def _together(apart: re.Match[str]) -> str:
    return "".join(filter(str.isalpha, apart[0]))


def _fields(text: str, words: _Words) -> Iterator[tuple[str, bool | None]]:
    for pattern, denies in ((words.fields, False), (words.denied, True)):
        for found in re.finditer(rf"(?<![a-z])(?P<field>{pattern}){_IS}{_TRUTH}", text):
            truth = _TRUTHS[found["truth"]]
            if denies or not re.search(words.denied, found["field"]):
                yield found[0], truth if truth is None else truth != denies


def _denials(text: str, name: str) -> Iterator[tuple[str, bool | None]]:
    """Whole lines that deny it, and refusals. A failure may be told in many words, so that no line affirms one."""
    if name not in _KEYS:
        return
    forms = [
        rf"{_AROUND}{_KEYS[name]}\s*(?:[:=?|]|->|=>|\u2192|\s[-–—]\s)[\W_]*{_DENIES}",
        rf"{_AROUND}{_RULINGS}\s+(?:is|was|(?:would|should|must) be)\s+(?:an?\s+)?{_DENIES}",
        rf"{_AROUND}(?:{_RULINGS}|{_NAMES}|overall)\s*[:=](?:\s*\w+){{0,6}}\s+"
        rf"(?:failed|failure|unsuccessful|not {_REACHED})",
        rf"answer{_IS}(?:incorrect|wrong|not (?:correct|right))",
        rf"(?:[^\n:=]{{1,40}}(?:[:=]|->|=>)\s*)?(?:{_FAILURES})",
    ]
    for line in text.splitlines():
        of_line = rf"(?:{_SIGNS}{_KEYS[name]}\s*[:=?])?{_SIGNS}$"
        if re.search(_SIGN, line) and (name in line or re.match(of_line, line)):
            yield line, False
    for form in forms:
        for found in re.finditer(rf"^{_SIGNS}{form}{_SIGNS}$", text, re.MULTILINE):
            yield found[0].strip(), False
    for found in _REFUSAL.finditer(text):
        yield found[0], False


def _verdict_alone(text: str, words: _Words) -> Iterator[tuple[str, bool | None]]:
    """A verdict with nothing but signs between its name and its word, by another name, or alone on its line."""
    value = rf"(?P<value>{words.no}|{words.yes})"
    bare = "".join(sign for sign in text if sign.isalnum())
    forms = (
        (rf"verdicts?(?:is|was)?(?:an?|of)?{value}", bare),
        (rf"{_BEGINS}(?:final |overall )?{_NAMES}{_IS}{value}[a-z]*[^\w\n]*?(?:$|[.,;}}])", text),
        (rf"^{_SIGNS}{value}[a-z]{{0,4}}{_SIGNS}$", text),
    )
    for form, where in forms:
        for found in re.finditer(form, where, re.MULTILINE):
            yield found[0].strip(), words.says(found["value"])


def _scores(text: str) -> Iterator[tuple[str, bool | None]]:
    """Scores that are far from the middle: of 5, unless said otherwise, or shares of 1 with a point."""
    for found in _SCORE.finditer(text):
        number, most = float(found["score"]), float(found["most"] or 5)
        if found["percent"]:
            most = 100.0
        elif not found["most"] and "." in found["score"] and number <= 1:
            most = 1.0
        share = number / most if most else 0.0
        if share <= _LOW or _HIGH <= share <= 1:
            yield found[0].strip(), share > _LOW


_FAILURES = "|".join(re.escape(readings(word)[0].casefold()) for word in _FOREIGN.split())
