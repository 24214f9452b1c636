"""Questions over an encyclopedia with proofs: RUN/questions.jsonl, and what each filter rejects in RUN/result.json."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

from configs.synthesize_questions import OWN_NAMES, REAL_NAMES, WORLD
from tars_jax.data.config import ObfuscationLimits, QuestionSynthesisConfig
from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.data.question_synthesis.endpoint import REVEALING, EndpointDistinctiveness, EndpointSolver
from tars_jax.data.question_synthesis.filters import ClosedBookSolver, EitherSolver, FrequentAnswers
from tars_jax.data.question_synthesis.obfuscation import Reveals
from tars_jax.data.question_synthesis.proof import is_proved
from tars_jax.data.question_synthesis.rewriting import EndpointRewriter
from tars_jax.data.question_synthesis.synthesis import synthesize
from tars_jax.files import write_atomic
from tars_jax.judges.endpoint import EndpointModel
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.serving import read_key
from tars_jax.tasks.browsing.catalog import load_encyclopedia
from tars_jax.tasks.browsing.leaks import find_leaks
from tars_jax.training.progress import QUIET, Progress
from tars_jax.training.run_directory import RunDirectory, write_json


def run(config: Any, run_directory: RunDirectory) -> None:
    read_key(config.api_key_file)  # one that cannot be read is said before anything is opened
    seed = (OWN_NAMES if config.source == WORLD else REAL_NAMES) if config.names_seed is None else config.names_seed
    names_seed = None if seed == REAL_NAMES else seed
    with naming("config.source", "encyclopedia"):
        encyclopedia = load_encyclopedia(config.source, names_seed)
    # Everybody has heard of the world's; of other sources the most linked, which the solver knows of itself.
    known = frozenset(encyclopedia.articles) if names_seed is None and config.source == WORLD else frozenset()
    began, progress = time.monotonic(), Progress("synthesize", config.questions, "questions")

    def told(made: int, tries: int) -> None:
        progress.update(made, tries=tries)

    wanted = from_section(QuestionSynthesisConfig, config, limits=ObfuscationLimits(**config.limits))
    statistics = Statistics(encyclopedia)
    solver, reveals, writer = helpers(config, FrequentAnswers(encyclopedia, known, config.solver_tries), statistics)
    made = synthesize(encyclopedia, config.source, names_seed, solver, wanted, config.seed, told, reveals, writer)
    seconds = time.monotonic() - began
    # Everything once more from the source, by what was written down alone.
    statistics = Statistics(encyclopedia)
    again = Progress("prove again", len(made.questions), "questions", quiet=QUIET).each(made.questions)
    proved = sum(is_proved(json.loads(json.dumps(each.proof)), statistics) for each in again)
    lines = (json.dumps(each.to_json(), ensure_ascii=False, sort_keys=True) + "\n" for each in made.questions)
    write_atomic(run_directory.path / "questions.jsonl", "".join(lines).encode())
    hops = Counter(len(each.proof["hops"]) for each in made.questions)
    result = {
        "questions": len(made.questions), "proved": proved, "tries": made.tries, "seconds": round(seconds, 1),
        "rejected": made.rejected, "conditions_dropped": made.dropped,
        "by_hops": {str(count): hops[count] for count in sorted(hops)},
        "articles": len(encyclopedia.articles), "seed": config.seed,
    }  # fmt: skip
    if writer is not None:
        result["wording"] = writer.counts
    if names_seed is not None:
        told_by = find_leaks(
            list(load_encyclopedia(config.source).articles.values()), list(encyclopedia.articles.values())
        )
        result["articles_that_leak"] = len(told_by)
    write_json(run_directory.path / "result.json", result)
    print(f"\n{'tries':>9} {made.tries:6d}")
    for reason, count in made.rejected.items():
        print(f"{count:9d} {100 * count / made.tries:5.1f}% {reason}")
    print(f"{len(made.questions)} questions, {proved} proved again, in {seconds:.0f} s: {run_directory.path}")
    print(json.dumps(result))


def helpers(
    config: Any, embedded: ClosedBookSolver, statistics: Statistics
) -> tuple[ClosedBookSolver, Reveals, EndpointRewriter | None]:
    """Who tries to answer by heart, who says which conditions reveal an entity (statistics have the first word), and
    who words the questions, where that is a model."""
    if config.helper == "embedded":
        return embedded, lambda kind, words: False, None
    model = EndpointModel(
        config.helper, config.model, config.api_key_file, patience=config.answer_seconds, max_tokens=config.max_tokens
    )
    asked, scored = EndpointSolver(model, config.solver_tries), EndpointDistinctiveness(model)
    return (
        EitherSolver((embedded, asked)),
        lambda kind, words: scored.score(kind, words) >= REVEALING,
        EndpointRewriter(model, statistics),
    )
