"""New tasks on real websites, each with a check of the site's state and a recorded solution that passes it.

Commands:
  ./launch/websites.sh --all                     # installs the applications, once
  ./launch/local.sh synthesize_websites
  ./launch/local.sh synthesize_websites --config.sites=fossil,trac --config.tasks=12
  ./launch/local.sh synthesize_websites --config.readmit=tars_jax/tasks/websites/synthesized.jsonl   # tasks made anew
  ./launch/local.sh synthesize_websites --config.reword=tars_jax/tasks/websites/synthesized.jsonl    # in today's words
  ./launch/local.sh synthesize_websites --config.helper=https://somewhere/v1 --config.model=NAME
  ./launch/local.sh synthesize_websites --config.sites= --config.addresses=ADDRESSES.txt     # sorts a list of addresses

It leaves tasks.jsonl, report.html and table.md in the run's folder; docs/websites.md has what came out here.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.data.config import ExplorationConfig, WebsiteSynthesisConfig
from tars_jax.pipelines.command_fields import HelperFields, address_or
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field, field_of


@dataclasses.dataclass(frozen=True)
class SynthesizeWebsites(RunFields):
    """The websites, and the tasks that are synthesized on them."""

    sites: str = field("installed", "names of the websites; or installed: all that are installed")
    readmit: str = field("", "file of tasks with solutions that are checked anew, without exploration")
    reword: str = field("", "file of tasks that are only reworded as they would be composed now")
    play: bool = field(
        True,
        "whether accepted tasks are played in the environment website_app, and kept only if it rewards their solution",
    )
    held_out: str = field("fossil,wagtail", "websites whose tasks are only for evaluation")
    at_once: int = field(1, "websites that are worked on at the same time", at_least(1))
    content_seed: int = field(0, "random seed of the websites' content", at_least(0))
    addresses: str = field("", "file of addresses, one a line, that are sorted into usable ones and others")
    may_change: bool = field(False, "whether tasks are also made on the usable addresses, where forms are then sent")
    helper: str = field(
        "embedded",
        "model that sees pages and rewords tasks: embedded, or the address of an OpenAI-compatible endpoint",
        address_or("embedded"),
    )
    model: str = field_of(HelperFields, "model")
    api_key_file: str = field_of(HelperFields, "api_key_file")
    max_tokens: int = field_of(HelperFields, "max_tokens", default=600)
    answer_s: float = field(60.0, "time limit of one answer of the model, in seconds", at_least(1))
    tasks: int = field_of(WebsiteSynthesisConfig, "tasks")
    each: int = field_of(WebsiteSynthesisConfig, "each")
    merged: int = field_of(WebsiteSynthesisConfig, "merged")
    rows: int = field_of(WebsiteSynthesisConfig, "rows")
    questions: int = field_of(WebsiteSynthesisConfig, "questions")
    site_s: float = field(
        0.0, "seconds after which no further candidate of a website is tried; 0: no limit", at_least(0)
    )
    page_s: float = field(10.0, "time limit of one call on a page, in seconds", at_least(1))


@dataclasses.dataclass(frozen=True)
class Random:
    """Random play, whose end no check may pass."""

    episodes: int = field_of(WebsiteSynthesisConfig, "random_episodes", default=2)
    actions: int = field_of(WebsiteSynthesisConfig, "random_actions", default=15)


def get_config() -> ConfigDict:
    return section(SynthesizeWebsites, exploration=section(ExplorationConfig), random=section(Random))
