"""A directory that `transformers` loads from a checkpoint of ours, the tokenizer of an imported one included.

Command:  ./launch/local.sh export_weights --config.checkpoint=RUN/policy --config.output=DIR

Seconds for a nano policy, else as long as it takes to read the checkpoint twice (once to check it) and write the files.
Expected result: the folder DIR with config.json, preprocessor_config.json and model*.safetensors.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "checkpoint": "",  # a folder of exported weights that records its model
            "output": "",  # a new directory; "" for exported in the run directory
            "dtype": "",  # float32, bfloat16, or "" for that of the checkpoint
            "shard_megabytes": 4096,  # of one file, at most
            "seed": 0,
            "run": "",
        }
    )
