"""The embedded model of judges: rules about text. Deterministic, blind to pixels, and sooner silent than wrong.

A closed world. Success is a last page that says what was demanded in a form that the rules know whole, on which they
understand all else that is new, or that stands above it. Failure is a page that contradicts it as plainly. Of
everything else the rules raise CannotSay.
"""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.environment import CannotSay
from tars_jax.judges.acts import EpisodeActs
from tars_jax.judges.answers import says_the_same
from tars_jax.judges.demands import Demand
from tars_jax.judges.evidence import Evidence, KeptObservation, Scored
from tars_jax.judges.own_words import OwnWords, deeds_of, is_inert, letters_of
from tars_jax.judges.requirements import asks_for_a_state, clauses_of, demanded, stated
from tars_jax.judges.statements import PageSentence, sentences_of, tokens_of
from tars_jax.judges.verbs import is_error, tells_a_change

_ORDERED = frozenset(("placed", "confirmed", "received", "complete", "completed"))


class RuleModel:
    """Judges by what the last page states; earlier ones raise doubts alone. Methods raise CannotSay."""

    async def key_points(self, instruction: str) -> Sequence[str]:
        return clauses_of(instruction)

    async def score(self, evidence: Evidence, points: Sequence[str], number: int) -> Scored:
        page = sentences_of(evidence.observations[number - 1].text)
        shown = [point for point in points if any(demanded(point).says(each.tokens) for each in page)]
        return Scored(1 + round(4 * len(shown) / max(len(points), 1)), ", ".join(shown))

    async def verdict(self, evidence: Evidence, points: Sequence[str], kept: Sequence[KeptObservation]) -> bool:
        """The verdict from the whole episode, whatever was kept of it."""
        return _Episode(evidence).meets([demanded(point) for point in points])

    async def fact(self, evidence: Evidence, fact: str) -> int | None:
        episode = _Episode(evidence)
        return episode.last + 1 if episode.meets([stated(fact)], others=True) else None

    async def answer(self, question: str, reference: str, said: str) -> bool:
        return says_the_same(said, reference, question)


def why_undecided(demands: Sequence[Demand], said: Sequence[str]) -> str:
    """The reason why no page can show all demands, as they were `said`; empty: the rules have forms for each."""
    for demand, words in zip(demands, said, strict=True):
        if demand.asks:
            return f"an answer is asked for, which no page gives: {words:.100}"
        if not demand.is_understood:
            return f"what is asked has no form that the rules know: {words:.100}"
    return ""


