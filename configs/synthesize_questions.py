"""Questions over an encyclopedia, each with a proof that it has one answer, for the environment `browsing`.

Commands (./launch/encyclopedia.sh installs the data, or the extra `browsing`):
  ./launch/local.sh synthesize_questions
  ./launch/local.sh synthesize_questions --config.source=foldoc --config.most_hops=0
  ./launch/local.sh synthesize_questions --config.helper=https://HOST/v1 --config.model=NAME --config.api_key_file=FILE
  ./launch/local.sh train --config.environment=browsing \\
      --config.environment_options='{"questions": "RUN/questions.jsonl"}'

To expect: all questions proved again from their file, and what each filter rejects, as in docs/browsing.md; of the
world 1,000 questions in 5,294 tries, 14 minutes, with one page that leaks. With a model as helper
RUN/result.json says under `wording` how many questions it worded, and why the templates' words stayed for the others.
"""

import dataclasses
from typing import ClassVar

from ml_collections import ConfigDict

from tars_jax.data.config import ObfuscationLimits, QuestionSynthesisConfig
from tars_jax.pipelines.command_fields import HelperFields, address_or
from tars_jax.pipelines.schema import OPEN, RunFields, section
from tars_jax.rules import Together, at_least, field, field_of

WORLD = "world"  # the one source whose entities can have other names
OWN_NAMES, REAL_NAMES = 3, -1  # of names_seed: what it is for the world, and for every other source


@dataclasses.dataclass(frozen=True)
class SynthesizeQuestions(HelperFields, RunFields):
    """The questions to synthesize, and the encyclopedia that they are about."""

    TOGETHER: ClassVar[tuple[Together, ...]] = (
        Together(
            "names_seed",
            lambda config: config["source"] == WORLD or config["names_seed"] in (None, REAL_NAMES),
            "auto, or -1 for real names, where config.source is not world",
        ),
    )

    questions: int = field_of(QuestionSynthesisConfig, "questions", default=1000)
    source: str = field(
        "world", "encyclopedia: world, foldoc (./launch/websites.sh foldoc), a dump of MediaWiki or a ZIM file"
    )
    names_seed: int = field(
        OWN_NAMES,
        "random seed of the new names of the world's entities, which keep answers from being memorized; -1: real "
        "names, the only ones of other sources; auto: 3 for the world, else -1",
        at_least(-1),
    )
    chains: float = field_of(QuestionSynthesisConfig, "chains", default=0.85)
    most_hops: int = field_of(QuestionSynthesisConfig, "most_hops")
    tries: int = field_of(QuestionSynthesisConfig, "tries")
    helper: str = field(
        "embedded",
        "model that solves closed-book, scores and rewrites: embedded, or an OpenAI-compatible endpoint",
        address_or("embedded"),
    )
    solver_tries: int = field(
        8, "closed-book tries to answer each question, any success of which rejects the question", at_least(1)
    )


def get_config() -> ConfigDict:
    return section(SynthesizeQuestions, max_tokens=800, names_seed=OPEN, limits=section(ObfuscationLimits))
