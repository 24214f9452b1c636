"""A store of trajectories, such as a flywheel leaves in RUN/store: what is in it, and whether it is whole; seconds.

Command:  ./launch/local.sh store RUN/store [--config.action=list] [--config.where='cycle>=2 and verdict=1']

Actions: summary; count; list, one line of JSON an episode; sample, `limit` of them drawn by `seed`; export, to output
in a `format`; import, the episodes of `datasets`; judge, a `verdict` of an annotator on those of `where`; check;
repair.
What is exported has as its success the verdict that counts, whoever gave it; episodes of evaluations and of held-out
tasks are left out unless `where` asks for them by purpose or held_out.
Conditions are joined by `and`: fields of the list, set=sft, held_out=0; * in a text is any text.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "store": "",  # its folder; import makes one that is not there
            "action": "summary",  # or count, list, sample, export, import, judge, check, repair
            "where": "",  # which episodes; empty: all
            "limit": 20,  # of list and sample
            "format": "jsonl",  # of export; parquet, array_record (the extra grain), or trajectories, as runs have them
            "style": "qwen",  # of jsonl: pictures as files; openai: as data URLs in the lines
            "output": "",  # of export: a folder; "" for the run directory
            # Of import: RUN/trajectories/ppo, .jsonl, .parquet, package.module:attribute; see tars_jax/data/datasets.py
            "datasets": (),
            "verdict": -1,  # of judge: 0 or 1
            "annotator": "",  # of judge: who says it
            "note": "",  # of judge
            "seed": 0,
            "run": "",
        }
    )
