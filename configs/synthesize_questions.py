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

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "source": "world",  # or foldoc (./launch/websites.sh foldoc), a dump of MediaWiki, a ZIM file
            "names_seed": 3,  # entities have other names by this seed, against memorised answers; -1: their own
            "questions": 1000,
            "chains": 0.85,  # share of multi-hop chains among the tries
            "most_hops": 3,
            "tries": 60,  # for each question, before it gives up
            "limits": {
                "least_matches": 4,  # entities that one condition holds for: fewer would reveal the one
                "most_share": 0.7,  # of all entities of the kind: more tells nothing
            },
            "helper": "embedded",  # or an OpenAI-compatible endpoint: closed-book solver, scorer, and writer
            "model": "",  # its name there
            "api_key_file": "",  # a file that holds the key alone
            "max_tokens": 800,  # of a model's answer
            "answer_seconds": 60.0,  # for one answer
            "solver_tries": 8,  # to answer by heart, each question: one that succeeds turns it down
            "seed": 0,
            "run": "",
        }
    )
