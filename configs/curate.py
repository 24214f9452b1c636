"""Recorded trajectories become a data set: executed again, reviewed, without near-duplicates, thoughts refined.

Commands:
  ./launch/local.sh curate FOLDER,                     # trajectories, an AgentNet folder, chat messages, a store
  ./launch/local.sh curate FOLDER, --config.reviews=reviews.jsonl --config.reviews_needed=True
  ./launch/local.sh curate FOLDER, --config.thoughts=model --config.helper=https://HOST/v1 --config.model=NAME
  ./launch/local.sh supervised --config.demonstrations.datasets=RUN/curated,

Seconds, and for what is executed again about as long as it took to play. Expected result: RUN/curated with a file for
each trajectory, RUN/report.html with what it holds and what was left out and why, the same in RUN/result.json.
"""

from ml_collections import ConfigDict

from configs import train


def get_config() -> ConfigDict:
    usual = train.get_config()
    return ConfigDict(
        {
            "datasets": (),  # folders of trajectories, and whatever else `demonstrations.datasets` takes
            "output": "",  # a new folder; "" for curated in the run directory
            "execute": "known",  # again, what is of a sandbox that is known here; none: nothing
            "environments": (),  # only what is of these is executed again; () for all
            "reviews": "",  # a file of reviews, JSONL
            "reviews_needed": False,  # True: what two people have not reviewed is left out
            "similar": {
                "asked": 0.8,  # Jaccard similarity of instructions from which on they ask for the same
                "done": 0.9,  # share of calls in common from which on the same was done
            },
            "thoughts": "rule",  # fillers and repetitions go; model: the helper refines them; none: as they were said
            "variants": 0,  # of each instruction in other words, at most
            "helper": "",  # an OpenAI-compatible endpoint, which also says instructions in other words
            "model": "",  # its name there
            "api_key_file": "",  # a file that holds the key alone
            "max_tokens": 400,  # of a model's answer
            "answer_seconds": 60.0,  # for one answer
            "browser": {"size": usual.browser.size, "use_angle": usual.browser.use_angle},  # of what is executed again
            "sandbox": usual.sandbox,
            "seed": 0,
            "run": "",
        }
    )
