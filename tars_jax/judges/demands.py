"""What is to be shown of an object, and the closed forms of sentences that say that it is so, or is not.

A form is a row of pieces, each of which has to stand in the sentence as a whole, in its order; between them only
the few words of `_BETWEEN` may stand. So a sentence with any other word or sign says nothing: another object
("apollo-2", "Garden Party"), more objects, doubts, dates, authors and places that nobody demanded need no rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence

from tars_jax.judges.statements import NUMBER_WORDS, is_price, unquoted, vocabulary

ARTICLES = vocabulary("a an the your my new")
_BETWEEN = ARTICLES | vocabulary("was were is are has have been now just successfully named called titled")
_MESSAGES = vocabulary("message mail email text")
_KINDS = vocabulary("page file folder note ticket issue repository room item task")

_MADE, REMOVED, PUT = ("created", "added", "made"), ("deleted", "removed", "erased"), ("added", "put", "placed")
_BOUGHT, _SENT, _CLOSED = ("bought", "ordered", "purchased"), ("sent",), ("closed",)
ON = ("on", "enabled", "activated", "active", "turned on", "switched on")
OFF = ("off", "disabled", "deactivated", "inactive", "turned off", "switched off")
DONE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("create", "make"), _MADE),
    **dict.fromkeys(("add", "put"), PUT),
    **dict.fromkeys(("delete", "remove", "erase"), REMOVED),
    **dict.fromkeys(("buy", "order", "purchase"), _BOUGHT),
    **dict.fromkeys(("book", "reserve"), ("booked", "reserved")),
    **dict.fromkeys(("enable", "activate"), ON),
    **dict.fromkeys(("disable", "deactivate"), OFF),
    "send": _SENT, "close": _CLOSED, "reopen": ("reopened", "opened again", "open"), "open": ("open", "opened"),
    "assign": ("assigned",), "rename": ("renamed",), "move": ("moved",), "publish": ("published",),
    "archive": ("archived",), "cancel": ("cancelled", "canceled"), "star": ("starred",), "submit": ("submitted",),
    "save": ("saved",), "update": ("updated",), "upload": ("uploaded",), "share": ("shared",),
}  # fmt: skip
CHANGED = ("set", "changed", "switched")
CHANGES = frozenset(words for each in DONE.values() for words in each) | frozenset((*CHANGED, "confirmed", "placed"))
_GONE = frozenset((*REMOVED, "cancelled", "canceled", "rolled back", "reverted", "discarded", "undone", "withdrawn"))
_AGAINST: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = (
    (ON, frozenset(OFF)),
    (OFF, frozenset(ON)),
    (_CLOSED, frozenset(("open", "reopened", "opened again"))),
    (DONE["open"], frozenset(_CLOSED)),
)
# What forms call their fields, and what they do.
_NAMES, _TEXTS = vocabulary("name title"), vocabulary("text message subject body")
_MAKING = vocabulary("new add create make enter edit compose write change set")
_STATES = vocabulary("is are")
# What controls are called that send whatever a form holds, and words that say nothing of what.
_SENDS = vocabulary("confirm ok okay yes apply done finish continue proceed save submit send post place")
_NEUTRAL = ARTICLES | vocabulary("to in into on for of and it all now changes settings form this")
_DENYING_NAMES = vocabulary("nobody none nothing no never not error nowhere")
_DENIES = vocabulary("not cannot never no nothing unable failed")
_ERRORS = vocabulary("error failed failure unable cannot")


@dataclasses.dataclass(frozen=True)
class Word:
    """A word of a form: one of these, in this case if it is a name's."""

    options: frozenset[str]
    exact: bool = False

    def fits(self, token: str) -> bool:
        return (token if self.exact else NUMBER_WORDS.get(token.casefold(), token.casefold())) in self.options


Piece = tuple[Word, ...]


