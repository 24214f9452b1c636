"""Words that an agent could have put on a page itself: typed, pasted, in an address, or printed by a command of its
own.

Actions are a closed world, too: of one that is not known to point, to type, to press a plain key or to open a plain
address, anything may come that the page shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote_plus

from tars_jax.judges.answers.words import vocabulary
from tars_jax.judges.evidence import ENDED, NO_ACTION
from tars_jax.judges.statements import QUOTES, PageSentence, tokens_of

_CALL = re.compile(r"([A-Za-z_]\w*)\s*[(\[](.*)", re.DOTALL)
_STRINGS = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"|\[([^\]]*)\]", re.DOTALL)
_INERT = vocabulary("finished wait noop scroll screenshot mouse_move hover")
_PAUSES = _INERT - {"scroll"}
_CLICKS = vocabulary("click left_single left_double double_click dblclick tap long_press push select select_option")
_SUBMITTING = vocabulary("click left_single tap push select_option")  # one click; two open something, or nothing
_POINTS = (
    _INERT | _CLICKS | vocabulary("right_single swipe drag open_app press_back press_home go_back go_forward tab_focus")
)
_TYPES = vocabulary("type fill typewrite write input_text keyboard_type type_text")
_PRESSES = vocabulary("hotkey press key keypress press_keys press_key")
_OPENS = vocabulary("open_url goto navigate new_tab")
_KEYS = vocabulary("enter return tab esc escape up down left right home end pageup pagedown space backspace")
_SUBMITS, _ENDS_FIELDS = vocabulary("enter return space"), vocabulary("enter return")
_IDLE_KEYS = vocabulary("esc escape tab pageup pagedown home end")
_MOVES_ON = _INERT | _OPENS | vocabulary("press_back press_home go_back go_forward tab_focus")
_UNDOES = vocabulary("undo delete remove discard revert reset restore cancel reopen clear empty erase withdraw")
_ADDRESSES = _UNDOES | vocabulary("logout signout destroy purge archive")
# Of a click, in pixels or by an element's number.
_PLACE = re.compile(r"[\W\d_]*|.*<\|?(?:point|box).*|[a-z]?\d+", re.DOTALL)
_ELEMENT = re.compile(r"[a-z]?\d+")
_LINE_END = re.compile(r"(?:\n|\\n)\Z")
_HELD, _HARMLESS = vocabulary("ctrl control cmd meta command"), vocabulary("a c f l s enter")
# Without a query, without letters that could stand for others.
_PLAIN_ADDRESS = re.compile(r"(?:https?://)?[a-z0-9.:-]+(?:/[a-z0-9._-]{1,24})*/?")


class Deed(NamedTuple):
    """One call of an action."""

    name: str
    texts: tuple[str, ...]

    @property
    def is_pause(self) -> bool:
        return self.name in _PAUSES

    @property
    def is_idle(self) -> bool:
        """Whether it is known to change nothing that a page holds: it looks, or goes elsewhere."""
        keys = {key for text in self.written for key in re.split(r"[\s+]+", text.casefold())}
        return self.name in _MOVES_ON or (self.name in _PRESSES and keys <= _IDLE_KEYS)

    @property
    def chooses(self) -> bool:
        """Whether it takes one of a list that no page needs to show."""
        return self.name.startswith("select")

    @property
    def submits(self) -> bool:
        """Whether it may bring a change about: one click, Enter, or a line that is typed to its end."""
        if self.types:
            return any(map(_LINE_END.search, self.texts))
        ends = bool(self.written) and {text.casefold() for text in self.written} <= _ENDS_FIELDS
        return self.clicks or (self.name in _PRESSES and ends)

    @property
    def clicks(self) -> bool:
        return self.name in _SUBMITTING

    @property
    def types(self) -> bool:
        return self.name in _TYPES

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """Labels of what a click is said to be on, where that is a name and no place."""
        return [tokens_of(text) for text in self.texts if not _PLACE.fullmatch(text)] if self.clicks else []

    @property
    def may_undo(self) -> bool:
        """Whether its name, or that of what it presses, is a verb that takes something back."""
        words = {word.casefold() for label in self.labels for word in label} | self.verbs
        return not words.isdisjoint(_UNDOES)

    @property
    def moves(self) -> bool:
        """Whether it drags something to another place."""
        return self.name == "drag" and len(set(self.texts)) > 1

    @property
    def verbs(self) -> frozenset[str]:
        """Words in the name of a call that is of no mouse, keyboard or address."""
        own = self.name not in _POINTS | _TYPES | _PRESSES | _OPENS
        return frozenset(self.name.split("_")) if own else frozenset()

    @property
    def written(self) -> tuple[str, ...]:
        """Texts that it types or presses; of a call, its texts. The number of the element that gets it is none."""
        names_element = (self.types or self.name in _PRESSES) and len(self.texts) > 1
        return self.texts[1:] if names_element and _ELEMENT.fullmatch(self.texts[0]) else self.texts

    @property
    def letters(self) -> tuple[str, ...]:
        """Letters that it types, in a whole or by a key of one letter; of other keys `_unknown` tells."""
        keys = [key for key in self.written if self.name in _PRESSES and len(key) == 1]
        return self.written if self.types else tuple(keys)

    @property
    def given(self) -> list[tuple[str, ...]]:
        """The texts of the action, word for word, but those with blanks around them."""
        texts = [_line(text) for text in self.written]
        return [tokens_of(text) for text in texts if text and text == text.strip()]


def deeds_of(action: str) -> list[Deed]:
    """The calls of an action, in their order."""
    if action in (ENDED, NO_ACTION):
        return []
    return [
        Deed(call[1].casefold() if (call := _CALL.match(line.strip())) else "", _texts(line)) for line in _lines(action)
    ]


class OwnWords:
    """Words that the agent wrote itself in the actions of one episode."""

    def __init__(self, actions: Sequence[str], instruction: str) -> None:
        asked = {token.casefold() for token in tokens_of(instruction)}
        wanted = f" {' '.join(tokens_of(instruction))} "
        self.could_write_anything = ""  # why; empty: it could not
        self.unasked = ""  # what it typed that is no part of the instruction, in words; empty: nothing
        self._letters: Counter[str] = Counter()
        self.typed: set[tuple[str, ...]] = set()  # each text by itself, folded
        for action in actions:
            if action in (ENDED, NO_ACTION):
                continue
            texts = _texts(action)
            typed = [" ".join(tokens_of(_line(text))) for deed in deeds_of(action) for text in deed.letters]
            if more := [said for said in typed if f" {said} " not in wanted]:
                self.unasked = f"the agent typed what nobody asked for: {more[0]:.60}"
            for text in texts:
                self._letters.update(letters_of(unquote_plus(text)))
            for line in _lines(action):
                if not QUOTES.isdisjoint(_STRINGS.sub("", line)):
                    self.could_write_anything = "an action has a quotation mark too many"
                call = _CALL.match(line.strip())
                if told := _unknown(call[1].casefold() if call else "", texts, asked):
                    self.could_write_anything = told
                if call and call[1].casefold() in _TYPES:
                    self.typed |= {_folded(text) for text in texts}

    def could_hold(self, sentence: PageSentence) -> bool:
        """Whether the letters of the sentence are among those that were typed, in whatever order and however often
        they were corrected."""
        return not Counter(letters_of(sentence.text)) - self._letters

    def holds(self, text: Sequence[str]) -> bool:
        """Whether the agent typed just this, or all of it in one text."""
        said = f" {' '.join(token.casefold() for token in text)} "
        return any(said in f" {' '.join(each)} " for each in self.typed)


def _lines(action: str) -> list[str]:
    return [line for line in re.split(r"\n(?=[A-Za-z_]\w*\s*[(\[])", action) if line.strip()]


def _texts(action: str) -> tuple[str, ...]:
    return tuple(next(filter(None, groups), "") for groups in _STRINGS.findall(action))


def is_inert(action: str) -> bool:
    """Whether it changes nothing."""
    if action in (ENDED, NO_ACTION):
        return True
    calls = [_CALL.match(line.strip()) for line in action.splitlines() if line.strip()]
    return all(call is not None and call[1].casefold() in _INERT for call in calls)


def _line(text: str) -> str:
    """Without its end, and without what writes a quotation mark inside of quotation marks."""
    return re.sub(r"\\(['\"\\])", r"\1", _LINE_END.sub("", text))


def _unknown(name: str, texts: Sequence[str], asked: set[str]) -> str:
    """The reason why a command could write anything; empty: it could not."""
    if name in _POINTS | _TYPES:
        return ""
    if name in _PRESSES:
        keys = [key.casefold() for text in texts for key in re.split(r"[\s+]+", text) if key]
        alone = len(keys) == 1 and (len(keys[0]) == 1 or keys[0] in _KEYS)
        together = len(keys) == 2 and keys[0] in _HELD and keys[1] in _HARMLESS
        return "" if alone or together else "the agent pressed keys together, which may paste or undo"
    if name in _OPENS:
        plain = all(_PLAIN_ADDRESS.fullmatch(text) for text in texts)
        if not plain:
            return "the agent opened an address that may hold words of its own"
        acting = {word for text in texts for word in re.split(r"[\W_]+", text)} & _ADDRESSES - asked
        return f"the agent opened an address that may {min(acting)} something" if acting else ""
    words = {word.casefold() for text in texts for word in tokens_of(text)}
    return (
        "" if name and words <= asked | {"'", '"'} else f"the agent used {name or 'what is no call'}, which may print"
    )


def letters_of(text: str) -> str:
    """Without anything else, and without case."""
    return "".join(filter(str.isalpha, text.casefold()))


def _folded(text: str) -> tuple[str, ...]:
    return tuple(token.casefold() for token in tokens_of(re.sub(r"\\[nrt]", " ", text).replace("\\", "")))
