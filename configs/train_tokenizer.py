"""A tokenizer of the agent's own language, a few seconds on a CPU.

Command:  ./launch/local.sh train_tokenizer

Expected result: tokenizer.json in the run directory, 768 tokens, byte for byte the committed
tars_jax/model/tokenizer.json. Every checkpoint depends on its ids.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "samples": 5000,  # six texts each
            "vocabulary": 768,  # tokens of all kinds, at most
            "output": "",  # "" for tokenizer.json in the run directory
            "seed": 0,
            "run": "",
        }
    )
