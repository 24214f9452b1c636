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

from tars_jax.pipelines.command_fields import address_or
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field


@dataclasses.dataclass(frozen=True)
class SynthesizeWebsites(RunFields):
    sites: str = field("installed", "names of websites, or all that are installed")
    readmit: str = field("", "a file of tasks with solutions: they are checked anew, and nothing is explored")
    reword: str = field("", "a file of tasks that are only said in the words that they would be composed in now")
    play: bool = field(True, "accepted tasks are played in the environment website_app, and stay if that rewards them")
    held_out: str = field("fossil,wagtail", "sites whose tasks are for evaluation alone")
    at_once: int = field(1, "sites that are worked on side by side", at_least(1))
    content_seed: int = field(0, "of what the sites are filled with", at_least(0))
    addresses: str = field("", "a file of addresses, one a line, that are sorted into what can be used and what not")
    may_change: bool = field(False, "tasks are made on kept addresses, too: forms are sent there")
    helper: str = field(
        "embedded",
        "or the address of an OpenAI-compatible endpoint that sees pages and rewords",
        address_or("embedded"),
    )
    model: str = field("", "its name there")
    api_key_file: str = field("", "a file that holds the key alone")
    max_tokens: int = field(600, "of a model's answer", at_least(1))
    answer_s: float = field(60.0, "that a model has for it, seconds", at_least(1))
    tasks: int = field(40, "of a site, at most", at_least(1))
    each: int = field(6, "candidates of a function", at_least(1))
    merged: int = field(10, "of the tasks, those with something to be made first, at most", at_least(0))
    rows: int = field(10, "those that are two in a row, at most", at_least(0))
    questions: int = field(6, "those that end with an answer, at most", at_least(0))
    site_s: float = field(
        0.0, "seconds after which no further candidate of a site is tried; 0: as long as it takes", at_least(0)
    )
    page_s: float = field(10.0, "for one call on a page, seconds", at_least(1))


@dataclasses.dataclass(frozen=True)
class Exploration:
    """How a site is looked at."""

    pages: int = field(30, "that are opened by links", at_least(1))
    alike: int = field(3, "whose addresses differ in numbers alone", at_least(1))
    depth: int = field(4, "links from the first page", at_least(1))
    presses: int = field(12, "of buttons that belong to no form", at_least(0))


@dataclasses.dataclass(frozen=True)
class Random:
    """Random play, whose end no check may pass."""

    episodes: int = field(2, "of random play, whose end no check may pass", at_least(0))
    actions: int = field(15, "in each", at_least(1))


def get_config() -> ConfigDict:
    return section(SynthesizeWebsites, exploration=section(Exploration), random=section(Random))
