"""Episodes of a run as fine-tuning data: chat messages or AgentNet's records as JSONL with images, or Parquet; seconds.

Command:  ./launch/local.sh export_trajectories RUN [--config.format=agentnet] [--config.verdict=solved]

Expected result: messages.jsonl and images/ (or agentnet.jsonl or 000000.atif.json and so on, and images/, or
trajectories.parquet) in the run directory of the export, or in config.output, and one line that says how many episodes
they hold.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.data import FORMATS, STYLES, VERDICTS
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, field, one_of


@dataclasses.dataclass(frozen=True)
class ExportTrajectories(RunFields):
    """The episodes to export, and the format."""

    source: str = field(
        "",
        "run directory, or a folder of trajectories such as RUN/trajectories/ppo",
        Rule(bool, "a run directory or a folder of trajectories"),
    )
    format: str = field(
        "jsonl",
        "format of the export: jsonl; parquet, one file with the images (the extra parquet); agentnet, "
        "AgentNet's records and images; atif, one ATIF 1.8 document per episode with the sampled tokens, "
        "and images",
        one_of(*FORMATS),
    )
    style: str = field(
        "qwen", "style of jsonl: qwen, images as files; openai, images as data URLs in the lines", one_of(*STYLES)
    )
    verdict: str = field("any", "verdict of the episodes that are exported: any, solved or failed", one_of(*VERDICTS))
    evaluations: bool = field(False, "whether evaluation episodes are exported, too, from which nothing should learn")
    output: str = field("", "folder of the export; empty: the run directory")


def get_config() -> ConfigDict:
    return section(ExportTrajectories)
