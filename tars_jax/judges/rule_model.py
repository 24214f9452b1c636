"""The embedded model of judges: rules about text. Deterministic, blind to pixels, and sooner silent than wrong.

Success is a page that states, in the end, what was demanded: not the words that the agent typed, not an older page, not
somebody's words, not the state that was there at the start. What speaks for success without being that is no success
and no failure: the rules raise CannotSay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.judges.answers import says_the_same
from tars_jax.judges.evidence import ENDED, NO_ACTION, Evidence
from tars_jax.judges.judge import CannotSay
from tars_jax.judges.judge_model import Kept, Scored
from tars_jax.judges.requirements import Requirement, clauses_of, confirms, demanded, done_beside, quoted_in, stated
from tars_jax.judges.statements import Standing, Statement, statements_of, words_of

_STRINGS = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"|\[([^\]]*)\]", re.DOTALL)
_TYPES = re.compile(r"\b(?:type|fill|typewrite|write|input_text|keyboard_type|press_keys)\w*\s*[(\[]", re.IGNORECASE)
_INERT = re.compile(r"(?:finished|wait|noop|scroll|screenshot|mouse_?move|hover)\b", re.IGNORECASE)


class RuleModel:
    """Judges by what the last page states; earlier ones raise doubts alone. Methods raise CannotSay."""

    async def key_points(self, instruction: str) -> Sequence[str]:
        return clauses_of(instruction)

    async def score(self, evidence: Evidence, points: Sequence[str], number: int) -> Scored:
        page = statements_of(evidence.observations[number - 1].text, quoted_in(evidence.instruction))
        states = [each for each in page if each.standing is Standing.STATES]
        shown = [point for point in points if any(demanded(point).holds(each, states) for each in states)]
        return Scored(1 + round(4 * len(shown) / max(len(points), 1)), ", ".join(shown))

    async def verdict(self, evidence: Evidence, points: Sequence[str], kept: Sequence[Kept]) -> bool:
        """From the whole episode, whatever was kept of it."""
        return _Episode(evidence, evidence.instruction).meets([demanded(point) for point in points], is_new=True)

    async def fact(self, evidence: Evidence, fact: str) -> int | None:
        episode = _Episode(evidence, fact)
        denies = any(each.standing is Standing.DENIES for each in statements_of(fact))
        standing = Standing.DENIES if denies else Standing.STATES
        return episode.last + 1 if episode.meets([stated(fact)], standing=standing) else None

    async def answer(self, question: str, reference: str, said: str) -> bool:
        return says_the_same(said, reference, question)


class _Episode:
    """What the pages of an episode state, and what of it the agent wrote itself."""

    def __init__(self, evidence: Evidence, asked: str) -> None:
        names = quoted_in(asked)
        self._pages = [statements_of(each.text, names) for each in evidence.observations]
        seen = [bool(each.text.strip() or each.screenshot) for each in evidence.observations]
        self.last = max((place for place, shown in enumerate(seen) if shown), default=-1)
        self._is_picture = self.last >= 0 and bool(evidence.observations[self.last].screenshot)
        self._first = frozenset(self._pages[0]) if self._pages else frozenset[Statement]()
        self._typed = [words for action in evidence.actions for words in _strings(action)]
        self._written = [f" {' '.join(words)} " for words in self._typed]
        self._unseen = not all(map(_is_inert, evidence.actions[max(self.last, 0) :]))
        self._boxes = {
            statement.words
            for place, action in enumerate(evidence.actions[: len(self._pages) - 1])
            if _TYPES.search(action)
            for statement in set(self._pages[place + 1]).difference(self._pages[place])
            if any(not set(words).isdisjoint(statement.words) for words in _strings(action))
        }

    def meets(
        self, demands: Sequence[Requirement], *, standing: Standing = Standing.STATES, is_new: bool = False
    ) -> bool:
        """Whether the last page shows them all. `is_new`: and the first one did not. Raises CannotSay where something
        speaks for it, and for pages of pixels alone."""
        if self.last < 0:
            return False
        page = self._pages[self.last]
        if self._is_picture and all(each.standing is Standing.ECHOES for each in page):  # such as its address alone
            raise CannotSay("the last page is a picture, which rules do not see")
        doubts = [self._doubt(each, page, standing, is_new) for each in demands]
        if None in doubts:
            return False
        if standing is Standing.STATES and any(each.fails for each in page):
            doubts.append("the page says that something failed")
        if is_new and any(done_beside(each, demands) for each in self._stated_on_the_way()):
            doubts.append("something else was done, too")
        if self._unseen:
            doubts.append("nobody saw what the last action did")
        if told := next(filter(None, doubts), ""):
            raise CannotSay(f"rules cannot tell: {told}")
        return True

    def _stated_on_the_way(self) -> list[Statement]:
        return [each for page in self._pages[1:] for each in page if each.standing is Standing.STATES]

    def _doubt(self, demand: Requirement, page: list[Statement], standing: Standing, is_new: bool) -> str | None:
        """Empty: the page shows it. None: nothing speaks for it."""
        if not demand.named:
            return "the task names nothing that a page could show"
        states = [each for each in page if each.standing is standing and not self._is_typed(each)]
        fresh = [each for each in states if not is_new or each not in self._first]
        if any(demand.holds(each, fresh) for each in fresh if not self._is_echo(demand, each, fresh)):
            return "an answer is asked for, which no page gives" if demand.asks else ""
        if standing is Standing.STATES and any(demand.mentioned(each.words) for each in page if _denies(each)):
            return None
        speaking = {Standing.QUOTES: "somebody says so", Standing.ECHOES: "the page repeats it"}
        for each in page:
            if demand.holds(each, page) and each.standing in (standing, *speaking):
                typed = "the agent typed it" if each in fresh or self._is_typed(each) else "it was so at the start"
                return speaking.get(each.standing, typed)
        for earlier in self._pages[is_new : self.last]:
            if any(demand.holds(each, earlier) for each in earlier if each.standing is standing):
                return "an earlier page showed it, the last one does not"
        if any(confirms(each) and demand.touched(each.words) for each in fresh):
            return "the page confirms something, and does not name all of it"
        return None

    def _is_typed(self, statement: Statement) -> bool:
        """Whether the agent wrote all of it."""
        said = f" {' '.join(statement.words)} "
        return any(said in text for text in self._written)

    def _is_echo(self, demand: Requirement, statement: Statement, fresh: Sequence[Statement]) -> bool:
        """Whether it says what the agent typed, with nothing on the page that confirms it."""
        named = set(demand.named)
        typed = any(named <= set(words) for words in self._typed) or statement.words in self._boxes
        return typed and not any(confirms(each) and each.words not in self._boxes for each in (statement, *fresh))


def _denies(statement: Statement) -> bool:
    return statement.standing is Standing.DENIES


def _strings(action: str) -> list[tuple[str, ...]]:
    """Words of each text in an action."""
    texts = (next(filter(None, groups), "") for groups in _STRINGS.findall(action))
    plain = (re.sub(r"\\[nrt]", " ", text).replace("+", " ").replace("_", " ") for text in texts)
    return [words for words in map(words_of, plain) if not all(map(str.isdecimal, words))]


def _is_inert(action: str) -> bool:
    return action in (ENDED, NO_ACTION) or all(
        _INERT.match(line.strip()) for line in action.splitlines() if line.strip()
    )
