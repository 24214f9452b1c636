"""A sentence that carries an answer: the question's own words around one place, where the answer stands.

    Lima        It is Lima        The capital of Peru is Lima        Lima is the capital        It has 12 airports there

Every word around the place is the question's own or says nothing by itself, and the place is where an answer to this
question stands, so that "the capital of Lima is Peru" is none. What may stand beside the answer in brackets or behind a
comma is the same value again, the question's own words, or ", not" with another value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tars_jax.judges.answers.kinds import AnswerKind
from tars_jax.judges.answers.names import ARTICLES, is_in_territory
from tars_jax.judges.answers.phrases import are_said_as_asked
from tars_jax.judges.answers.quantities import BOUND, BOUND_AFTER
from tars_jax.judges.answers.quantity import Same
from tars_jax.judges.answers.questions import AUXILIARIES, COPULAS, FREE, NEGATIONS, PREPOSITIONS, TURNS, ParsedQuestion
from tars_jax.judges.answers.roles import asks_agent, stands_where_asked
from tars_jax.judges.answers.signs import has_direction
from tars_jax.judges.answers.words import folded, words

LONGEST = 60  # words of a sentence that is read
_LONGEST_NAME = 14
_PRONOUNS = frozenset(["it", "they", "he", "she", "this", "that", "there"])
_AFTER = COPULAS | frozenset(["do", "does", "did", "long", "high", "tall", "wide", "deep", "old", "away", "to", "from"])
_MEASURED = ("number", "day", "time")
_PLACED = ("in", "of", "at", "on")
_SIGNS = (",", ":", "=", ";")
_SINCE = ("in", "on", "at", "from", "between", "until")
_BRACKET = re.compile(r"\s*\(([^()]+)\)")
_NOT_BUT = re.compile(r"(?:(?:it|this|that) (?:is|was) )?not (?P<other>[^,.;()]+?),? but ", re.IGNORECASE)
_NOT = re.compile(
    r"(?:(?:,| -|;) (?:and )?not| and not|,? rather than|,? instead of) (?P<other>(?:[^,.;()]|[.,](?=\d))+)$"
    r"|\s*\((?:and )?not (?P<bracket>[^()]+)\)$"
)


def carried(said: str, kind: AnswerKind, question: ParsedQuestion) -> set[Same]:
    """Relations of the values in an answer's place to the reference, by each way to read the sentence; empty: it
    carries none."""
    found = set(_read(said, kind, question))
    if Same.YES in found:
        return found
    for match in _BRACKET.finditer(said):
        outer = carried(said[: match.start()] + said[match.end() :], kind, question)
        inner = kind.read(match[1])
        is_there = kind.name == "name" and is_in_territory(said[: match.start()].split(" is ")[-1], match[1])
        if inner is Same.YES or is_there or _is_own(match[1], question):  # Paris (France)
            found |= outer
        elif inner is not None and Same.YES in outer:
            found.add(Same.YES if kind.agrees(match[1]) else Same.UNSURE)
    if (denied := _NOT_BUT.match(said)) and Same.YES not in carried(denied["other"], kind, question):
        found |= carried(said[denied.end() :], kind, question)
    if besides := _NOT.search(said):
        outer = carried(said[: besides.start()], kind, question)
        other = besides["other"] or besides["bracket"]
        others = carried(other.strip(), kind, question)
        is_named = all(word[:1].isupper() or question.has(word) for word in other.split() if word not in ARTICLES)
        place = said[: besides.start()].split(" is ")[-1]
        if Same.YES in others or is_in_territory(place, other) or is_in_territory(other, place):
            found = outer - {Same.YES}  # Paris, not France
        elif Same.NO in others or is_named:
            found |= outer
    return found


def _read(said: str, kind: AnswerKind, question: ParsedQuestion) -> Iterator[Same]:
    spans = words(said)
    if len(spans) > LONGEST or (kind.name in _MEASURED and next(kind.find(said), None) is None):
        return
    whole = kind.read(said)
    if whole is Same.YES:
        yield whole
        return
    found = list(_placed(said, spans, kind, question))
    yield from found
    if whole is not None and not found:
        yield whole


def _placed(said: str, spans: list[tuple[int, int]], kind: AnswerKind, question: ParsedQuestion) -> Iterator[Same]:
    texts = [said[start:end] for start, end in spans]
    ends = [end for end in range(1, len(texts) + 1) if _closes(said, spans, texts, end, kind, question)]
    for start in range(len(texts)):
        if not _opens(texts[:start], texts[start], kind, question):
            continue
        for end in ends:
            is_place = texts[start] not in _SIGNS and texts[end - 1] not in _SIGNS
            is_place = is_place and start < end <= start + _LONGEST_NAME and _is_apart(said, spans, start, end, kind)
            if (
                is_place
                and end - start < len(texts)
                and _fit(texts[:start], texts[end:], kind, question, is_counted=texts[end - 1].isalpha())
            ):
                same = kind.read(said[spans[start][0] : spans[end - 1][1]])
                is_said_again = same is Same.NO and all(
                    question.has(each) or each == "than" for each in texts[start:end]
                )
                if same is not None and not is_said_again:
                    yield same


def _is_apart(said: str, spans: list[tuple[int, int]], start: int, end: int, kind: AnswerKind) -> bool:
    """Whether no sign or letter stands at once beside the place, and no bound beside a number: $52, Lima??, least 8"""
    before, after = said[: spans[start][0]], said[spans[end - 1][1] :]
    if kind.name == "number" and (BOUND.search(before) or BOUND_AFTER.match(after)):
        return False
    return before[-1:] in ("", " ") and after[:1] in ("", " ", ",", ":")


def _unnamed(before: list[str], question: ParsedQuestion) -> list[str]:
    """Without the name of a thing that the question only describes: of "The coast of Arland is"."""
    places = [n for n, each in enumerate(before) if each == "of"]
    if not places or not before[-1:] or before[-1] not in COPULAS:
        return before
    name = before[places[-1] + 1 : -1]
    is_name = 0 < len(name) < 5 and all(each[:1].isupper() or each.isdigit() for each in name)
    return [*before[: places[-1]], before[-1]] if is_name else before


def _opens(before: list[str], first: str, kind: AnswerKind, question: ParsedQuestion) -> bool:
    if question.describes:
        before = _unnamed(before, question)
    if any(not (each in (",", ":", "=") or _gives(each, question) or _links(each, kind)) for each in before):
        return False
    content = [folded(each) for each in before]
    while content and content[-1] in ARTICLES | {"both"}:
        content.pop()
    if content == list(map(folded, before)) and first not in ARTICLES and question.is_title(content):
        while content and question.is_asked_for(content[-1]):
            content.pop()
        while content and content[-1] in ARTICLES:
            content.pop()
    if not content:
        return True
    last, has_verb = content[-1], bool(COPULAS & set(content))
    is_measured = kind.name in _MEASURED
    if last == ":" and content[-2:-1] and content[-2] in COPULAS:
        return True
    if last in (":", "="):
        return _is_label(content[:-1], kind, question) and (is_measured or not question.names & set(content))
    if last in COPULAS and not is_measured and len(content) > 1 and set(content[:-1]) <= question.names:
        return False  # Spain is Lima
    if last in COPULAS or (len(content) == 1 and last in _PRONOUNS):
        return True
    if last in ("called", "named"):
        return True
    if last in question.asks_by:
        return True
    verbs = [each for each in content if each not in ARTICLES]
    if kind.name in ("day", "time") and (last in _PLACED or first.casefold() in _SINCE):
        return last in _PLACED or question.has(last)
    if last in ("in", "on", "at"):
        if is_measured:
            return last == "at" and (bool(AUXILIARIES & set(content)) or question.is_verb(verbs[:-1]))
        return question.has("where")
    if last == "of":
        is_own = len(content) > 1 and content[-2].isalpha() and content[-2] not in TURNS and question.has(content[-2])
        is_kind = not question.asks_person and len(content) > 1 and content[-2] in question.things
        is_kind = is_kind and "of" not in question.after(content[-2])  # east of it
        return is_own if kind.name == "number" else is_kind
    if last == "by":
        return has_verb and not is_measured and asks_agent(content[:-1], question)
    if kind.name == "day" and len(content) == 1 and question.has(last):
        return last not in question.names | TURNS and not (question.is_done_to and last in question.order)
    if not question.asks_object or last == ",":
        return False
    return question.has("why") or has_direction(first) or question.is_verb(verbs)


def _is_label(said: list[str], kind: AnswerKind, question: ParsedQuestion) -> bool:
    """Capital of Peru: what is asked for comes first, or all that the question is about."""
    told = [each for each in said if each not in ARTICLES]
    if not told or told[0] in FREE or question.is_asked_for(told[0]) or question.measures(told[0]):
        return True
    if len(told) > 1 or told[0] in TURNS or not question.before(told[0]) - (PREPOSITIONS - {"of", "in"}):
        return False
    return kind.name in ("day", "time") or (question.ends_with(told[0]) and not question.is_done_to)


def _gives(word: str, question: ParsedQuestion) -> bool:
    return question.gives(word) or word in ("since", "from")  # not at the place itself


def _links(word: str, kind: AnswerKind) -> bool:
    return word.casefold() in ("in", "on", "at", "of", "by", "called", "named")


def _closes(
    said: str, spans: list[tuple[int, int]], texts: list[str], end: int, kind: AnswerKind, question: ParsedQuestion
) -> bool:
    after = texts[end:]
    if not after:
        return True
    if after[0] == "," and (place := said[spans[end][1] :].strip()):
        if kind.name == "name" and is_in_territory(said[: spans[end - 1][1]].split(" is ")[-1], place):
            return True
        if kind.name == "list" or (question.offers and {folded(each) for each in after} & question.names):
            return False
        told = [each for each in after[1:] if each not in ARTICLES]
        if not told or folded(told[0]) in question.names:
            return False  # another name beside it, as of a second answer
        is_about = any(question.is_asked_for(each) or question.is_predicate(each) for each in told)
        is_phrase = after[1] in PREPOSITIONS or after[1].endswith("'s")
        if kind.name not in _MEASURED and not is_about and not is_phrase:
            return False  # Geneva, the lake
    elif (
        (kind.name == "list" and after[0] == "of")
        or (
            kind.name == "number"
            and texts[end - 1][-1:].isdigit()
            and not (_links(after[0], kind) or folded(after[0]) in _AFTER)
        )
        or (
            not (_links(after[0], kind) or folded(after[0]) in _AFTER)
            and not _is_kind_of(texts[end - 1], after[0], kind, question)
            and (question.asks_object or not question.has(after[0]) or after[0][:1].isupper())
        )
    ):
        return False
    elif kind.name not in _MEASURED and folded(after[0]) in ARTICLES | PREPOSITIONS - {"in", "at", "on", "by"}:
        return False  # Netherlands of Spain
    if not _may_end(folded(after[-1]), kind, question):
        return False
    first = next((n for n, each in enumerate(after) if each[:1].isupper()), len(after))
    if first == 0 and len(after) > 1:
        return False
    small = [folded(each) for each in after]
    turns = {"than", *NEGATIONS} & set(small)
    return len(after) > (after[0] == ",") and all(
        each == ","
        or question.gives(each)
        or (each in turns and (question.has(each) or (each == "than" and question.offers)))
        or _links(each, kind)
        or question.turns_alike(small, n)
        for n, each in enumerate(after)
    )


def _is_kind_of(last: str, word: str, kind: AnswerKind, question: ParsedQuestion) -> bool:
    """Amazon River, of a river; third place; but 1883 years are no year."""
    is_rank = kind.name == "number" and not last[-1:].isdigit()
    return question.is_thing(word) and (is_rank or kind.name not in _MEASURED)


def _may_end(last: str, kind: AnswerKind, question: ParsedQuestion) -> bool:
    """Whether a sentence may end with a word: Anna did, but "88 in" goes on."""
    if last in AUXILIARIES:
        return kind.name not in _MEASURED
    return question.ends_with(last) or last not in PREPOSITIONS | TURNS | ARTICLES


def _fit(before: list[str], after: list[str], kind: AnswerKind, question: ParsedQuestion, *, is_counted: bool) -> bool:
    """Whether both sides make one sentence, which denies nothing that the question does not."""
    own, rest = ([folded(each) for each in side] for side in (before, after))
    content = [each for each in (*own, *rest) if question.has(each)]
    content = [each for each in content if each not in FREE | NEGATIONS | question.things]
    if any(_is_offered(side, question) for side in (own, rest)):
        return False
    denied = sum(each in NEGATIONS for each in (*own, *rest))
    is_said = bool(content) or bool({"do", "does", "did"} & {*rest})
    if denied != (question.negations if is_said else 0):
        return False
    is_headless = bool(question.head) and question.head not in (*own, *rest) and own[-1:] and own[-1] in COPULAS
    if content and is_headless and not (kind.name == "number" and is_counted):
        return False  # but Lund has 91,940 people
    if not are_said_as_asked(before, after, question):
        return False
    if kind.name not in _MEASURED and not stands_where_asked(own, rest, question):
        return False
    if not rest:
        return True
    if rest[0] in COPULAS and rest[1:] and set(rest[1:]) <= question.names:
        return False  # Lima is Peru
    is_doer = question.is_done_to and not question.negations and rest[0] in ("do", "does", "did", question.auxiliary)
    if is_doer and kind.name not in _MEASURED:
        return False
    is_thing = rest[0] in COPULAS and bool(ARTICLES & set(rest[1:2])) and bool(question.things or question.head)
    is_about = any(question.is_asked_for(each) or question.is_predicate(each) for each in rest)
    if is_thing and not is_about and question.head not in ("title", "name"):
        return False  # Geneva is the lake
    if "by" in rest and not question.has("by"):
        return False
    is_verb = rest[0] in COPULAS | {"do", "does", "did"} or (not question.asks_object and question.has(rest[0]))
    if is_verb and rest[0] not in ("long", "high", "tall", "wide", "deep"):
        bare = [each for each in own if each not in ARTICLES | question.things | {"both"}]
        return not bare or kind.name == "number"
    return not (question.is_done_to and kind.name not in _MEASURED and rest[0] != "," and not own)


def _is_offered(side: list[str], question: ParsedQuestion) -> bool:
    """Whether something that the question offers is said beside the answer, and not as what it is compared with."""
    ends = next((place for place, each in enumerate(side) if each in ("than", *NEGATIONS)), len(side))
    return any(each in question.offered for each in side[:ends])


def _is_own(text: str, question: ParsedQuestion) -> bool:
    found = [text[start:end] for start, end in words(text)]
    after = ["", *found]
    return not question.offers and all(
        each in _PLACED or (question.gives(each) and (folded(each) not in question.names or before in _PLACED))
        for before, each in zip(after, found, strict=False)
    )
