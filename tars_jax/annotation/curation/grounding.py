"""Whether a refined thought adds what was not said, typed or seen.

Each content word, number and name of the new text must come from a source; function words, which carry no content, may
come and go. A word comes from a source where it or another form of it (plural, -ed, -ing, -ly) stands there, a number
where the same number does, and what is denied in what was said must not be claimed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

# Without what tells a way, a place or an amount: up, off, before, all.
FUNCTION_WORDS = frozenset(
    " ".join((
        "a an the this that these those there here it its i me my mine myself we us our you your he him his she her",
        "they them their one ones who whom whose which what where when why how am is are was were be been being do",
        "does did doing done have has had having will would shall should can could may might must of to in on at by",
        "for from with into onto about as than because so if then else and or but also too just now next finally",
        "still yet need needs want wants let lets go going get got thus therefore hence already s m re ve ll d",
    )).split()
)  # fmt: skip
NEGATIONS = frozenset({"not", "no", "never", "none", "nothing", "neither", "nor", "cannot", "n't"})
# What turns the sense of its clause as a negation does, and must stay itself.
REVERSING = frozenset(
    " ".join((
        "without hardly barely scarcely rarely seldom fail fails failed stop stops stopped undo refuse avoid skip",
    )).split()
)  # fmt: skip
# Negations of other languages, as far as we know them: they stand before or behind what they deny.
ELSEWHERE = frozenset(
    " ".join((
        "nicht kein keine keinen keiner nie niemals ohne pas jamais aucun aucune sans ningún ninguna nunca sin não",
        "sem non mai senza niet geen nooit zonder не нет ни никогда без 不 没 沒 未 别 別 勿 无 無 非",
    )).split()
)  # fmt: skip
# Scripts without spaces are taken sign by sign; a sign before a number is a part of it.
_TOKEN = re.compile(
    r"(?:(?<![\w)])[-−])?\d+(?:[.,:]\d+)*|[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+|\S"
)
_NOT = re.compile(r"(?i)\b(do|does|did|is|are|was|were|has|have|had|would|should|could|must|need|wo|ca)n['’]?t\b")
_CLAUSE_ENDS = frozenset(".,;:!?。，、；：！？")
_SUFFIXES = ("ically", "ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "ly", "er", "s", "e")
_STEM = 3  # letters of a word that must stay


def ungrounded_words(text: str, sources: Iterable[str]) -> tuple[str, ...]:
    """Content words, numbers and names of `text` that stand in no source, each once, as they are written."""
    known = {form for source in sources for token in tokens(source) for form in _forms(token)}
    return tuple(dict.fromkeys(token for token in content(text) if not _forms(token) & known))


def flipped_negations(text: str, said: str) -> tuple[str, ...]:
    """Content words that `said` denies and `text` claims: they stood behind a negation, and stand without one now."""
    before, after = _denied(said), _denied(text)
    claimed = {stem(word) for word in content(text)} - {stem(word) for word in after}
    elsewhere = {stem(word) for word in _claimed(said)}
    return tuple(word for word in before if stem(word) in claimed and stem(word) not in elsewhere)


def content(text: str) -> Iterator[str]:
    """Words, numbers and symbols such as 👍 that carry content; a negation does."""
    return filter(_carries, tokens(text))


def _carries(token: str) -> bool:
    if token[-1].isalnum():
        return token.casefold() not in FUNCTION_WORDS
    return unicodedata.category(token[0]) == "So"


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(_NOT.sub(r"\1 not ", text))


def stem(word: str) -> str:
    """Equal for the forms of one word, as far as their endings tell. Numbers stay as they are."""
    plain = word.casefold()
    if plain.isascii() and plain.isalpha():
        for suffix in _SUFFIXES:
            if plain.endswith(suffix) and len(plain) - len(suffix) >= _STEM:
                plain = plain.removesuffix(suffix)
                break
        if len(plain) > _STEM and plain[-1] == plain[-2] and plain[-1] not in "aeiouls":
            plain = plain[:-1]  # stopped, running
        plain = re.sub(r"(?<=..)[iy]$", "", plain) or plain
    return plain


def _forms(token: str) -> frozenset[str]:
    return frozenset({"not"}) if token.casefold() in NEGATIONS else frozenset({stem(token)})


def _denied(text: str) -> list[str]:
    """Content words between a negation and the end of its clause; of other languages those before it, too."""
    found: list[str] = []
    clause: list[str] = []  # its content words so far that nothing denies
    denies = False
    for token in tokens(text):
        plain = token.casefold()
        if token in _CLAUSE_ENDS or plain in ("but", "and", "so", "then"):
            denies, clause = False, []
        elif plain in ELSEWHERE:
            found, clause, denies = [*found, *clause], [], True
        elif plain in NEGATIONS or plain in REVERSING:
            denies = True
        elif _carries(token):
            (found if denies else clause).append(token)
    return found


def _claimed(text: str) -> Sequence[str]:
    denied = _denied(text)
    rest = list(content(text))
    for word in denied:
        rest.remove(word)
    return rest
