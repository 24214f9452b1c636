"""A directory that `transformers` loads from a checkpoint of ours, the tokenizer of an imported one included.

Command:  ./launch/local.sh export_weights --config.checkpoint=RUN/policy --config.output=DIR

Seconds for a nano policy, else as long as it takes to read the checkpoint twice (once to check it) and write the files.
Expected result: the folder DIR with config.json, preprocessor_config.json and model*.safetensors.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.model.config import DTYPES
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, field, one_of


@dataclasses.dataclass(frozen=True)
class ExportWeights(RunFields):
    """The checkpoint to export for `transformers`."""

    checkpoint: str = field(
        "",
        "folder of exported weights that records its model",
        Rule(bool, "a folder of exported weights: --config.checkpoint=RUN/policy"),
    )
    output: str = field("", "new folder of the export; empty: exported in the run directory")
    dtype: str = field(
        "", "dtype of the exported weights: float32 or bfloat16; empty: the checkpoint's", one_of("", *DTYPES)
    )
    shard_megabytes: int = field(4096, "greatest size of one file, in megabytes", at_least(1))


def get_config() -> ConfigDict:
    return section(ExportWeights)
