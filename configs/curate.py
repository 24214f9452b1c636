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

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import HelperFields
from tars_jax.pipelines.run_sections import OnePageSection, SandboxSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, between, field, one_of


@dataclasses.dataclass(frozen=True)
class Curate(HelperFields, RunFields):
    datasets: tuple[str, ...] = field(
        (),
        "folders of trajectories, and whatever else `demonstrations.datasets` takes",
        Rule(bool, "folders of trajectories or other data sets, each with a comma"),
    )
    output: str = field("", "a new folder; empty for curated in the run directory")
    execute: str = field(
        "known", "again, what is of a sandbox that is known here; none: nothing", one_of("known", "none")
    )
    environments: tuple[str, ...] = field((), "only what is of these is executed again; () for all")
    reviews: str = field("", "a file of reviews, JSONL")
    reviews_needed: bool = field(False, "True: what two people have not reviewed is left out")
    thoughts: str = field(
        "rule",
        "fillers and repetitions go; model: the helper refines them; none: as they were said",
        one_of("rule", "model", "none"),
    )
    variants: int = field(0, "of each instruction in other words, at most", at_least(0))
    helper: str = field(
        "",
        "an OpenAI-compatible endpoint, which also says instructions in other words",
        Rule(lambda name: name == "" or name.startswith(("http://", "https://")), "empty, or an address"),
    )


@dataclasses.dataclass(frozen=True)
class Similar:
    """From which similarity on two are near-duplicates."""

    asked: float = field(
        0.8, "Jaccard similarity of instructions from which on they ask for the same", between(0.01, 1)
    )
    done: float = field(0.9, "share of calls in common from which on the same was done", between(0, 1))


def get_config() -> ConfigDict:
    return section(Curate, similar=section(Similar), browser=section(OnePageSection), sandbox=section(SandboxSection))
