"""Draws questions until there are enough, and counts what became of each try."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Sequence
from typing import Protocol

from tars_jax import GaveUp
from tars_jax.data.config import QuestionSynthesisConfig
from tars_jax.data.question_synthesis.chains import Chain, walk
from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.data.question_synthesis.filters import (
    KNOWN,
    UNTOLD,
    ClosedBookSolver,
    Filters,
    is_known,
    proof_filters,
    text_filters,
)
from tars_jax.data.question_synthesis.obfuscation import Reveals, describe
from tars_jax.data.question_synthesis.proof import proof_of
from tars_jax.data.question_synthesis.spoken_answers import is_untold
from tars_jax.data.question_synthesis.wording import fact_question, join, name_question, question_words
from tars_jax.judges import JudgeFailure, UnreadableVerdict
from tars_jax.tasks.browsing.article import Article, Fact, plain
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import BrowsingQuestion

UNREADABLE = "a model's answer cannot be read"
_LONGEST_LIST = 4  # names that an answer may have
_JOINT = re.compile(r"[,;&]|\band\b")


class QuestionWriter(Protocol):
    """Says a question in other words, or leaves it as it is. `checks`: what the words must pass. May raise
    JudgeFailure."""

    def reworded(self, question: BrowsingQuestion, checks: Filters) -> BrowsingQuestion: ...


@dataclasses.dataclass(frozen=True)
class Synthesized:
    questions: tuple[BrowsingQuestion, ...]
    rejected: dict[str, int]  # tries by reason
    dropped: dict[str, int]  # conditions by reason
    tries: int


def synthesize(
    encyclopedia: Encyclopedia, source: str, names_seed: int | None, solver: ClosedBookSolver,
    config: QuestionSynthesisConfig, seed: int, told: Callable[[int, int], None] = lambda made, tries: None,
    reveals: Reveals = lambda kind, words: False, writer: QuestionWriter | None = None,
) -> Synthesized:  # fmt: skip
    """Draws questions; the same arguments give the same. `told` hears of questions and tries; templates say what no
    `writer` does.

    Raises GaveUp where too few tries become questions, and where a model that is to be asked is away. Of a try at which
    it gives no readable answer nothing becomes.
    """
    rng = random.Random(f"questions {seed}")
    statistics = Statistics(encyclopedia)
    by_proof, by_text = proof_filters(statistics), text_filters(encyclopedia)
    reasons = ("no chain from there", "no unique description", *by_proof, *by_text, KNOWN, UNTOLD)
    rejected = dict.fromkeys(reasons, 0)
    dropped: dict[str, int] = {}
    kinds = sorted({each.kind for each in encyclopedia.articles.values() if len(each.facts) > 1})
    made: list[BrowsingQuestion] = []

    def tried() -> BrowsingQuestion | str:
        """A question, or why there is none."""
        start = rng.choice(statistics.of_kind(rng.choice(kinds))).title
        is_chain = config.most_hops > 0 and rng.random() < config.chains
        walked = walk(start, rng.randint(1, config.most_hops) if is_chain else 0, rng, statistics)
        if walked is None:
            return "no chain from there"
        titles, hops = walked
        chain = describe(titles, hops, rng, statistics, config.limits, dropped, reveals)
        if chain is None:
            return "no unique description"
        question = _question(chain, titles, rng, statistics, f"{source}-{seed}-{len(made)}", source, names_seed)
        for name, wrong in (by_proof | by_text).items():
            if wrong(question):
                return name
        if writer is not None:
            question = writer.reworded(question, by_text)
        if is_known(question, solver):
            return KNOWN
        return UNTOLD if is_untold(question, encyclopedia) else question

    tries = 0
    while len(made) < config.questions:
        tries += 1
        if tries > config.tries * config.questions:
            raise GaveUp(f"{config.questions} questions were asked for; {len(made)} came of {tries - 1} tries.")
        try:
            found = tried()
        except UnreadableVerdict:
            found = UNREADABLE
        except JudgeFailure as failure:
            raise GaveUp(f"The model that is asked about questions has not answered: {failure}.") from failure
        if isinstance(found, str):
            rejected[found] = rejected.get(found, 0) + 1
        else:
            made.append(found)
            told(len(made), tries)
    return Synthesized(tuple(made), rejected, dropped, tries)


def _question(
    chain: Chain, titles: Sequence[str], rng: random.Random, statistics: Statistics, id: str, source: str,
    names_seed: int | None,
) -> BrowsingQuestion:  # fmt: skip
    articles = [statistics.encyclopedia.articles[title] for title in titles]
    told = {each.name for each in chain.told[-1]} | {hop.by for hop in chain.hops[-1:]}
    words, form, name, answers = _asked(articles[-1], told, frozenset(titles), rng)
    asked = {"kind": articles[-1].kind, "name": name, "words": words, "form": form}
    text = question_words(
        [each.kind for each in articles], [[each.words for each in conditions] for conditions in chain.told],
        [(hop.relation, hop.by, hop.largest) for hop in chain.hops],
        {each.value for each in chain.conditions if each.of}, words, form, rng,
    )  # fmt: skip
    proof = proof_of(chain, titles, asked, statistics)
    kind = "chain" if chain.hops else "conditions"
    return BrowsingQuestion(id, text, answers, source, names_seed, kind, tuple(titles), proof)


def _asked(
    article: Article, told: set[str], titles: frozenset[str], rng: random.Random
) -> tuple[str, str, str, tuple[str, ...]]:  # fmt: skip
    """The question, the form of its answer, what it asks of the last entity, and the answers: its name, or a fact that
    the question does not speak of and that names no entity of the chain; of several values where they are names."""
    values: dict[str, list[Fact]] = {}
    for fact in article.infobox:
        values.setdefault(fact.name, []).append(fact)
    free = [
        facts
        for name, facts in values.items()
        if name not in told and titles.isdisjoint(str(each.value) for each in facts) and _is_list(facts)
    ]
    if not free or rng.random() < 0.5:
        question, form = name_question(article.kind, rng)
        return question, form, "name", (article.title, *article.aliases)
    facts = rng.choice(free)
    question, form = fact_question(facts[0], len(facts) > 1, rng)
    return question, form, facts[0].name, (join([plain(each.shown) for each in facts]),)


def _is_list(facts: Sequence[Fact]) -> bool:
    """One value, or a few names between which no comma and no "and" is part of one of them."""
    if len(facts) == 1:
        return True
    names = [str(each.value) for each in facts]
    return facts[0].kind == "entity" and len(facts) <= _LONGEST_LIST and not any(_JOINT.search(each) for each in names)
