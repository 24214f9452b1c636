"""Sentences of a page's text, word for word, with every sign that could change what they say.

Nothing is skipped here: what a sentence says is told by the closed forms of `requirements.py`, and a sign that no
form knows (a bracket, a dash, a question mark, quotation marks around more than a name) makes it one that nobody
understands.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Sequence

from tars_jax.judges.answers.words import vocabulary

QUOTES = frozenset("\"'“”„‘«»`")
_TOKEN = re.compile(r"[#$€£@]?\w+(?:[-./_'@&+:,]+\w+)*|\S")
_ENDS = re.compile(r"(?<=[.!])\s+")
_BOX = re.compile(r"(?:search )?(?:box|search|query|filter):\s*", re.IGNORECASE)  # of no comment, and nobody's
_CONTROL = re.compile(r"\[(?:button|link|menuitem)\] .*|\[\d+\] (?:button|link|menuitem) '[^']*'", re.IGNORECASE)
_SPEAKERS = [["wrote"], ["writes"], ["said"], ["says"], ["asked"], ["replied"], ["commented"], ["posted"]]
_CHECKED = re.compile(r"(?:\[[ xX*✓✔]?\]|\([ xX*•]?\)|[☐☑☒✓✔✅○●])\s*")
_FIELD = re.compile(r"(?:\[(?!button|link|menuitem)\w+\] )?([^:]{1,60}):(?:\s+(.*)|\s*)")
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_NUMBERS, 2)}
# Of one's own page: said of any change, without a word of which.
_CONFIRMATIONS = frozenset(
    (
        "saved", "done", "success", "changes saved", "your changes saved", "settings saved", "your settings saved",
        "your changes have been saved", "settings have been saved", "your settings have been saved",
        "changes have been saved", "saved successfully", "settings saved successfully",
    )
)  # fmt: skip
# Lines above a statement that give it to nobody, and below it say nothing of what was done.
_HEADINGS = frozenset(("settings", "wiki", "shop", "store", "cart", "tracker", "success", "thank you"))
_BELOW = frozenset(("home", "checkout"))
# Of what people write, so that what follows may be the words of one of them, or the name of a thing.
_LISTS = frozenset(("files", "folders", "issues", "pages", "notes", "tickets", "inbox", "mail"))
_EMPTY = frozenset(("nothing here yet", "your cart is empty", "the cart is empty", "cart is empty", "no items yet"))

# Of what pages call their own parts and what they keep: a name of these alone may be no name.
# Of buttons that stand beside what has not been done yet.
_CONFIRMS = frozenset(
    ("confirm", "yes", "cancel", "discard", "retry", "request", "approve", "proceed", "again", "fail")
)
_STATUS = ("status :", "state :")


@dataclasses.dataclass(frozen=True)
class PageSentence:
    """One sentence, or a line without an end. Its place in the page is no part of what it says."""

    text: str
    tokens: tuple[str, ...]  # words and signs in their case, without the full stop

    @property
    def plain(self) -> str:
        return " ".join(self.tokens).casefold()

    @property
    def confirms(self) -> bool:
        """Whether it says that all was done, of which it names nothing."""
        return self.plain in _CONFIRMATIONS

    @property
    def is_heading(self) -> bool:
        return self.plain in _HEADINGS

    @property
    def heads_a_list(self) -> bool:
        """Whether what stands below it may be somebody's words."""
        return self.plain in _LISTS

    @property
    def is_harmless(self) -> bool:
        """Whether it is known to say nothing of a change: a heading, a button, a box that holds nothing, a sum."""
        known = self.is_heading or self.confirms or self.plain in _BELOW or self.heads_a_list
        is_sum = self.plain.startswith("total") and all(
            map(is_price, (each for each in self.tokens[1:] if each != ":"))
        )
        return known or is_sum or bool(_CONTROL.fullmatch(self.text)) or self.is_empty_box

    @property
    def control(self) -> tuple[str, ...]:
        """The name of the button or link that it is; empty: it is none."""
        if not _CONTROL.fullmatch(self.text):
            return ()
        name = self.tokens[4:-1] if self.tokens[1].isdecimal() else self.tokens[3:]
        return tuple(token for token in name if token not in QUOTES)

    @property
    def is_button(self) -> bool:
        return bool(self.control) and "button" in self.tokens[:3]

    @property
    def switch(self) -> tuple[str, ...]:
        """The name of the box to tick that it is; empty: it is none."""
        box = None if self.control else _CHECKED.match(self.text)
        return tokens_of(self.text[box.end() :]) if box else ()

    @property
    def asks_to_confirm(self) -> bool:
        """Whether it is a button that confirms or gives up what was begun."""
        is_button = bool(_CONTROL.fullmatch(self.text))
        return is_button and not _CONFIRMS.isdisjoint(token.casefold() for token in self.tokens[3:])

    @property
    def is_empty_box(self) -> bool:
        return bool(_BOX.fullmatch(self.text))

    @property
    def is_search(self) -> bool:
        """Whether it is a box to search in."""
        return self.plain.startswith(("search", "find", "filter", "query"))

    @property
    def is_empty_list(self) -> bool:
        return self.plain in _EMPTY


