"""A store of trajectories, such as a flywheel leaves in RUN/store: what is in it, and whether it is whole; seconds.

Command:  ./launch/local.sh store RUN/store [--config.action=list] [--config.where='cycle>=2 and verdict=1']

Actions: summary; count; list, one line of JSON an episode; sample, `limit` of them drawn by `seed`; export, to output
in a `format`; import, the episodes of `datasets`; judge, a `verdict` of an annotator on those of `where`; check;
repair.
What is exported has as its success the verdict that counts, whoever gave it; episodes of evaluations and of held-out
tasks are left out unless `where` asks for them by purpose or held_out.
Conditions are joined by `and`: fields of the list, set=sft, held_out=0; * in a text is any text.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.data.exporters import STYLES
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field, one_of


@dataclasses.dataclass(frozen=True)
class Store(RunFields):
    store: str = field("", "its folder; import makes one that is not there")
    action: str = field(
        "summary",
        "or count, list, sample, export, import, judge, check, repair",
        one_of("summary", "count", "list", "sample", "export", "import", "judge", "check", "repair"),
    )
    where: str = field("", "which episodes; empty: all")
    limit: int = field(20, "of list and sample", at_least(1))
    format: str = field(
        "jsonl",
        "of export; parquet, array_record (the extra grain), or trajectories, as runs have them",
        one_of("jsonl", "parquet", "array_record", "trajectories"),
    )
    style: str = field("qwen", "of jsonl: pictures as files; openai: as data URLs in the lines", one_of(*STYLES))
    output: str = field("", "of export: a folder; empty for the run directory")
    datasets: tuple[str, ...] = field(
        (), "of import: RUN/trajectories/ppo, .jsonl, .parquet, package.module:attribute; see tars_jax/data/datasets.py"
    )
    verdict: int = field(-1, "of judge: 0 or 1", one_of(-1, 0, 1))
    annotator: str = field("", "of judge: who says it")
    note: str = field("", "of judge")


def get_config() -> ConfigDict:
    return section(Store)
