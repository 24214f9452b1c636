"""Recorded trajectories become a data set: executed again, reviewed, without near-duplicates, thoughts refined.

Commands:
  ./launch/local.sh curate FOLDER,                     # trajectories, an AgentNet folder, chat messages, a store
  ./launch/local.sh curate FOLDER, --config.reviews=reviews.jsonl --config.reviews_needed=True
  ./launch/local.sh curate FOLDER, --config.thoughts=model --config.helper=https://HOST/v1 --config.model=NAME
  ./launch/local.sh supervised --config.demonstrations.datasets=RUN/curated,

Seconds, and for what is executed again about as long as it took to play. Expected result: RUN/curated with a file for
each trajectory, RUN/report.html with what it holds and what was left out and why, the same in RUN/result.json.
"""

import dataclasses
from typing import ClassVar

from ml_collections import ConfigDict

from tars_jax.annotation.curation.config import CurationConfig, Similarity
from tars_jax.pipelines.command_fields import NEW_FOLDER, HelperFields, address_or, is_new_folder
from tars_jax.pipelines.run_sections import OnePageSection, SandboxSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, Together, field, field_of, one_of


@dataclasses.dataclass(frozen=True)
class Curate(HelperFields, RunFields):
    """The trajectories to curate, and the filters that are applied."""

    TOGETHER: ClassVar[tuple[Together, ...]] = (
        Together(
            "helper", lambda config: config["thoughts"] != "model" or bool(config["helper"]),
            "the address of a model with config.thoughts=model",
        ),
    )  # fmt: skip

    datasets: tuple[str, ...] = field(
        (),
        "folders of trajectories, or other data sets that `demonstrations.datasets` takes",
        Rule(bool, "folders of trajectories or other data sets, each with a comma"),
    )
    output: str = field(
        "",
        "new folder of the curated data set; empty: curated in the run directory",
        Rule(lambda folder: not folder or is_new_folder(folder), NEW_FOLDER.allowed),
    )
    execute: str = field(
        "known",
        "trajectories that are executed again: known, those of sandboxes known here; or none",
        one_of("known", "none"),
    )
    environments: tuple[str, ...] = field((), "environments whose trajectories are executed again; (): all")
    reviews: str = field("", "file of reviews, JSONL")
    reviews_needed: bool = field_of(CurationConfig, "reviews_needed")
    thoughts: str = field(
        "rule",
        "how thoughts are cleaned: rule, fillers and repetitions are removed; model, the helper refines them; none",
        one_of("rule", "model", "none"),
    )
    variants: int = field_of(CurationConfig, "variants")
    helper: str = field(
        "",
        "address of an OpenAI-compatible endpoint that rephrases instructions and refines thoughts",
        address_or(""),
    )


def get_config() -> ConfigDict:
    return section(
        Curate, similar=section(Similarity), browser=section(OnePageSection), sandbox=section(SandboxSection)
    )