# Of what pages call their own parts and what they keep: a name of these alone may be no name.
PAGE_WORDS = vocabulary(
    """
    account action alert all answer anything backup change changes code comment connection copy default document
    draft drafts entry error event everything example file files folder form group history home image inbox info
    invoice it label link list login mail menu new note notes notification notifications object one order other
    page pages password picture post preview profile project record reminder reply report request result review
    sample selection session setting settings shortcut something space status success tag template test that thing
    this today untitled user version view warning work
    """
)


def tokens_of(text: str) -> tuple[str, ...]:
    """Words and signs, without the width of their letters; "apollo-2" and "Garden/Old" are one word each."""
    return tuple(_TOKEN.findall(unicodedata.normalize("NFKC", text).replace("’", "'")))


def sentences_of(text: str) -> list[PageSentence]:
    """Sentences of a page, in its order."""
    found: list[PageSentence] = []
    for line in text.splitlines():
        for sentence in _ENDS.split(line.strip()):
            tokens = tokens_of(sentence)
            if tokens:
                said = PageSentence(sentence, tokens[:-1] if tokens[-1] in ".!" and len(tokens) > 1 else tokens)
                if found and said.plain.startswith(_STATUS):  # of what the line above names
                    above = found.pop()
                    state = said.tokens[1:]
                    said = PageSentence(f"{above.text}{sentence[len(tokens[0]) :]}", (*above.tokens, *state))
                found.append(said)
    return found


def states_of(page: Sequence[PageSentence]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The fields and switches of a page by their names: what each holds, and its line."""
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for sentence in page:
        if sentence.switch:
            found[" ".join(sentence.switch).casefold()] = (sentence.tokens[: -len(sentence.switch)], sentence.tokens)
        elif (field := _FIELD.fullmatch(sentence.text)) and field[1].split()[-1:] not in _SPEAKERS:
            found[field[1].casefold()] = (tokens_of(field[2] or ""), sentence.tokens)
    return found


def is_price(token: str) -> bool:
    return re.fullmatch(r"[$€£]\d+(?:\.\d\d)?|\d+\.\d\d", token) is not None


def unquoted(tokens: Sequence[str], names: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Without the quotation marks that stand around exactly one of the names."""
    kept = list(tokens)
    place = 0
    while place < len(kept):
        for name in names:
            end = place + 1 + len(name)
            is_whole = tuple(kept[place + 1 : end]) == tuple(name) and QUOTES.issuperset(kept[end : end + 1])
            if kept[place] in QUOTES and is_whole and len(kept) > end:
                kept[place : end + 1] = name
                break
        place += 1
    return tuple(kept)
