"""A tokenizer of the agent's own language, a few seconds on a CPU.

Command:  ./launch/local.sh train_tokenizer

Expected result: tokenizer.json in the run directory, 768 tokens, byte for byte the committed
tars_jax/model/tokenizer.json. Every checkpoint depends on its ids.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field


@dataclasses.dataclass(frozen=True)
class TrainTokenizer(RunFields):
    """The sample texts, and the size of the vocabulary."""

    samples: int = field(5000, "samples of six texts each", at_least(1))
    vocabulary: int = field(768, "most tokens of the vocabulary", at_least(1))
    output: str = field("", "file of the tokenizer; empty: tokenizer.json in the run directory")


def get_config() -> ConfigDict:
    return section(TrainTokenizer)
