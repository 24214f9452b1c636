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
    samples: int = field(5000, "six texts each", at_least(1))
    vocabulary: int = field(768, "tokens of all kinds, at most", at_least(1))
    output: str = field("", "empty for tokenizer.json in the run directory")


def get_config() -> ConfigDict:
    return section(TrainTokenizer)
