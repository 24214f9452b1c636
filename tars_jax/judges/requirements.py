"""What an instruction or a fact demands, and the closed forms of sentences that say that it is so, or is not.

A form is a row of pieces, each of which has to stand in the sentence as a whole, in its order; between them only
the few words of `_BETWEEN` may stand. So a sentence with any other word or sign says nothing: another object
("apollo-2", "Garden Party"), more objects, doubts, dates, authors and places that nobody demanded need no rules.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence

from tars_jax.judges.statements import NUMBER_WORDS, QUOTES, is_price, tokens_of, unquoted, vocabulary

_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)|«([^»]+)»|`([^`]+)`")
_CLAUSE = re.compile(r"(?:,|;|\.|\bthen\b|\band\b)+(?=\s|$)", re.IGNORECASE)
_OPENING = vocabulary("please then also and now first next finally kindly")
_ARTICLES = vocabulary("a an the your my new")
_BETWEEN = _ARTICLES | vocabulary("was were is are has have been now just successfully named called titled")
_NAMED = vocabulary("named called titled")
_IS = vocabulary("is are was were has have been")
_PLACED = vocabulary("to in into onto")  # "put into the cart" is "added to the cart"
_PREPOSITIONS = _PLACED | vocabulary("for from on with at")
_SITES = vocabulary("wiki site website app application tracker shop store settings")
_MESSAGES = vocabulary("message mail email text")
_KINDS = vocabulary("page file folder note ticket issue repository room item task")

_MADE, _REMOVED, _PUT = ("created", "added", "made"), ("deleted", "removed", "erased"), ("added", "put", "placed")
_BOUGHT, _SENT, _CLOSED = ("bought", "ordered", "purchased"), ("sent",), ("closed",)
_ON = ("on", "enabled", "activated", "active", "turned on", "switched on")
_OFF = ("off", "disabled", "deactivated", "inactive", "turned off", "switched off")
_DONE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("create", "make"), _MADE),
    **dict.fromkeys(("add", "put"), _PUT),
    **dict.fromkeys(("delete", "remove", "erase"), _REMOVED),
    **dict.fromkeys(("buy", "order", "purchase"), _BOUGHT),
    **dict.fromkeys(("book", "reserve"), ("booked", "reserved")),
    **dict.fromkeys(("enable", "activate"), _ON),
    **dict.fromkeys(("disable", "deactivate"), _OFF),
    "send": _SENT, "close": _CLOSED, "reopen": ("reopened", "opened again", "open"), "open": ("open", "opened"),
    "assign": ("assigned",), "rename": ("renamed",), "move": ("moved",), "publish": ("published",),
    "archive": ("archived",), "cancel": ("cancelled", "canceled"), "star": ("starred",), "submit": ("submitted",),
    "save": ("saved",), "update": ("updated",), "upload": ("uploaded",), "share": ("shared",),
}  # fmt: skip
_FIELDS = frozenset(("set", "change", "switch"))
_CHANGED = ("set", "changed", "switched")
CHANGES = frozenset(words for each in _DONE.values() for words in each) | frozenset((*_CHANGED, "confirmed", "placed"))
_GONE = frozenset((*_REMOVED, "cancelled", "canceled", "rolled back", "reverted", "discarded", "undone", "withdrawn"))
_AGAINST: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = (
    (_ON, frozenset(_OFF)),
    (_OFF, frozenset(_ON)),
    (_CLOSED, frozenset(("open", "reopened", "opened again"))),
    (_DONE["open"], frozenset(_CLOSED)),
)
_ASKS = vocabulary(
    "find search look tell report answer what which who whom whose when where why how is are does list count calculate "
    "compare check summarize summarise name say give extract"
)
_DENIES = vocabulary("not cannot never no nothing unable failed")
_ERRORS = vocabulary("error failed failure unable cannot")
_STATE_ALONE = re.compile(r"\s*(?:please )?(?:make sure|ensure|see to it|keep)\b(?: that\b)?", re.IGNORECASE)


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
        if places and (not self.done or self.changes & set(_PUT)):
            yield (self.thing, *places)
            yield (self.thing, _COLON, *places)
            if len(self.tail) == 1:
                yield (places[1], _COLON, self.thing)

    def _things(self) -> Iterator[tuple[Piece, ...]]:
        if self.kind:
            yield (self.kind, self.thing)
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
        return in_cart if "cart" in empty else not self.changes.isdisjoint((*_MADE, *_PUT, *_SENT))

    def _against(self) -> frozenset[str]:
        against = next((words for done, words in _AGAINST if self.changes & set(done)), frozenset[str]())
        return against if self.takes_away else against | _GONE - self.changes

    def other_value(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """What the field holds instead of the value; empty: it is no such field."""
        plain = self._plain(tokens)
        colon = plain.index(":") if self.is_value and ":" in plain else 0
        is_field = colon > 0 and _fits((self.thing,), plain[:colon])
        return () if not is_field or self.says(tokens) else tuple(plain[colon + 1 :])

    @property
    def given(self) -> list[tuple[str, ...]]:
        """What an agent may give an action to bring it about, each in words: the object's name, or the value's."""
        pieces = self.done if self.is_value else (self._uncounted(),)
        return [tuple(min(word.options) for word in piece) for piece in pieces if piece]

    @property
    def is_made(self) -> bool:
        """Whether it is not there before."""
        return "created" in self.changes and not self.tail

    @property
    def may_be_dragged(self) -> bool:
        return not self.changes.isdisjoint(("moved", *_PUT))

    def is_place_of(self, tokens: Sequence[str]) -> bool:
        """Whether its object is in the sentence; of a field, the field with another value or none."""
        if not self.is_value:
            return all(any(word.fits(token) for token in tokens) for word in self._uncounted())
        plain = self._plain(tokens)
        colon = plain.index(":") if ":" in plain else 0
        return colon > 0 and _fits((self.thing,), plain[:colon]) and not self.says(tokens)

    def _uncounted(self) -> Piece:
        """The object without how many of it."""
        return tuple(word for word in self.thing if not _is_number(word)) or self.thing

    def _is_other_number(self, plain: Sequence[str]) -> bool:
        """Whether the place where it should be is shown with another number of it."""
        if len(self.tail) != 1 or (self.done and not self.changes & set(_PUT)):
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


_COLON: Piece = (Word(frozenset((":",))),)


def is_error(tokens: Sequence[str]) -> bool:
    """Whether it begins with an error."""
    return tokens[0].casefold() in _ERRORS and (len(tokens) == 1 or tokens[1] in (":", "to"))


def tells_a_change(tokens: Sequence[str]) -> bool:
    """Whether it says, in whatever words, that something was changed; a denial changes nothing."""
    folded = [token.casefold() for token in tokens]
    return not _CHANGE_WORDS.isdisjoint(folded) and _DENIES.isdisjoint(folded)


_CHANGE_WORDS = frozenset(word for word in CHANGES if " " not in word) - {"on", "off", "open", "active", "inactive"}


def asks_for_a_state(instruction: str) -> bool:
    """Whether it only asks that something be so, whoever did it."""
    return _STATE_ALONE.match(instruction) is not None


def clauses_of(instruction: str) -> list[str]:
    """The parts of an instruction, each with the verb that it has or takes over from the part before."""
    quoted = [match.span() for match in _QUOTED.finditer(instruction)]
    cuts = [match.span() for match in _CLAUSE.finditer(instruction)]
    cuts = [cut for cut in cuts if not any(begin < cut[0] < end for begin, end in quoted)]
    bounds = zip([0, *(end for _, end in cuts)], [*(begin for begin, _ in cuts), len(instruction)], strict=True)
    parts = [part for begin, end in bounds if re.search(r"\w", part := instruction[begin:end].strip())]
    verb, made = "", list[str]()
    for number, part in enumerate(parts):
        first = next((word for word in _lowered(part) if word not in _OPENING), "")
        if number == 0 or first in _DONE or first in _FIELDS or first in _ASKS or first in ("turn", "go"):
            verb = first
        elif verb:
            part = f"{verb} {part}"
        made.append(part)
    return made or [instruction]


def demanded(clause: str) -> Demand:
    """Of an imperative."""
    if asks_for_a_state(clause):
        return stated(_STATE_ALONE.sub("", clause))
    tokens = list(tokens_of(clause))
    while tokens and tokens[0].casefold() in _OPENING:
        tokens.pop(0)
    verb = tokens.pop(0).casefold() if tokens else ""
    if verb in _ASKS or clause.rstrip().endswith("?"):
        return Demand(asks=True)
    if tokens and tokens[-1] in ".!":
        tokens.pop()
    if verb in ("turn", "switch") and tokens:
        for place in (0, -1):
            if tokens[place].casefold() in ("on", "off"):
                state = tokens.pop(place).casefold()
                return _changed(tokens, _ON if state == "on" else _OFF, sites=True)
    if verb in _FIELDS:
        return _field(tokens)
    return _changed(tokens, _DONE[verb], sites=True) if verb in _DONE else Demand()


def stated(fact: str) -> Demand:
    """Of a fact: a change that was made of an object, what a field holds, or what is where."""
    tokens = list(tokens_of(fact))
    if tokens and tokens[-1] in ".!":
        tokens.pop()
    marks = [place for place, token in enumerate(tokens) if token == ":"]
    if len(marks) == 1 and marks[0]:
        return _valued(tokens[: marks[0]], tokens[marks[0] + 1 :])
    for place, token in enumerate(tokens):
        word = token.casefold()
        if word in CHANGES - {"on", "off", "open", "active"} and place:
            known = next((done for done in _DONE.values() if word in done), (word,))
            before = [each for each in tokens[:place] if each.casefold() not in _IS]
            if word in _CHANGED:
                return _field([*before, *tokens[place + 1 :]])
            if word in known:
                return _changed([*before, *tokens[place + 1 :]], known)
        if word in ("is", "are") and place and place + 1 < len(tokens):
            if tokens[place + 1].casefold() in _PREPOSITIONS and place + 2 < len(tokens):
                return _changed([*tokens[:place], *tokens[place + 1 :]], ())
            if not any(each.casefold() in CHANGES - {"on", "off", "open", "active"} for each in tokens[place:]):
                return _valued(tokens[:place], tokens[place + 1 :])
    return Demand()


def _changed(tokens: Sequence[str], done: Sequence[str], *, sites: bool = False) -> Demand:
    """`tokens`: the object and where it goes. `sites`: a place that is the site itself needs not be said again."""
    quoted, parts = False, [list[str]()]
    for token in tokens:
        opens = token in QUOTES
        quoted = quoted != opens
        if not quoted and not opens and token.casefold() in _PREPOSITIONS:
            parts.append([])
        parts[-1].append(token)
    kind, thing = _object(parts[0])
    tail = [piece for part in parts[1:] if (piece := _place(part))]
    if len(tail) != len(parts) - 1:
        return Demand()
    if sites and done != _PUT:
        tail = [piece for piece in tail if not all(word.options <= _SITES for word in piece[1:])]
    pieces = tuple(tuple(Word(frozenset((each,))) for each in words.split()) for words in done)
    away = set(done) <= set(_REMOVED)
    return Demand(thing, kind, pieces, tuple(tail), frozenset(done), takes_away=away)


def _field(tokens: Sequence[str]) -> Demand:
    """Of "the language to German"."""
    places = [place for place, token in enumerate(tokens) if token.casefold() == "to"]
    return _valued(tokens[: places[0]], tokens[places[0] + 1 :]) if places else Demand()


def _valued(field: Sequence[str], value: Sequence[str]) -> Demand:
    (_, name), held = _object(field), _words(value)
    name = name or ()
    if not name or not held:
        return Demand()
    if len(held) == 1 and held[0].options & {*_ON, *_OFF}:
        return _changed(field, _ON if held[0].options & set(_ON) else _OFF)
    if len(name) == 1 and name[0].options == {"cart"}:
        return (
            Demand(held, (), (), ((Word(_PLACED), *name),))
            if held[0].options != {"empty"}
            else Demand(name, (), (held,))
        )
    to = Word(frozenset(("to",)))
    said = (held, *((Word(frozenset((each,))), to, *held) for each in _CHANGED))
    return Demand(name, (), said, is_value=True)


def _object(tokens: Sequence[str]) -> tuple[Piece, Piece]:
    """Its kind, and its name: what is quoted, behind "named", or is no small word behind small ones."""
    quotes = [place for place, token in enumerate(tokens) if token in QUOTES]
    plain = [token for token in tokens if token.casefold() not in _ARTICLES]
    named = next((place for place, token in enumerate(plain) if token.casefold() in _NAMED), None)
    if len(quotes) == 2:
        begin, end = quotes
        before = [token for token in (*tokens[:begin], *tokens[end + 1 :]) if token.casefold() not in _ARTICLES]
        counted = [token for token in before if token.isdecimal() or token.casefold() in NUMBER_WORDS]
        kind = [token for token in before if token not in counted and token.casefold() not in _NAMED]
        return _words(kind), (*_words(counted), *(Word(frozenset((token,)), True) for token in tokens[begin + 1 : end]))
    if quotes:
        return (), ()
    if named is not None:
        return _words(plain[:named]), _words(plain[named + 1 :])
    first = next((place for place, token in enumerate(plain) if not (token.islower() and token.isalpha())), 0)
    return _words(plain[:first]), _words(plain[first:])


def _place(part: Sequence[str]) -> Piece:
    """A preposition and what follows it."""
    preposition = part[0].casefold()
    words = _words([token for token in part[1:] if token not in QUOTES and token.casefold() not in _ARTICLES])
    options = _PLACED if preposition in _PLACED else frozenset((preposition,))
    return (Word(options), *words) if words else ()


def _words(tokens: Iterable[str]) -> Piece:
    """A capital is part of a name."""
    kept = [token for token in tokens if token not in QUOTES and token.casefold() not in _ARTICLES]
    plain = (NUMBER_WORDS.get(token.casefold(), token) for token in kept)
    return tuple(Word(frozenset((token,)), not token.islower() and not token.isdecimal()) for token in plain)


def _fits(form: Sequence[Piece], tokens: Sequence[str], *, begun: bool = False) -> bool:
    """Whether the pieces stand there in their order, with nothing else but small words between them."""
    if not form:
        return all(token.casefold() in _BETWEEN for token in tokens)
    piece, skipped = form[0], _BETWEEN | {","} if begun else _ARTICLES
    for place in range(len(tokens) - len(piece) + 1):
        here = tokens[place : place + len(piece)]
        begins = all(word.fits(token) for word, token in zip(piece, here, strict=True))
        if begins and _fits(form[1:], tokens[place + len(piece) :], begun=True):
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


def _lowered(text: str) -> list[str]:
    return [token.casefold() for token in tokens_of(text)]
