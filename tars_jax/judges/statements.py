"""What a page's text states by itself: each of its sentences, and why some of them are no evidence of anything.

A sentence denies what it names ("could not be saved"); is somebody's words ("Anna wrote: ..."); repeats what was asked
("Results for ...", a title, an address, a box); offers it ("Add to cart", "Do you want to ...?"); or stands aside
("Recommended: ..."). What is left states. These are closed lists of English forms: they take too much rather than too
little, since a success that is missed costs less than a failure that is learned.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import unicodedata
from collections.abc import Iterator, Sequence


class Standing(enum.Enum):
    """What a sentence is."""

    STATES = "states"
    DENIES = "denies"
    QUOTES = "quotes"  # what somebody else said
    ECHOES = "echoes"  # what was searched, typed or is addressed
    OFFERS = "offers"  # what could be done, or will be


@dataclasses.dataclass(frozen=True)
class Statement:
    """One sentence, or one line without an end. `context`: words of the heading that it stands below."""

    words: tuple[str, ...]
    standing: Standing
    fails: bool  # it says that something did not work
    label: tuple[str, ...] = ()  # words before a colon
    context: tuple[str, ...] = ()


HEADING_WORDS = 3  # at most, of a line that names what follows
_WORD = re.compile(r"[^\W_]+(?:['.,][^\W_]+)*")
_NUMBERS = dict(zip(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), "23456789", strict=False))
_NUMBERS["ten"] = "10"


def words_of(text: str) -> tuple[str, ...]:
    """Words and numbers, without case, width, marks around them and commas in numbers."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    found = (word.removesuffix("'s").replace(",", "") for word in _WORD.findall(plain))
    return tuple(_NUMBERS.get(word, word) for word in found if word)