class _Episode:
    """Pages of an episode, and the words on them that the agent could have written itself."""

    def __init__(self, evidence: Evidence) -> None:
        self._pages = [sentences_of(each.text) for each in evidence.observations]
        seen = [bool(each.text.strip() or each.screenshot) for each in evidence.observations]
        self.last = max((place for place, shown in enumerate(seen) if shown), default=-1)
        self._is_picture = self.last >= 0 and bool(evidence.observations[self.last].screenshot)
        self._page = self._pages[self.last] if self.last >= 0 else []
        self._first = frozenset(self._pages[0]) if self._pages and self.last > 0 else frozenset[PageSentence]()
        self._own = OwnWords(evidence.actions, evidence.instruction)
        self._acted = bool(evidence.actions)
        self._deeds = [deeds_of(action) for action in evidence.actions]
        self._unseen = not all(map(is_inert, evidence.actions[max(self.last, 0) :]))
        self._is_state_alone = asks_for_a_state(evidence.instruction)
        asked = [demanded(clause) for clause in clauses_of(evidence.instruction)]
        self._asked = [each for each in asked if each.is_understood]

    def meets(self, demands: Sequence[Demand], *, others: bool = False) -> bool:
        """Whether the last page shows them all. `others`: what else the instruction asks may have been done, too.
        Raises CannotSay for what is neither shown nor contradicted."""
        if not self._acted:
            return False
        shown = [any(each.says(sentence.tokens) for sentence in self._page) for each in demands]
        unshown = [each for each, is_shown in zip(demands, shown, strict=True) if not is_shown]
        if any(each.is_understood and self._is_contradicted(each) for each in unshown):
            if self._unseen:
                raise CannotSay("rules cannot tell: nobody saw what the last action did")
            return False
        if told := next(filter(None, self._doubts(demands, [*demands, *(self._asked if others else ())])), ""):
            raise CannotSay(f"rules cannot tell: {told}")
        return True

    def _is_contradicted(self, demand: Demand) -> bool:
        """Whether the page denies it, shows another value or nothing at all where it should be, or begins an error."""
        for sentence in self._page:
            is_same_list = sentence in self._first and self._page[:1] == self._pages[0][:1]
            if (
                sentence.is_empty_list
                and (is_same_list or ("cart" in sentence.tokens and not self._is_ordered))
                and demand.is_missing_from(sentence.tokens)
            ):
                return True
            if other := demand.other_value(sentence.tokens):  # another word for the value may be new
                return sentence in self._first or self._own.holds(other)
            if demand.denies(sentence.tokens):
                return not self._own.could_hold(sentence)
            if is_error(sentence.tokens) and sentence not in self._first:
                return not self._own.could_hold(sentence)
        return False

    @property
    def _is_ordered(self) -> bool:
        """Whether the page says that an order went out, behind which a cart is empty."""
        said = (set(map(str.casefold, each.tokens)) for each in self._page if each not in self._first)
        return any("order" in words and not words.isdisjoint(_ORDERED) for words in said)

    def _doubts(self, demands: Sequence[Demand], known: Sequence[Demand]) -> list[str]:
        """The first that is not empty tells why the page does not show all of it."""
        if not self._page:
            return ["the last page is a picture" if self._is_picture else "nobody saw what the actions did"]
        doubts = [self._own.could_write_anything, self._own.unasked]
        doubts += [self._doubt(each) for each in demands]
        doubts += [self._unknown_beside(demands, known)]
        if self._pages and any(
            tells_a_change(each.tokens) and not (each in self._first or each.confirms or _is_known(each, known))
            for page in self._pages[1 : self.last]
            for each in page
        ):
            doubts.append("something else was done, too")
        if self._unseen:
            doubts.append("nobody saw what the last action did")
        if any(doubts) or self._is_state_alone:
            return doubts
        acts = EpisodeActs(self._pages, self._deeds, self.last)
        return [acts.doubt(each, known) for each in demands]

    def _doubt(self, demand: Demand) -> str:
        """Empty: the page says it, and not because the agent wrote it."""
        if demand.asks:
            return "an answer is asked for, which no page gives"
        if not demand.is_understood:
            return "what is asked has no form that they know"
        saying = [each for each in self._page if demand.says(each.tokens)]
        if not saying:
            before = any(demand.says(each.tokens) for page in self._pages[: self.last] for each in page)
            if before:
                return "an earlier page showed it, the last one does not"
            speaking = any(demand.speaks_of(each.tokens) for each in self._page)
            return "the page speaks of it in no form that they know" if speaking else "the page says nothing of it"
        if not self._is_state_alone and any(demand.says(each.tokens) for each in self._pages[0]):
            return "it was so at the start"
        if demand.is_named_by_a_denial:
            return "its name may be a denial"
        if demand.is_named_by_words_of_pages and not any(demand.is_quoted_in(each.tokens) for each in saying):
            return "its name may be the page's own word"
        if any(each.is_empty_list and demand.is_missing_from(each.tokens) for each in self._page):
            return "the page says at once that there is nothing"
        if any(demand.is_listed_by(each.tokens) for each in self._page):
            return "the page still lists what should be gone"
        if any(each.asks_to_confirm and each not in self._first for each in self._page):
            return "the page asks for more, and may not have done it yet"
        if all(self._is_own(demand, each) for each in saying):
            return "the agent typed it"
        return ""

    def _is_own(self, demand: Demand, sentence: PageSentence) -> bool:
        """Whether it may be a box with what the agent typed: its letters, or a value that no page confirmed."""
        confirmed = any(
            tells_a_change(each.tokens) and each not in self._first and not self._own.could_hold(each)
            for each in self._page
        )
        if self._is_copied(sentence):
            return True
        if self._own.could_hold(sentence):
            return not (confirmed and demand.is_value and self._is_old_field(sentence))
        values = demand.done if demand.is_value else (demand.thing,)
        typed = any(self._own.holds([min(word.options) for word in value]) for value in values)
        return typed and not tells_a_change(sentence.tokens) and not confirmed

    def _unknown_beside(self, demands: Sequence[Demand], known: Sequence[Demand]) -> str:
        """Text beside the statement that could say something else of it. What was there at the start says nothing new,
        but may name whoever speaks below it: above a statement it has to be understood, unless the statement is a field
        that the page had, with another value."""
        saying = [
            place
            for place, each in enumerate(self._page)
            if any(demand.says(each.tokens) for demand in demands) and not self._is_old_field(each)
        ]
        bound = max(saying, default=-1)
        for place, sentence in enumerate(self._page):
            is_speaker = sentence.heads_a_list and place < bound
            understood = (
                (sentence.is_harmless and not is_speaker) or _is_known(sentence, known) or self._is_box(sentence)
            )
            old = sentence in self._first and place > bound and sentence.text[:1].isalnum()
            against = any(each.denies(sentence.tokens) or each.other_value(sentence.tokens) for each in demands)
            if against or (not understood and not (old and not is_error(sentence.tokens))):
                return "the page says something beside it that they do not understand"
        missing = [each for each in self._first if each not in self._page and not each.is_harmless]
        if any(each.takes_away for each in demands) and self._pages[0] and self._page:
            same_list = self._pages[0][0] in self._page
            if same_list and any(not any(demand.speaks_of(each.tokens) for demand in known) for each in missing):
                return "more is gone than what was to go"
        return ""

    def _is_copied(self, sentence: PageSentence) -> bool:
        """Whether an earlier page had it amid other words, from where it can be brought anywhere."""
        letters = letters_of(sentence.text)
        lines = (letters_of(each.text) for page in self._pages[: self.last] for each in page)
        return any(letters in line and letters != line for line in lines)

    def _is_box(self, sentence: PageSentence) -> bool:
        """Whether it is a box that was empty, with what the agent typed into it."""
        name, _, value = sentence.text.partition(":")
        empty = any(each.is_empty_box and each.text.partition(":")[0] == name for each in self._first)
        return empty and self._own.holds(tokens_of(value))

    def _is_old_field(self, sentence: PageSentence) -> bool:
        """Whether the first page had a field of that name."""
        name, colon, _ = sentence.text.partition(":")
        return bool(colon) and any(each.text.partition(":")[:2] == (name, colon) for each in self._first)


def _is_known(sentence: PageSentence, known: Sequence[Demand]) -> bool:
    return any(each.says(sentence.tokens) or each.names(sentence.tokens) for each in known)
