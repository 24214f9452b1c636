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
from typing import ClassVar

from ml_collections import ConfigDict

from configs.export_trajectories import ExportTrajectories
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, Together, at_least, field, field_of, one_of


@dataclasses.dataclass(frozen=True)
class Store(RunFields):
    """The trajectory store, and what to do with it."""

    TOGETHER: ClassVar[tuple[Together, ...]] = (
        Together(
            "datasets",
            lambda config: config["action"] != "import" or bool(config["datasets"]),
            "data sets, each with a comma, with config.action=import",
        ),
        Together(
            "verdict", lambda config: config["action"] != "judge" or config["verdict"] >= 0,
            "0 or 1 with config.action=judge",
        ),
        Together(
            "annotator", lambda config: config["action"] != "judge" or bool(config["annotator"]),
            "a name with config.action=judge",
        ),
    )  # fmt: skip

    store: str = field(
        "",
        "folder of the store; import creates a missing one",
        Rule(bool, "the folder of a store, such as RUN/store of a flywheel"),
    )
    action: str = field(
        "summary",
        "what to do with the store",
        one_of("summary", "count", "list", "sample", "export", "import", "judge", "check", "repair"),
    )
    where: str = field("", "condition that selects episodes; empty: all")
    limit: int = field(20, "most episodes that list and sample show", at_least(1))
    format: str = field(
        "jsonl",
        "format of export: jsonl, parquet, array_record (the extra grain), or trajectories, as runs have them",
        one_of("jsonl", "parquet", "array_record", "trajectories"),
    )
    style: str = field_of(ExportTrajectories, "style")
    output: str = field("", "folder of export; empty: the run directory")
    datasets: tuple[str, ...] = field(
        (),
        "data sets to import: RUN/trajectories/ppo, .jsonl, .parquet, package.module:attribute; see "
        "tars_jax/data/datasets.py",
    )
    verdict: int = field(-1, "verdict that judge records, 0 or 1; -1: none", one_of(-1, 0, 1))
    annotator: str = field("", "annotator that judge records")
    note: str = field("", "note that judge records")


def get_config() -> ConfigDict:
    return section(Store)
