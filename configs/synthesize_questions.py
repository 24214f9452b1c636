"""Questions over an encyclopedia, each with a proof that it has one answer, for the environment `browsing`.

Commands (./launch/encyclopedia.sh installs the data, or the extra `browsing`):
  ./launch/local.sh synthesize_questions
  ./launch/local.sh synthesize_questions --config.source=foldoc --config.names_seed=-1 --config.most_hops=0
  ./launch/local.sh synthesize_questions --config.helper=https://HOST/v1 --config.model=NAME --config.api_key_file=FILE
  ./launch/local.sh train --config.environment=browsing \\
      --config.environment_options='{"questions": "RUN/questions.jsonl"}'

To expect: all questions proved again from their file, and what each filter rejects, as in docs/browsing.md; of the
world 1,000 questions in 5,294 tries, 14 minutes, with one page that leaks. With a model as helper
RUN/result.json says under `wording` how many questions it worded, and why the templates' words stayed for the others.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import HelperFields, address_or
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, between, field


@dataclasses.dataclass(frozen=True)
class SynthesizeQuestions(HelperFields, RunFields):
    questions: int = field(1000, "how many", at_least(1))
    source: str = field("world", "or foldoc (./launch/websites.sh foldoc), a dump of MediaWiki, a ZIM file")
    names_seed: int = field(
        3, "entities have other names by this seed, against memorised answers; -1: their own", at_least(-1)
    )
    chains: float = field(0.85, "share of multi-hop chains among the tries", between(0, 1))
    most_hops: int = field(3, "of a chain", at_least(0))
    tries: int = field(60, "for each question, before it gives up", at_least(1))
    helper: str = field(
        "embedded", "or an OpenAI-compatible endpoint: closed-book solver, scorer, and writer", address_or("embedded")
    )
    solver_tries: int = field(8, "to answer by heart, each question: one that succeeds turns it down", at_least(1))


@dataclasses.dataclass(frozen=True)
class Limits:
    """Of what conditions are made of."""

    least_matches: int = field(4, "entities that one condition holds for: fewer would reveal the one", at_least(2))
    most_share: float = field(0.7, "of all entities of the kind: more tells nothing", between(0, 1))


def get_config() -> ConfigDict:
    return section(SynthesizeQuestions, max_tokens=800, limits=section(Limits))