_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s[|·•]\s|\t")
_NO_FAILURE = re.compile(r"\b(?:no|without|0|zero) (?:\w+ )?(?:errors?|problems?|failures?|issues?|warnings?)\b", re.I)
_FAILS = re.compile(
    r"\b(?:errors?|fail(?:s|ed|ure)?|could ?n[o']t|can ?not|can't|was ?n't|were ?n't|is ?n't|has ?n't|have ?n't|"
    r"did ?n't|could not|(?:was|were|is|are|has|have|did|be|been) not|not (?:be|been|found|saved|sent|added|created)|"
    r"no .{1,40} (?:was|were|has|have|could|found)|unable|denied|invalid|rejected|declined|refused|aborted|"
    r"unsuccessful(?:ly)?|incorrect|forbidden|unauthori[sz]ed|timed out|went wrong|try again|conflict)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:no|not|none|never|nothing|nobody|neither|nor|without|cannot|0|zero|empty|missing|unavailable|incomplete|"
    r"expired|impossible|required|unsaved|unsent|unchanged|nicht|kein\w*|pas|aucune?|niet|n[aã]o|нет|не)\b"
    r"|n't\b|\bout of stock\b|\bsold out\b|[✗✘❌☒⛔🚫]",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b(?:wrote|writes|sa(?:ys?|id)|ask(?:s|ed)|commented|replie[sd]|answered|tweeted|told|mention(?:s|ed)|claim(?:s|ed)|"
    r"according to|quot(?:e[sd]?|ing)|reviewed|reported|message from|comment (?:by|from)|review (?:by|from)|"
    r"(?!(?:comment|message|reply|post|update|review)\b)[\w-]+ posted)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\bI(?:'(?:ve|m|ll|d))?\b(?!\.)|★")
_LABELS = (
    "status|state|success|result|message|note|notice|info|alert|cart|order|done|update|system|error|warning|failed"
)
_SPEAKER = re.compile(
    rf"(?!(?i:{_LABELS})\b)\W*[A-Z][\w.'-]+(?: [A-Z][\w.'-]+)?(?: \([^)]*\))?: .*\b(?:is|was|are|were|has|have|did)\b"
    r"|\W*(?!(?:You|We|It|System)\b)[A-Z][\w']+ (?:\w+ed|sent|bought|put|set|made) (?:the|an?|this|his|her|their|its)\b"
    r"|[\"“«„].{20,}[\"”»“]\W*$|.* [—–] ?[A-Z]\w+(?: [A-Z]\w+)?\W*$"
)
_LABEL = re.compile(r"[^:=|]{1,40}(?=:\s)")
_FROM = re.compile(r"\W*from\s*:", re.IGNORECASE)
_ECHOES = re.compile(
    r"\b(?:results? (?:for|of)|search\w*|quer(?:y|ies|ied)|did you mean|match(?:es)? for|showing \d+|"
    r"you (?:typed|entered|asked)|url|https?|www|rootwebarea|text ?(?:box|area|field)|combo ?box|input|placeholder|"
    r"spinbutton)\b|\bvalue\s*=|\b(?:box|field)\s*[:=]|://|[?&]\w+=|"
    r"^\W*(?:(?:page|document|window|browser|tab) )?(?:title|tab|address bar|instruction|task|goal)\s*[:=]",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\b(?:will|would|can|could|should|may|might|must|shall|if|unless|until|please|click|press|tap|pending|ready to|"
    r"about to|trying|attempting|in progress|loading|saving|sending|are you sure|want to|how to|need to|confirm)\b|\?",
    re.IGNORECASE,
)
_HAPPENED = re.compile(r"\b(?:has|have|was|were|been)\b", re.IGNORECASE)
_OFFERED = frozenset(
    words_of(
        "add put create make write set change rename move save enter select choose open go buy order purchase "
        "book reserve send mail email forward reply submit post publish upload download install uninstall close "
        "resolve archive delete remove erase clear discard cancel turn switch enable disable activate deactivate "
        "check uncheck assign mark share edit copy apply update view show start stop sign log subscribe "
        "unsubscribe undo"
    )
)


def statements_of(text: str, names: Sequence[str] = ()) -> list[Statement]:
    """The sentences of a page, in its order. `names` are quoted in the task, and deny nothing."""
    name = re.compile("|".join(map(re.escape, filter(None, names))) or r"(?!)", re.IGNORECASE)
    blocks = re.split(r"\n\s*\n", unicodedata.normalize("NFKC", text).replace("’", "'").replace("\r", "\n"))
    found: list[Statement] = []
    page_heading: tuple[str, ...] = ()
    mail = False
    for block_number, block in enumerate(filter(str.strip, blocks)):
        made: list[Statement] = []
        heading, quoting = page_heading, False
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        for number, line in enumerate(lines):
            mail = mail or bool(_FROM.match(line))
            quoting = quoting or mail
            made += (dataclasses.replace(each, context=heading) for each in _sentences(line, quoting, name))
            quoting = quoting or (bool(_REPORTS.search(line)) and line.endswith(":"))
            if line.endswith(":") or line.startswith("#") or (number == 0 and len(words_of(line)) <= HEADING_WORDS):
                heading = words_of(line)
        if block_number == 0 and len(lines) == 1:
            page_heading = heading
        found += made
    if any(each.standing is Standing.DENIES for each in found):  # a heading says nothing of a list that is empty
        found = [dataclasses.replace(each, context=()) for each in found]
    return [each for each in found if each.words]


def _sentences(line: str, quoting: bool, name: re.Pattern[str]) -> Iterator[Statement]:
    quoted = quoting or line.startswith(">") or bool(_FIRST_PERSON.search(line) or _SPEAKER.match(line))
    quoted = quoted or bool(_REPORTS.search(line))
    for sentence in _SENTENCE.split(line):
        words, label = words_of(sentence), _LABEL.match(sentence)
        fails = bool(_FAILS.search(plain := _NO_FAILURE.sub("", name.sub("", sentence)))) and not quoted
        if quoted:
            standing = Standing.QUOTES
        elif fails or _DENIES.search(plain):
            standing = Standing.DENIES
        elif _ECHOES.search(sentence):
            standing = Standing.ECHOES
        else:
            standing = Standing.OFFERS if _is_offer(sentence, words) else Standing.STATES
        yield Statement(words, standing, fails, words_of(label[0]) if label else ())


def _is_offer(sentence: str, words: tuple[str, ...]) -> bool:
    offer, happened = _OFFERS.search(sentence), _HAPPENED.search(sentence)
    named = [word for word in words if not word.isdecimal()]  # "[12] Add to cart"
    begins = bool(named) and (named[0] in _OFFERED or named[:1] in (["button"], ["link"], ["menuitem"]))
    return begins or (offer is not None and (happened is None or offer.start() < happened.start()))
