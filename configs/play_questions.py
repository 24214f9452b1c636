"""Questions over an encyclopedia, played by the reference player and by chance: in Chromium, by calls, or by both.

What chance solves is no measure of a policy.

Commands:
  ./launch/local.sh play_questions --config.questions=RUN/questions.jsonl
  ./launch/local.sh play_questions --config.questions=RUN/questions.jsonl --config.interface=sdk

The random player follows links, scrolls, searches and answers with something that was shown or said; answers are told
by the embedded judge, as in training. docs/browsing.md has what to expect.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.environment import INTERFACES
from tars_jax.pipelines.run_sections import places
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, between, field, one_of


@dataclasses.dataclass(frozen=True)
class PlayQuestions(RunFields):
    """The questions, the interface to the encyclopedia, and the scripted players."""

    questions: str = field(
        "",
        "file of questions from synthesize_questions",
        Rule(bool, "a file of questions, such as RUN/questions.jsonl of synthesize_questions"),
    )
    interface: str = field(
        "gui",
        "interface to the encyclopedia: gui, pages in Chromium; sdk, calls that read them; or both",
        one_of(*INTERFACES),
    )
    reference_episodes: int = field(
        40, "episodes of the reference player, which knows the proofs; 0: none", at_least(0)
    )
    skill: float = field(
        1.0, "share of episodes in which the reference player gives the answer that it has found", between(0, 1)
    )
    random_episodes: int = field(200, "episodes of the random player, which knows nothing; 0: none", at_least(0))
    max_steps: int = field(40, "step budget of an episode", at_least(1))


def get_config() -> ConfigDict:
    return section(PlayQuestions, **places(pages=4, browsers=1))
