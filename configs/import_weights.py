"""A checkpoint of ours from open weights: a directory of safetensors and config.json as it is published.

Command:  ./launch/local.sh import_weights --config.source=UI-TARS-1.5-7B --config.output=DIR

Takes Qwen3-VL-MoE, Qwen3-VL and Qwen2.5-VL (UI-TARS-1.5-7B is one), in FP8, too. Takes as long as it takes to read the
files and write the checkpoint, on any machine: memory holds one tensor at a time, and no accelerator is needed.
Expected result: the folder DIR with the tokenizer beside the weights; --config.model.preset=DIR starts an experiment
from it.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "source": "",  # the directory
            "output": "",  # "" for imported in the run directory
            "dtype": "float32",  # of the checkpoint; the learner takes float32
            "seed": 0,
            "run": "",
        }
    )
