"""Episodes of a run as fine-tuning data: chat messages or AgentNet's records as JSONL with images, or Parquet; seconds.

Command:  ./launch/local.sh export_trajectories RUN [--config.format=agentnet] [--config.verdict=solved]

Expected result: messages.jsonl and images/ (or agentnet.jsonl or 000000.atif.json and so on, and images/, or
trajectories.parquet) in the run directory of the export, or in config.output, and one line that says how many episodes
they hold.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.data.exporters import FORMATS, STYLES
from tars_jax.data.recorded import VERDICTS
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import field, one_of


@dataclasses.dataclass(frozen=True)
class ExportTrajectories(RunFields):
    source: str = field("", "a run directory, or a folder of trajectories such as RUN/trajectories/ppo")
    format: str = field(
        "jsonl",
        "parquet: one file, pictures in it (the extra parquet); agentnet: AgentNet's records and images; "
        "atif: ATIF 1.8, a document an episode with what was sampled token by token, and images",
        one_of(*FORMATS),
    )
    style: str = field("qwen", "of jsonl: pictures as files; openai: as data URLs in the lines", one_of(*STYLES))
    verdict: str = field("any", "solved or failed: only such episodes", one_of(*VERDICTS))
    evaluations: bool = field(False, "True: those of evaluations, too, which nothing should learn from")
    output: str = field("", "a folder; empty for the run directory")


def get_config() -> ConfigDict:
    return section(ExportTrajectories)
