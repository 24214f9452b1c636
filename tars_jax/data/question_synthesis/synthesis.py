"""Draws questions until there are enough, and counts what became of each try."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence

from tars_jax import GaveUp
from tars_jax.data.question_synthesis.chains import Hop, merged, walk
from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.data.question_synthesis.filters import ClosedBookSolver, filters
from tars_jax.data.question_synthesis.obfuscation import Described, Limits, Reveals, describe, proof_of
from tars_jax.data.question_synthesis.wording import fact_question, name_question
from tars_jax.judges import JudgeFailure, UnreadableVerdict
from tars_jax.tasks.browsing.article import Article, plain
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import Question

UNREADABLE = "a model's answer cannot be read"


@dataclasses.dataclass(frozen=True)
class SynthesisConfig:
    questions: int
    most_hops: int = 3  # of a chain; 0: none of the questions is one
    chains: float = 0.5  # share of chains among the tries
    tries: int = 60  # for each question wanted, before it gives up
    limits: Limits = dataclasses.field(default_factory=Limits)


@dataclasses.dataclass(frozen=True)
class Synthesized:
    questions: tuple[Question, ...]
    rejected: dict[str, int]  # tries by reason
    dropped: dict[str, int]  # conditions by reason
    tries: int


def synthesize(
    encyclopedia: Encyclopedia, source: str, names_seed: int | None, solver: ClosedBookSolver,
    config: SynthesisConfig, seed: int, told: Callable[[int, int], None] = lambda made, tries: None,
    reveals: Reveals = lambda kind, words: False,
) -> Synthesized:  # fmt: skip
    """The same arguments give the same questions. `told` hears of questions and tries.

    Raises GaveUp where too few tries become questions, and where a model that is to be asked is away. Of a try at which
    it gives no readable answer nothing becomes.
    """
    rng = random.Random(f"questions {seed}")
    statistics = Statistics(encyclopedia)
    turns_down = filters(encyclopedia, statistics, solver)
    rejected = {"no unique description": 0, "no chain from there": 0, **{name: 0 for name in turns_down}}
    dropped: dict[str, int] = {}
    kinds = sorted({each.kind for each in encyclopedia.articles.values() if len(each.facts) > 1})
    made: list[Question] = []
    tries = 0
    while len(made) < config.questions:
        tries += 1
        if tries > config.tries * config.questions:
            raise GaveUp(f"{config.questions} questions were asked for; {len(made)} came of {tries - 1} tries.")
        article = rng.choice(statistics.of_kind(rng.choice(kinds)))
        try:
            described = describe(article, rng, statistics, config.limits, dropped, reveals)
        except JudgeFailure as failure:
            rejected[UNREADABLE] = rejected.get(UNREADABLE, 0) + _unreadable(failure)
            continue
        if described is None:
            rejected["no unique description"] += 1
            continue
        hops: list[Hop] | None = []
        if config.most_hops and rng.random() < config.chains:
            hops = walk(article, rng.randint(1, config.most_hops), rng, statistics)
        if hops is None:
            rejected["no chain from there"] += 1
            continue
        question = _question(described, hops, rng, statistics, f"{source}-{seed}-{len(made)}", source, names_seed)
        try:
            reason = next((name for name, wrong in turns_down.items() if wrong(question)), None)
        except JudgeFailure as failure:
            rejected[UNREADABLE] = rejected.get(UNREADABLE, 0) + _unreadable(failure)
            continue
        if reason:
            rejected[reason] += 1
        else:
            made.append(question)
            told(len(made), tries)
    return Synthesized(tuple(made), rejected, dropped, tries)


def _unreadable(failure: JudgeFailure) -> int:
    """One try, of a model that answers at all. Raises GaveUp for another."""
    if isinstance(failure, UnreadableVerdict):
        return 1
    raise GaveUp(f"The model that is asked about questions has not answered: {failure}.") from failure


def _question(
    described: Described, hops: Sequence[Hop], rng: random.Random, statistics: Statistics, id: str, source: str,
    names_seed: int | None,
) -> Question:  # fmt: skip
    last = statistics.encyclopedia.articles[hops[-1].to] if hops else described.article
    phrase = merged(described.words, list(hops))
    told = {each.name for each in described.conditions} if not hops else {hops[-1].by}
    asked, text, answers = _asked(last, phrase, told, rng)
    plan = tuple(dict.fromkeys((described.article.title, *(hop.to for hop in hops))))
    proof = proof_of(described, statistics) | {"hops": [hop.to_json() for hop in hops], "asked": asked}
    return Question(id, text, answers, source, names_seed, "chain" if hops else "conditions", plan, proof)


def _asked(
    article: Article, phrase: str, told: set[str], rng: random.Random
) -> tuple[dict[str, str], str, tuple[str, ...]]:  # fmt: skip
    """What is asked of the last entity: its name, or a fact of one value that the question does not speak of."""
    names = [fact.name for fact in article.infobox]
    facts = [fact for fact in article.infobox if names.count(fact.name) == 1 and fact.name not in told]
    if not facts or rng.random() < 0.5:
        answers = (article.title, *article.aliases)
        return {"kind": article.kind, "name": "name"}, name_question(phrase, rng), answers
    fact = rng.choice(facts)
    return {"kind": article.kind, "name": fact.name}, fact_question(fact, phrase, rng), (plain(fact.shown),)
