"""Questions over an encyclopedia, played by the reference player and by chance: in Chromium, by calls, or by both.

What chance solves is no measure of a policy.

Commands:
  ./launch/local.sh play_questions --config.questions=RUN/questions.jsonl
  ./launch/local.sh play_questions --config.questions=RUN/questions.jsonl --config.interface=sdk

The random player follows links, scrolls, searches and answers with something that was shown or said; answers are told
by the embedded judge, as in training. docs/browsing.md has what to expect.
"""

from ml_collections import ConfigDict

from configs import quickstart


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "questions": "",  # a file of synthesize_questions
            "interface": "gui",  # pages in Chromium; sdk: calls that read them; both
            "reference_episodes": 40,  # of the player who knows the proofs; 0: none
            "skill": 1.0,  # of that player: the share of episodes in which it says the answer that it has found
            "random_episodes": 200,  # of the player who knows nothing; 0: none
            "max_steps": 40,  # of an episode
            **quickstart.places(pages=4),
            "seed": 0,
            "run": "",
        }
    )
