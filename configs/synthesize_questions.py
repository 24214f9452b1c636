"""Questions over an encyclopedia, each with a proof that it has one answer, for the environment `browsing`.

Commands (./launch/encyclopedia.sh installs the data, or the extra `browsing`):
  ./launch/local.sh synthesize_questions
  ./launch/local.sh synthesize_questions --config.source=foldoc --config.names_seed=-1 --config.most_hops=0
  ./launch/local.sh synthesize_questions --config.helper=https://HOST/v1 --config.model=NAME --config.api_key_file=FILE
  ./launch/local.sh train --config.environment=browsing \\
      --config.environment_options='{"questions": "RUN/questions.jsonl"}'

To expect of the first (about 4 minutes on two cores, with other work on them): 1,000 questions, all proved again from
their file, of 1,838 tries: 538 are chains (260 of one hop, 205 of two, 73 of three). Turned down: 355 tries had no
chain, 275 were answered by the most frequent values, 95 found by one search, 67 had no unique description, 41 named
their answer, 3 were duplicates, 2 not unique.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "source": "world",  # or foldoc (./launch/websites.sh foldoc), a dump of MediaWiki, a ZIM file
            "names_seed": 3,  # entities have other names by this seed, against memorised answers; -1: their own
            "questions": 1000,
            "chains": 0.6,  # share of multi-hop chains among the tries
            "most_hops": 3,
            "tries": 60,  # for each question, before it gives up
            "limits": {
                "least_matches": 4,  # entities that one condition holds for: fewer would reveal the one
                "most_share": 0.7,  # of all entities of the kind: more tells nothing
            },
            "helper": "embedded",  # or the address of an OpenAI-compatible endpoint: a closed-book solver, and a scorer
            "model": "",  # its name there
            "api_key_file": "",  # a file that holds the key alone
            "max_tokens": 400,  # of a model's answer
            "answer_seconds": 60.0,  # for one answer
            "solver_tries": 8,  # to answer by heart, each question: one that succeeds turns it down
            "seed": 0,
            "run": "",
        }
    )