@dataclasses.dataclass(frozen=True)
class Demand:
    """A change of one object, or a state of it. None that is `asks` or without `thing` is shown by any page."""

    thing: Piece = ()
    kind: Piece = ()
    done: tuple[Piece, ...] = ()  # any of them; none: the object is in the place of `tail`
    tail: tuple[Piece, ...] = ()  # each with its preposition
    changes: frozenset[str] = frozenset()  # words of `done`, for what speaks against them
    asks: bool = False
    takes_away: bool = False
    is_value: bool = False  # `done` is a field's value, `thing` its name

    @property
    def forms(self) -> Iterator[tuple[Piece, ...]]:
        """All sentences that say it, without what may stand between the pieces."""
        places = [piece for each in self.tail for piece in (each[:1], each[1:])]
        for done in self.done:
            for thing in self._things():
                yield (*thing, done, *places)
                yield (*thing, _COLON, done, *places)
                if not self.is_value:
                    yield (done, *thing, *places)
                    yield (done, _COLON, *thing, *places)
            for kind in self._kinds():
                yield (kind, done, *places, _COLON, self.thing)
        if places and (not self.done or self.changes & set(PUT)):
            yield (self.thing, *places)
            yield (self.thing, _COLON, *places)
            if len(self.tail) == 1:
                yield (places[1], _COLON, self.thing)

    def _things(self) -> Iterator[tuple[Piece, ...]]:
        if self.kind:
            yield ((*self.kind, *self.thing),)  # whole, as "note My Harvest" is another one
            yield ((*self.kind, _NAMED, *self.thing),)
            yield (self.thing, self.kind)
        elif not self.is_value:
            yield ((Word(_KINDS),), self.thing)
        is_known = all(word.options <= _KINDS | _MESSAGES for word in self.kind)  # no "all notes but"
        if is_known and not (self.kind and all(map(_is_number, self.thing))):
            yield (self.thing,)

    def _kinds(self) -> Iterator[Piece]:
        if self.kind and any(word.options <= _MESSAGES for word in self.kind):
            yield (Word(_MESSAGES),)
        elif self.kind:
            yield self.kind

    @property
    def is_understood(self) -> bool:
        return bool(self.thing) and bool(self.done or self.tail) and not self.asks

    def says(self, tokens: Sequence[str]) -> bool:
        """Whether the sentence is one of the forms."""
        plain = self._plain(tokens)
        if self.is_made and not _STATES.isdisjoint(plain):  # "is created" may be told of any day
            return False
        return self.is_understood and any(
            _fits(form, plain) or _fits(form, _without_price(plain)) for form in self.forms
        )

    def names(self, tokens: Sequence[str]) -> bool:
        """Whether it is the object's name alone, perhaps with its kind: nothing is said of it."""
        plain = self._plain(tokens)
        forms = [*self._things(), *([(self.thing, _COLON, self.kind)] if self.kind else [])]
        return bool(self.thing) and not self.takes_away and any(_fits(form, plain) for form in forms)

    def denies(self, tokens: Sequence[str]) -> bool:
        """Whether it says the opposite: of this object, from its beginning, and of nothing else."""
        if not self.is_understood:
            return False
        plain = self._plain(tokens)
        folded = [token.casefold() for token in plain]
        said = {"saved", *(word for words in self.changes for word in words.split())}
        uncounted = self.thing[1:] if len(self.thing) > 1 and _is_number(self.thing[0]) else self.thing
        for thing in (*self._things(), (uncounted,)):
            for size in range(1, len(plain) + 1):
                rest = [word for word in folded[size:] if word not in _BETWEEN and word != ":"]
                if _fits(thing, plain[:size]):
                    denied = any(
                        word in ("not", "cannot", "never") or word.endswith("n't") for word in folded[size:][:3]
                    )
                    if (denied and not said.isdisjoint(rest[:5])) or " ".join(rest) in self._against():
                        return True
                elif folded[0] == "no" and _fits(thing, plain[1:size]) and not said.isdisjoint(rest[:1]):
                    return True
        return self._is_other_number(plain)

    def is_missing_from(self, empty: Sequence[str]) -> bool:
        """Whether a list that is said to be empty should hold it."""
        in_cart = any(word.options == {"cart"} for each in self.tail for word in each)
        return in_cart if "cart" in empty else not self.changes.isdisjoint((*_MADE, *PUT, *_SENT))

    def _against(self) -> frozenset[str]:
        against = next((words for done, words in _AGAINST if self.changes & set(done)), frozenset[str]())
        return against if self.takes_away else against | _GONE - self.changes

    def other_value(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """What the field holds instead of the value; empty: it is no such field."""
        plain = self._plain(tokens)
        colon = plain.index(":") if self.is_value and ":" in plain else 0
        is_field = colon > 0 and _fits((self.thing,), plain[:colon])
        return () if not is_field or self.says(tokens) else tuple(plain[colon + 1 :])

    def is_given_by(self, tokens: Sequence[str]) -> bool:
        """Whether it is just what an agent has to give to bring it about: the object's name, or the value's."""
        return any(_is(piece, tokens) for piece in self._given)

    def is_field_with_it(self, tokens: Sequence[str], page: Iterable[Sequence[str]]) -> bool:
        """Whether a form shows what was given, in the field for it: none to search, to go or to speak with."""
        plain = self._plain(tokens)
        sizes = [len(piece) for piece in self._given if _is(piece, plain[-len(piece) :])]
        return any(self.is_field(plain[:-size], page) for size in sizes)

    def is_field(self, tokens: Sequence[str], page: Iterable[Sequence[str]]) -> bool:
        """Whether it is the name of the field for it, without a value. One that is called a box is it where a button
        of the page says what is done with it."""
        words = {token.casefold() for token in tokens if token != ":"}
        is_message = any(word.options <= _MESSAGES for word in self.kind)
        names = _folded(self.thing) if self.is_value else _TEXTS if is_message else _NAMES
        is_box = words == {"box"} and any(
            self.is_done_by(set(each[3:])) for each in page if tuple(each[:3]) == ("[", "button", "]")
        )
        kind = _folded(self.kind)  # alone it may be the box to go to one
        is_own = not words.isdisjoint(names) or not (words.isdisjoint(kind) or words.isdisjoint(_MAKING))
        return is_box or (is_own and words <= names | kind | _MAKING | vocabulary("a an the of for"))

    def is_done_by_call(self, name: Collection[str], given: Iterable[Sequence[str]]) -> bool:
        """Whether a call does it: its name is a verb of it, with its kind or not, and it is given the object's name."""
        verbs = [word for word in name if self.is_done_by([word])]
        return bool(verbs) and set(name) - set(verbs) <= _folded(self.kind) and any(map(self.is_given_by, given))

    def is_done_by(self, verbs: Iterable[str]) -> bool:
        """Whether one of the words is a verb of it, or saves whatever a form holds."""
        return any(
            verb in ("save", "submit") or not self.changes.isdisjoint(DONE.get(verb, ()))
            for verb in map(str.casefold, verbs)
        )

    def is_pressed_by(self, label: Sequence[str]) -> bool:
        """Whether a control of this name may bring it about: each of its words is a verb or a name of it, or says
        nothing of what is sent."""
        words = {token.casefold() for token in label if token.isalnum()}
        verbs = {word for word in words if word in _SENDS or self.is_done_by([word])}
        parts = (self.thing, self.kind, *self.tail, *(self.done if self.is_value else ()))
        own = frozenset[str]().union(*map(_folded, parts))
        return words <= own | verbs | _NEUTRAL | _KINDS and bool(verbs or words & _folded(self.thing))

    @property
    def is_named_by_a_denial(self) -> bool:
        """Whether the object's name is a word that a sentence may deny with."""
        return not self.is_value and bool(self.thing) and _folded(self.thing) <= _DENYING_NAMES | ARTICLES

    def is_listed_by(self, tokens: Sequence[str]) -> bool:
        """Whether it is the object's name alone, of one that should be there no more."""
        gone = self.takes_away or not self.changes.isdisjoint((*REMOVED, "archived", "cancelled", "canceled"))
        plain = self._plain(tokens[3:] if tuple(tokens[:1]) == ("[",) and tokens[2:3] == ("]",) else tokens)
        is_control = tuple(tokens[:3]) == ("[", "button", "]")
        return gone and not is_control and any(_fits(form, plain) for form in self._things())

    @property
    def is_made(self) -> bool:
        """Whether it is not there before."""
        return "created" in self.changes and not self.tail

    @property
    def may_be_dragged(self) -> bool:
        return bool(self.tail) and not self.changes.isdisjoint(("moved", *PUT))

    def is_place_of(self, tokens: Sequence[str]) -> bool:
        """Whether its object is in the sentence; of a field, the field with another value or none."""
        if not self.is_value:
            return all(any(word.fits(token) for token in tokens) for word in self._uncounted())
        plain = self._plain(tokens)
        colon = plain.index(":") if ":" in plain else 0
        return colon > 0 and _fits((self.thing,), plain[:colon]) and not self.says(tokens)

    @property
    def _given(self) -> list[Piece]:
        return [piece for piece in (self.done if self.is_value else (self._uncounted(),)) if piece]

    def _uncounted(self) -> Piece:
        """The object without how many of it."""
        return tuple(word for word in self.thing if not _is_number(word)) or self.thing

    def _is_other_number(self, plain: Sequence[str]) -> bool:
        """Whether the place where it should be is shown with another number of it."""
        if len(self.tail) != 1 or (self.done and not self.changes & set(PUT)):
            return False
        for size in range(1, len(plain) - 1):
            shown = _without_price(plain[size:])
            if _fits((self.tail[0][1:], _COLON), plain[:size]) and len(shown) == len(self.thing):
                others = [word for word, token in zip(self.thing, shown, strict=True) if not word.fits(token)]
                numbers = [token for word, token in zip(self.thing, shown, strict=True) if not word.fits(token)]
                return bool(others) and all(map(_is_number, others)) and all(map(str.isdecimal, numbers))
        return False

    def speaks_of(self, tokens: Sequence[str]) -> bool:
        """Whether any word of the object is in it."""
        return any(word.fits(token) for word in self.thing for token in tokens)

    def _plain(self, tokens: Sequence[str]) -> tuple[str, ...]:
        names = [
            self.thing,
            *(done[-1:] for done in self.done if self.is_value),
            *self.done,
            *(each[1:] for each in self.tail),
        ]
        return unquoted(tokens, [[min(word.options) for word in name] for name in names if name])


_NAMED = Word(vocabulary("named called titled"))
_COLON: Piece = (Word(frozenset((":",))),)


def is_error(tokens: Sequence[str]) -> bool:
    """Whether it begins with an error."""
    return tokens[0].casefold() in _ERRORS and (len(tokens) == 1 or tokens[1] in (":", "to"))


def tells_a_change(tokens: Sequence[str]) -> bool:
    """Whether it says, in whatever words, that something was changed; a denial changes nothing."""
    folded = [token.casefold() for token in tokens]
    return not _CHANGE_WORDS.isdisjoint(folded) and _DENIES.isdisjoint(folded)


_CHANGE_WORDS = frozenset(word for word in CHANGES if " " not in word) - {"on", "off", "open", "active", "inactive"}


def _folded(piece: Piece) -> frozenset[str]:
    return frozenset(option.casefold() for word in piece for option in word.options)


def _is(piece: Piece, tokens: Sequence[str]) -> bool:
    return len(piece) == len(tokens) and all(word.fits(token) for word, token in zip(piece, tokens, strict=True))


def _fits(form: Sequence[Piece], tokens: Sequence[str], *, begun: bool = False) -> bool:
    """Whether the pieces stand there in their order, with nothing else but small words between them, of which no
    name may be a part."""
    if not form:
        return all(token.casefold() in _BETWEEN for token in tokens)
    piece, skipped = form[0], _BETWEEN | {","} if begun else ARTICLES
    if piece[:1] and piece[0].exact:
        skipped = _NAMED.options
    for place in range(len(tokens) - len(piece) + 1):
        if _is(piece, tokens[place : place + len(piece)]) and _fits(form[1:], tokens[place + len(piece) :], begun=True):
            return True
        if tokens[place].casefold() not in skipped:
            return False
    return False


def _without_price(tokens: Sequence[str]) -> Sequence[str]:
    if len(tokens) > 2 and is_price(tokens[-1]) and tokens[-2] in (",", "—", "-"):
        return tokens[:-2]
    return tokens


def _is_number(word: Word) -> bool:
    return all(option.lstrip("#").isdecimal() for option in word.options)
