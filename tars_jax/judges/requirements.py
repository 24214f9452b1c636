"""What an instruction demands, clause by clause, and whether a statement of a page says that it is so."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from tars_jax.judges.statements import Statement, words_of

_SWITCHED = re.compile(r"(?:[:=]|\b(?:is|turned|switched))\s*(on|off)\b", re.IGNORECASE)
_KIND = re.compile(r"([^\W\d_]+)(?: (?:called|named|titled))?\s*[\"“'«`]")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|'([^']+)'(?!\w)|«([^»]+)»|`([^`]+)`")
_CLAUSE = re.compile(r"(?:,|;|\.|\bthen\b|\band\b)+(?=\s|$)", re.IGNORECASE)
_OPENING = frozenset(words_of("please then also and now first next finally kindly"))
_PLAIN = frozenset(
    words_of(
        "a an the and are as at be by do does for from get has have in into inside is it its of on onto or so "
        "that their there then this to under up use was which with within you your my me all page wiki site "
        "website shop store tracker app application file folder directory item items entry called named titled "
        "new one following via using text saying value button field please also now first next finally kindly "
        "make sure off out"
    )
)
# Verbs whose end is a state of the page: it is enough that it shows what they name.
_STATES = frozenset(
    words_of(
        "add put create make write set change rename move save enter select choose open go navigate visit show "
        "increase decrease fill"
    )
)
_ASKS = frozenset(
    words_of(
        "find search look tell report answer what which who whom whose when where why how is are does list count "
        "calculate compare check summarize summarise name say give extract"
    )
)  # fmt: skip
_REMOVED = ("deleted", "removed", "erased", "cleared", "discarded", "emptied")
_ORDERED = ("ordered", "bought", "purchased", "placed")
_ON, _OFF = ("on", "enabled", "activated", "active", "checked"), ("off", "disabled", "deactivated", "unchecked")
_DONE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("delete", "remove", "erase", "clear", "discard", "empty"), _REMOVED),
    **dict.fromkeys(("buy", "order", "purchase"), _ORDERED),
    **dict.fromkeys(("book", "reserve"), ("booked", "reserved")),
    **dict.fromkeys(("send", "mail", "email", "message", "forward", "reply"), ("sent", "forwarded", "replied")),
    **dict.fromkeys(("post", "publish", "comment"), ("posted", "published", "added")),
    **dict.fromkeys(("enable", "activate"), _ON),
    **dict.fromkeys(("disable", "deactivate"), _OFF),
    "cancel": ("cancelled", "canceled"),
    "withdraw": ("withdrawn",),
    "undo": ("undone", "reverted"),
}
_SENT = frozenset(("sent", *_ORDERED, "booked", "reserved", "submitted"))
_UNDONE = frozenset(_REMOVED) | frozenset(
    words_of("undone reverted cancelled canceled restored withdrawn returned refunded trashed")
)
_ASIDE = frozenset(
    words_of(
        "recommended recommendation recommendations suggested suggestion suggestions related sponsored "
        "advertisement popular history viewed wishlist example examples template tutorial tip tips help sample "
        "trash bin recycle spam archive outbox similar also previously earlier formerly yesterday his her"
    )
)
_CONFIRMS = frozenset(
    words_of(
        "saved added created updated changed sent submitted completed confirmed success successful successfully "
        "applied placed booked reserved deleted removed moved renamed uploaded published posted assigned closed "
        "enabled disabled archived ordered stored written set done"
    )
)  # fmt: skip


_AUXILIARY = frozenset(words_of("been were being now just thank thanks"))
_LABELS = frozenset(
    words_of(
        "status state success result results message note notice info alert order update system total contents "
        "current selected new details cart basket bag inbox sent list your our"
    )
)


@dataclasses.dataclass(frozen=True)
class Requirement:
    """Of one clause. `done`: forms of its verb, one of which has to be said; none where a state shows its end. One that
    names nothing holds nowhere."""

    phrases: tuple[tuple[str, ...], ...]  # that are quoted, and numbers: as they stand
    words: tuple[str, ...]  # in any form
    done: frozenset[str] = frozenset()
    asks: bool = False  # for an answer, which no page gives

    @property
    def named(self) -> tuple[str, ...]:
        return (*(word for phrase in self.phrases for word in phrase), *self.words)

    def holds(self, statement: Statement, around: Sequence[Statement] = ()) -> bool:
        """Whether this statement names all of it, and says that it was done where that has to be said. `around`: what
        else states something on the same page, where a receipt may stand apart from what was sent."""
        said = (*statement.words, *statement.context)
        if not self.mentioned(said) or (_ASIDE | _UNDONE).difference(self.named, self.done).intersection(said):
            return False
        if not self._labels(statement.label):
            return False
        if not self.done.isdisjoint(said) or not self.done:
            return True
        apart = [each for each in around if len(each.words) <= 6 and self.done & _SENT & set(each.words)]
        return bool(apart)

    def _labels(self, label: Sequence[str]) -> bool:
        """Whether what stands before a colon is no person, rubric or column that nobody named."""
        known = _LABELS | _PLAIN | _CONFIRMS | {_stem(word) for word in _LABELS | _PLAIN}
        named = {_stem(word) for word in self.named}
        return any(_stem(word) in named or word in _CONFIRMS for word in label) or known.issuperset(
            _stem(word) for word in label if not word.isdecimal()
        )

    def mentioned(self, said: Sequence[str]) -> bool:
        """Whether all that it names is among the words, a phrase without a gap."""
        stems = {_stem(word) for word in said}
        whole = all(_contains(said, phrase) for phrase in self.phrases)
        return bool(self.named) and whole and all(_stem(word) in stems for word in self.words)

    def touched(self, said: Sequence[str]) -> bool:
        """Whether any of it is among the words, or what is done to it."""
        stems = {_stem(word) for word in said}
        return not self.done.isdisjoint(said) or any(_stem(word) in stems for word in self.named)


def done_beside(statement: Statement, demands: Sequence[Requirement]) -> bool:
    """Whether it confirms something that is like what is demanded, and is not it: the same done to another thing."""
    said = (*statement.words, *statement.context)
    if not confirms(statement) or any(demand.mentioned(said) for demand in demands):
        return False
    known = _PLAIN | _CONFIRMS | _LABELS | _AUXILIARY
    for demand in demands:
        stems = {_stem(word) for word in demand.named}
        others = [word for word in statement.words if word not in known | demand.done and _stem(word) not in stems]
        if demand.touched(statement.words) and others:
            return True
    return False


def confirms(statement: Statement) -> bool:
    """Whether it says that something was done."""
    return not _CONFIRMS.isdisjoint(statement.words) and _UNDONE.isdisjoint(statement.words)


def clauses_of(instruction: str) -> list[str]:
    """The parts of an instruction, each with the verb that it has or takes over from the part before."""
    quoted = [match.span() for match in _QUOTED.finditer(instruction)]
    cuts = [match.span() for match in _CLAUSE.finditer(instruction)]
    cuts = [cut for cut in cuts if not any(begin < cut[0] < end for begin, end in quoted)]
    bounds = zip([0, *(end for _, end in cuts)], [*(begin for begin, _ in cuts), len(instruction)], strict=True)
    parts = [part for begin, end in bounds if words_of(part := instruction[begin:end].strip())]
    verb, made = "", list[str]()
    for number, part in enumerate(parts):
        first = next((word for word in words_of(part) if word not in _OPENING), "")
        if number == 0 or first in _STATES or first in _DONE or first in _ASKS or first in ("turn", "switch"):
            verb = first
        elif verb:
            part = f"{verb} {part}"
        made.append(part)
    return made or [instruction]


def demanded(clause: str) -> Requirement:
    """Of an imperative: what it names, and what has to be said of it."""
    plain, phrases = _taken_apart(clause)
    verb = next((word for word in plain if word not in _OPENING), "")
    if verb in ("turn", "switch", "toggle"):
        done = frozenset(_OFF if "off" in plain else _ON if "on" in plain else ())
    elif verb in _DONE:
        done = frozenset(_DONE[verb])
    else:
        done = frozenset() if verb in _STATES or verb in _ASKS or not verb else frozenset(_past(verb))
    kinds = {word for kind in _KIND.findall(clause) for word in words_of(kind)}  # "the room 'Aurora'"
    words = [word for word in plain if word not in _PLAIN | kinds | {verb} and not word.isdecimal()]
    return Requirement(phrases, tuple(dict.fromkeys(words)), done, verb in _ASKS or clause.rstrip().endswith("?"))


def stated(fact: str) -> Requirement:
    """Of a fact: all that it names, and whether it is on or off."""
    plain, phrases = _taken_apart(fact)
    words = [word for word in plain if word not in _PLAIN and not word.isdecimal()]
    switched = _SWITCHED.search(fact)
    done = () if switched is None else _ON if switched[1].casefold() == "on" else _OFF
    return Requirement(phrases, tuple(dict.fromkeys(words)), frozenset(done))


def quoted_in(text: str) -> list[str]:
    """What stands in quotation marks."""
    return [next(filter(None, groups)) for groups in _QUOTED.findall(text)]


def _taken_apart(text: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Plain words, and the phrases that are quoted with the numbers that are not."""
    quoted = map(words_of, quoted_in(text))
    plain = words_of(_QUOTED.sub(" ", text))
    numbers = [(word,) for word in plain if word.isdecimal()]
    return plain, tuple(dict.fromkeys(phrase for phrase in [*quoted, *numbers] if phrase))


def _contains(said: Sequence[str], phrase: Sequence[str]) -> bool:
    size = len(phrase)
    return any(tuple(said[place : place + size]) == tuple(phrase) for place in range(len(said) - size + 1))


def _past(verb: str) -> tuple[str, ...]:
    doubled = f"{verb}{verb[-1]}ed"
    return (f"{verb}ed", f"{verb}d", doubled, *((f"{verb[:-1]}ied",) if verb.endswith("y") else ()))


def _stem(word: str) -> str:
    """So that "pens" and "pen", "saved" and "save" are one word."""
    if len(word) <= 3 or word[0].isdecimal():
        return word
    for ending, instead in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + instead
            break
    word = word.removesuffix("e")
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
