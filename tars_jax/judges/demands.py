"""Demands: what is to be shown of an object, and the closed forms of sentences that say that it is so, or is not.

A form is a row of pieces, each of which has to stand in the sentence as a whole, in its order; between them only
the few words of `BETWEEN` may stand. So a sentence with any other word or sign says nothing: another object
("apollo-2", "Garden Party"), more objects, doubts, dates, authors and places that nobody demanded need no rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence

from tars_jax.judges.answers.words import vocabulary
from tars_jax.judges.forms import FormWord, Piece, fits, folded, is_number, is_piece, without_price
from tars_jax.judges.statements import PAGE_WORDS, QUOTES, unquoted
from tars_jax.judges.verbs import (
    AGAINST,
    ARTICLES,
    BETWEEN,
    DENYING_NAMES,
    DONE,
    ELSEWHERE,
    GONE,
    KEPT,
    KINDS,
    LEAVES,
    MADE,
    MAKING,
    MESSAGES,
    NAMED,
    NAMES,
    NEUTRAL,
    OFF,
    ON,
    PAGES_OWN,
    PUT,
    REMOVED,
    SENDS,
    SENT,
    STATES,
    SWITCHES,
    TEXTS,
    words_in,
)

_NAMED = FormWord(NAMED)
_COLON: Piece = (FormWord(frozenset((":",))),)


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
            yield ((FormWord(KINDS),), self.thing)
        is_known = all(word.options <= KINDS | MESSAGES for word in self.kind)  # no "all notes but"
        if is_known and not (self.kind and all(map(is_number, self.thing))):
            yield (self.thing,)

    def _kinds(self) -> Iterator[Piece]:
        if self.kind and any(word.options <= MESSAGES for word in self.kind):
            yield (FormWord(MESSAGES),)
        elif self.kind:
            yield self.kind

    @property
    def is_understood(self) -> bool:
        return bool(self.thing) and bool(self.done or self.tail) and not self.asks

    def says(self, tokens: Sequence[str]) -> bool:
        """Whether the sentence is one of the forms."""
        plain = self._plain(tokens)
        if self.is_made and not STATES.isdisjoint(plain):  # "is created" may be told of any day
            return False
        return self.is_understood and any(fits(form, plain) or fits(form, without_price(plain)) for form in self.forms)

    def names(self, tokens: Sequence[str]) -> bool:
        """Whether it is the object's name alone, perhaps with its kind: nothing is said of it."""
        plain = self._plain(tokens)
        forms = [*self._things(), *([(self.thing, _COLON, self.kind)] if self.kind else [])]
        return bool(self.thing) and not self.takes_away and any(fits(form, plain) for form in forms)

    def denies(self, tokens: Sequence[str]) -> bool:
        """Whether it says the opposite: of this object, from its beginning, and of nothing else."""
        if not self.is_understood:
            return False
        plain = self._plain(tokens)
        lowered = [token.casefold() for token in plain]
        said = {"saved", *(word for words in self.changes for word in words.split())}
        uncounted = self.thing[1:] if len(self.thing) > 1 and is_number(self.thing[0]) else self.thing
        for thing in (*self._things(), (uncounted,)):
            for size in range(1, len(plain) + 1):
                rest = [word for word in lowered[size:] if word not in BETWEEN and word != ":"]
                if fits(thing, plain[:size]):
                    denied = any(
                        word in ("not", "cannot", "never") or word.endswith("n't") for word in lowered[size:][:3]
                    )
                    if (denied and not said.isdisjoint(rest[:5])) or " ".join(rest) in self._against():
                        return True
                elif lowered[0] == "no" and fits(thing, plain[1:size]) and not said.isdisjoint(rest[:1]):
                    return True
        return self._is_other_number(plain)

    def is_missing_from(self, empty: Sequence[str]) -> bool:
        """Whether a list that is said to be empty should hold it."""
        in_cart = any(word.options == {"cart"} for each in self.tail for word in each)
        return in_cart if "cart" in empty else not self.changes.isdisjoint((*MADE, *PUT, *SENT))

    def _against(self) -> frozenset[str]:
        against = next((words for done, words in AGAINST if self.changes & set(done)), frozenset[str]())
        return against if self.takes_away else against | GONE - self.changes

    def other_value(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Value that the field holds instead of the demanded one; empty: it is no such field."""
        plain = self._plain(tokens)
        colon = plain.index(":") if self.is_value and ":" in plain else 0
        is_field = colon > 0 and fits((self.thing,), plain[:colon])
        return () if not is_field or self.says(tokens) else tuple(plain[colon + 1 :])

    def is_given_by(self, tokens: Sequence[str]) -> bool:
        """Whether it is just what an agent has to give to bring it about: the object's name, or the value's."""
        return any(is_piece(piece, tokens) for piece in self._given)

    def is_field_with_it(self, tokens: Sequence[str], page: Iterable[Sequence[str]]) -> bool:
        """Whether a form shows what was given, in the field for it: none to search, to go or to speak with."""
        plain = self._plain(tokens)
        sizes = [len(piece) for piece in self._given if is_piece(piece, plain[-len(piece) :])]
        return any(self.is_field(plain[:-size], page) for size in sizes)

    def is_field(self, tokens: Sequence[str], page: Iterable[Sequence[str]]) -> bool:
        """Whether it is the name of the field for it, without a value. One that is called a box is it where a button
        of the page says what is done with it."""
        words = {token.casefold() for token in tokens if token != ":"}
        is_message = any(word.options <= MESSAGES for word in self.kind)
        names = folded(self.thing) if self.is_value else TEXTS if is_message else NAMES
        is_box = words == {"box"} and any(
            self.is_done_by(set(each[3:])) for each in page if tuple(each[:3]) == ("[", "button", "]")
        )
        kind = folded(self.kind)  # alone it may be the box to go to one
        is_own = not words.isdisjoint(names) or not (words.isdisjoint(kind) or words.isdisjoint(MAKING))
        return is_box or (is_own and words <= names | kind | MAKING | vocabulary("a an the of for"))

    def is_done_by_call(self, name: Collection[str], given: Iterable[Sequence[str]]) -> bool:
        """Whether a call does it: its name is a verb of it, with its kind or not, and it is given the object's name."""
        verbs = [word for word in name if self.is_done_by([word])]
        return bool(verbs) and set(name) - set(verbs) <= folded(self.kind) and any(map(self.is_given_by, given))

    def is_done_by(self, verbs: Iterable[str]) -> bool:
        """Whether one of the words is a verb of it, or saves whatever a form holds."""
        return any(
            (verb in ("save", "submit") and self.is_kept) or not self.changes.isdisjoint(DONE.get(verb, ()))
            for verb in map(str.casefold, verbs)
        )

    @property
    def is_kept(self) -> bool:
        """Whether saving a form does it, as it does not send, share or publish."""
        return self.is_value or self.is_switch or not self.changes.isdisjoint(KEPT)

    def is_pressed_by(self, label: Sequence[str]) -> bool:
        """Whether a control of this name may bring it about: each of its words is a verb or a name of it, or says
        nothing of what is sent."""
        words = words_in(label)
        verbs = {word for word in words if word in self._sends or self.is_done_by([word])}
        parts = (self.thing, self.kind, *self.tail, *(self.done if self.is_value else ()))
        own = frozenset[str]().union(*map(folded, parts))
        if self.is_switch:
            own |= SWITCHES | {word for words in self.changes for word in words.split()}
            if any(words & against for done, against in AGAINST[:2] if self.changes & set(done)):
                return False
        named = verbs or words & folded(self.thing) or self.is_given_by(label)
        return words <= own | verbs | NEUTRAL | KINDS and bool(named) and self._is_whole_in(label, words - verbs)

    def _is_whole_in(self, label: Sequence[str], words: set[str]) -> bool:
        """Whether the names of it that are in a control's are whole, and in their letter case or all in capitals."""
        exact = [word for piece in (self.thing, *self.tail) for word in piece if word.exact]
        names = {option.casefold(): word for word in exact for option in word.options}
        in_capitals = "".join(label).isupper()
        told = [token for token in label if token.casefold() in words and token.casefold() in names]
        if not in_capitals and not all(names[token.casefold()].fits(token) for token in told):
            return False
        thing = folded(self._uncounted())
        has_part = not (words - NEUTRAL - KINDS - folded(self.kind)).isdisjoint(thing)
        return self.is_value or not has_part or thing <= {token.casefold() for token in label}

    def is_told_better_by(self, control: Sequence[str], label: Sequence[str]) -> bool:
        """Whether a control says more of it than one of the name `label` does."""
        return words_in(label) - NEUTRAL < words_in(control) - NEUTRAL and self.is_named_by_control(control)

    def is_spelled_by(self, control: Sequence[str], label: Sequence[str]) -> bool:
        """Whether a control has its name in its letters, of which the one of the name `label` has others."""
        differ = tuple(control) != tuple(label) and [each.casefold() for each in control] == [*map(str.casefold, label)]
        letters = frozenset[str]().union(*(word.options for word in self.thing))
        return differ and bool(letters) and letters <= set(control)

    def has(self, value: Sequence[str]) -> bool:
        """Whether each of the words is one of its names."""
        parts = (self.thing, self.kind, *self.tail, *self.done)
        return all(any(word.fits(token) for piece in parts for word in piece) for token in value)

    @property
    def _sends(self) -> frozenset[str]:
        return SENDS if self.is_kept else SENDS - {"save"}

    @property
    def new_name(self) -> Piece:
        """The new name that the object gets; empty: it is not renamed."""
        return self.tail[0][1:] if "renamed" in self.changes and self.tail else ()

    def is_renamed_by(self, texts: Iterable[Sequence[str]]) -> bool:
        return not self.new_name or any(is_piece(self.new_name, text) for text in texts)

    def is_entry(self, tokens: Sequence[str]) -> bool:
        """Whether it begins with the object's name, as a line of a list does, in whatever letter case."""
        names = [{option.casefold() for option in word.options} for word in self.thing]
        lowered = [token.casefold() for token in tokens]
        return len(lowered) >= len(names) and all(part in name for name, part in zip(names, lowered, strict=False))

    def is_named_by_control(self, label: Sequence[str]) -> bool:
        """Whether a control of this name does it by itself: its verb is the demand's own, or it is a switch or a value
        by its name. One that closes a window, too, has to name the object."""
        words = words_in(label)
        named = words & (folded(self.thing) | folded(self.kind))
        if not self.is_pressed_by(label) or self.only_leaves(label):
            return False
        verbs = [word for word in words if not self.changes.isdisjoint(DONE.get(word, ()))]
        if verbs:
            return bool(named) or not LEAVES.issuperset(verbs)
        saves = bool(words & SENDS) and bool(words & folded(self.thing))
        return (self.is_value and (saves or self.is_given_by(label))) or (
            self.is_switch and bool(words & (folded(self.thing) | SWITCHES))
        )

    def only_leaves(self, label: Sequence[str]) -> bool:
        """Whether a control of this name closes a window or a dialog, whatever stands in it."""
        return words_in(label) <= LEAVES | NEUTRAL

    def is_unmoved_by(self, labels: Sequence[Sequence[str]]) -> bool:
        """Whether controls of these names leave it as it is: they are known to lead elsewhere, or they save what a form
        holds, which a value is part of."""
        words = words_in(token for label in labels for token in label)
        saves = self.is_value or self.is_switch
        return bool(words) and (words <= ELSEWHERE | NEUTRAL or (saves and words <= SENDS | NEUTRAL))

    @property
    def is_switch(self) -> bool:
        """Whether the same control that does it undoes it."""
        return not self.changes.isdisjoint((*ON, *OFF, *DONE["star"])) and not self.changes & set(DONE["open"])

    @property
    def is_named_by_words_of_pages(self) -> bool:
        """Whether the object's name is made of words that pages use of themselves: "Draft saved" names none."""
        words = folded(self.thing) - ARTICLES
        is_told_apart = self.is_value or self.is_switch or "renamed" in self.changes
        return not is_told_apart and words <= PAGE_WORDS | PAGES_OWN

    def is_quoted_in(self, tokens: Sequence[str]) -> bool:
        size = len(self.thing)
        return any(
            is_piece(self.thing, tokens[place : place + size])
            and QUOTES.issuperset(tokens[place - 1 : place])
            and QUOTES.issuperset(tokens[place + size : place + size + 1])
            for place in range(1, len(tokens) - size)
        )

    @property
    def is_named_by_a_denial(self) -> bool:
        """Whether the object's name is a word that a sentence may deny with."""
        return not self.is_value and bool(self.thing) and folded(self.thing) <= DENYING_NAMES | ARTICLES

    def is_listed_by(self, tokens: Sequence[str]) -> bool:
        """Whether it is the object's name alone, of one that should be there no more."""
        gone = self.takes_away or not self.changes.isdisjoint((*REMOVED, "archived", "cancelled", "canceled"))
        plain = self._plain(tokens[3:] if tuple(tokens[:1]) == ("[",) and tokens[2:3] == ("]",) else tokens)
        is_control = tuple(tokens[:3]) == ("[", "button", "]")
        return gone and not is_control and any(fits(form, plain) for form in self._things())

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
        return colon > 0 and fits((self.thing,), plain[:colon]) and not self.says(tokens)

    @property
    def _given(self) -> list[Piece]:
        return [piece for piece in (self.done if self.is_value else (self._uncounted(),)) if piece]

    def _uncounted(self) -> Piece:
        """The object without how many of it."""
        return tuple(word for word in self.thing if not is_number(word)) or self.thing

    def _is_other_number(self, plain: Sequence[str]) -> bool:
        """Whether the place where it should be is shown with another number of it."""
        if len(self.tail) != 1 or (self.done and not self.changes & set(PUT)):
            return False
        for size in range(1, len(plain) - 1):
            shown = without_price(plain[size:])
            if fits((self.tail[0][1:], _COLON), plain[:size]) and len(shown) == len(self.thing):
                others = [word for word, token in zip(self.thing, shown, strict=True) if not word.fits(token)]
                numbers = [token for word, token in zip(self.thing, shown, strict=True) if not word.fits(token)]
                return bool(others) and all(map(is_number, others)) and all(map(str.isdecimal, numbers))
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
