"""A checkpoint of ours from open weights: a directory of safetensors and config.json as it is published.

Command:  ./launch/local.sh import_weights --config.source=UI-TARS-1.5-7B --config.output=DIR

Takes Qwen3-VL-MoE, Qwen3-VL and Qwen2.5-VL (UI-TARS-1.5-7B is one), in FP8, too. Takes as long as it takes to read the
files and write the checkpoint, on any machine: memory holds one tensor at a time, and no accelerator is needed.
Expected result: the folder DIR with the tokenizer beside the weights; --config.model.preset=DIR starts an experiment
from it.
"""

import dataclasses
from pathlib import Path

from ml_collections import ConfigDict

from tars_jax.model.config import DTYPES
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, field, one_of


@dataclasses.dataclass(frozen=True)
class ImportWeights(RunFields):
    """The open weights to import."""

    source: str = field(
        "",
        "folder of the open weights",
        Rule(
            lambda source: bool(source) and Path(source).is_dir(),
            "a folder of this machine with config.json and safetensors, such as "
            "`hf download Qwen/Qwen3-VL-2B-Instruct --local-dir FOLDER` leaves",
        ),
    )
    output: str = field("", "folder of the imported checkpoint; empty: imported in the run directory")
    dtype: str = field("float32", "dtype of the checkpoint; the learner needs float32", one_of(*DTYPES))


def get_config() -> ConfigDict:
    return section(ImportWeights)
