"""The demands of an instruction, clause by clause, and of a fact."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tars_jax.judges.answers.words import vocabulary
from tars_jax.judges.demands import Demand
from tars_jax.judges.forms import FormWord, Piece
from tars_jax.judges.statements import NUMBER_WORDS, QUOTES, tokens_of
from tars_jax.judges.verbs import ARTICLES, CHANGED, CHANGES, DONE, NAMED, OFF, ON, PUT, REMOVED

_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)|«([^»]+)»|`([^`]+)`")
_CLAUSE = re.compile(r"(?:,|;|\.|\bthen\b|\band\b)+(?=\s|$)", re.IGNORECASE)
_OPENING = vocabulary("please then also and now first next finally kindly")
_IS = vocabulary("is are was were has have been")
_PLACED = vocabulary("to in into onto")  # "put into the cart" is "added to the cart"
_PREPOSITIONS = _PLACED | vocabulary("for from on with at")
_SITES = vocabulary("wiki site website app application tracker shop store settings")

_FIELDS = frozenset(("set", "change", "switch"))
_ASKS = vocabulary(
    "find search look tell report answer what which who whom whose when where why how is are does list count calculate "
    "compare check summarize summarise name say give extract"
)
_STATE_ALONE = re.compile(r"\s*(?:please )?(?:make sure|ensure|see to it|keep)\b(?: that\b)?", re.IGNORECASE)


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
        if number == 0 or first in DONE or first in _FIELDS or first in _ASKS or first in ("turn", "go"):
            verb = first
        elif verb:
            part = f"{verb} {part}"
        made.append(part)
    return made or [instruction]


def demanded(clause: str) -> Demand:
    """Demand that an imperative makes."""
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
                return _changed(tokens, ON if state == "on" else OFF, sites=True)
    if verb in _FIELDS:
        return _field(tokens)
    return _changed(tokens, DONE[verb], sites=True) if verb in DONE else Demand()


def stated(fact: str) -> Demand:
    """Demand that a fact states: a change that was made of an object, what a field holds, or what is where."""
    tokens = list(tokens_of(fact))
    if tokens and tokens[-1] in ".!":
        tokens.pop()
    marks = [place for place, token in enumerate(tokens) if token == ":"]
    if len(marks) == 1 and marks[0]:
        return _valued(tokens[: marks[0]], tokens[marks[0] + 1 :])
    for place, token in enumerate(tokens):
        word = token.casefold()
        if word in CHANGES - {"on", "off", "open", "active"} and place:
            known = next((done for done in DONE.values() if word in done), (word,))
            before = [each for each in tokens[:place] if each.casefold() not in _IS]
            if word in CHANGED:
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
    if sites and done != PUT:
        tail = [piece for piece in tail if not all(word.options <= _SITES for word in piece[1:])]
    pieces = tuple(tuple(FormWord(frozenset((each,))) for each in words.split()) for words in done)
    away = set(done) <= set(REMOVED)
    return Demand(thing, kind, pieces, tuple(tail), frozenset(done), takes_away=away)


def _field(tokens: Sequence[str]) -> Demand:
    """Demand of "the language to German"."""
    places = [place for place, token in enumerate(tokens) if token.casefold() == "to"]
    return _valued(tokens[: places[0]], tokens[places[0] + 1 :]) if places else Demand()


def _valued(field: Sequence[str], value: Sequence[str]) -> Demand:
    (_, name), held = _object(field), _words(value)
    name = name or ()
    if not name or not held:
        return Demand()
    if len(held) == 1 and held[0].options & {*ON, *OFF}:
        return _changed(field, ON if held[0].options & set(ON) else OFF)
    if len(name) == 1 and name[0].options == {"cart"}:
        return (
            Demand(held, (), (), ((FormWord(_PLACED), *name),))
            if held[0].options != {"empty"}
            else Demand(name, (), (held,))
        )
    to = FormWord(frozenset(("to",)))
    said = (held, *((FormWord(frozenset((each,))), to, *held) for each in CHANGED))
    return Demand(name, (), said, is_value=True)


def _object(tokens: Sequence[str]) -> tuple[Piece, Piece]:
    """Its kind, and its name: what is quoted, behind "named", or is no small word behind small ones."""
    quotes = [place for place, token in enumerate(tokens) if token in QUOTES]
    plain = [token for token in tokens if token.casefold() not in ARTICLES]
    named = next((place for place, token in enumerate(plain) if token.casefold() in NAMED), None)
    if len(quotes) == 2:
        begin, end = quotes
        before = [token for token in (*tokens[:begin], *tokens[end + 1 :]) if token.casefold() not in ARTICLES]
        counted = [token for token in before if token.isdecimal() or token.casefold() in NUMBER_WORDS]
        kind = [token for token in before if token not in counted and token.casefold() not in NAMED]
        return _words(kind), (
            *_words(counted),
            *(FormWord(frozenset((token,)), True) for token in tokens[begin + 1 : end]),
        )
    if quotes:
        return (), ()
    if named is not None:
        return _words(plain[:named]), _words(plain[named + 1 :])
    first = next((place for place, token in enumerate(plain) if not (token.islower() and token.isalpha())), 0)
    return _words(plain[:first]), _words(plain[first:])


def _place(part: Sequence[str]) -> Piece:
    """A preposition and what follows it."""
    preposition = part[0].casefold()
    words = _words([token for token in part[1:] if token not in QUOTES and token.casefold() not in ARTICLES])
    options = _PLACED if preposition in _PLACED else frozenset((preposition,))
    return (FormWord(options), *words) if words else ()


def _words(tokens: Iterable[str]) -> Piece:
    """A capital is part of a name."""
    kept = [token for token in tokens if token not in QUOTES and token.casefold() not in ARTICLES]
    plain = (NUMBER_WORDS.get(token.casefold(), token) for token in kept)
    return tuple(FormWord(frozenset((token,)), not token.islower() and not token.isdecimal()) for token in plain)


def _lowered(text: str) -> list[str]:
    return [token.casefold() for token in tokens_of(text)]
