"""Questions over an encyclopedia, played in Chromium by the reference player and by chance.

What chance solves is no measure of a policy.

Command:  ./launch/local.sh play_questions --config.questions=RUN/questions.jsonl

The random player follows links, scrolls, searches and answers with something that stands on the page; answers are told
by the embedded judge, as in training. docs/browsing.md has what to expect.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "questions": "",  # a file of synthesize_questions
            "reference_episodes": 40,  # of the player who knows the proofs; 0: none
            "random_episodes": 200,  # of the player who knows nothing; 0: none
            "max_steps": 40,  # of an episode
            "pages": 4,  # played at the same time
            "seed": 0,
            "run": "",
        }
    )
