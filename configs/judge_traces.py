"""300 traces of several domains with their hidden truth, to measure judges by: the same ones for the same seed.

Command:  ./launch/local.sh judge_traces --config.run=RUN
Then:     ./launch/local.sh judge_agreement --config.labels=traces --config.source=RUN --config.judge=webjudge

About four minutes beside other work. Expected result: RUN/traces/DOMAIN, and RUN/result.json with the labels by
domain, 167 of 300 solved with seed 0 (docs/reward_models.md).

Scripted players, who err as often as `skill` says, play games on pages, a small encyclopedia in Chromium, computers'
shells and environments of text; whether an episode is a success is told by its environment's state, which no judge
sees. Of the encyclopedia it is told by the answer that the page alone has. --config.parts.office.episodes=0 leaves one
out.
"""

import dataclasses
import json
from typing import Any

from ml_collections import ConfigDict

from tars_jax.pipelines.run_sections import places
from tars_jax.pipelines.schema import RunFields, Section, section
from tars_jax.rules import Rule, at_least, between, field
from tars_jax.sandbox.browser.site import MAX_SIDE

EXAMPLES = "tars_jax.envs.examples"


@dataclasses.dataclass(frozen=True)
class Part:
    """The traces of one environment."""

    environment: str = field("", "environment of the traces", Rule(bool, "an environment with a reference player"))
    episodes: int = field(0, "episodes of this environment", at_least(0))
    skill: float = field(0.5, "share of good moves", between(0, 1))
    max_steps: int = field(8, "step budget of an episode", at_least(1))
    size: tuple[int, ...] = field(
        (0, 0),
        "width and height of a page in pixels; (0, 0): no page",
        Rule(
            lambda size: size == (0, 0) or (len(size) == 2 and min(size) >= 1 and max(size) <= MAX_SIDE),
            f"(0, 0), or a width and a height from 1 to {MAX_SIDE}",
        ),
    )
    options: str = field("{}", "options of the environment, as JSON")


def part(
    environment: str, episodes: int, skill: float, max_steps: int, size: tuple[int, int] = (0, 0), **options: Any
) -> Section:
    return section(
        Part, environment=environment, episodes=episodes, skill=skill, max_steps=max_steps, size=size,
        options=json.dumps(options),
    )  # fmt: skip


def get_config() -> ConfigDict:
    return section(
        RunFields,
        parts=ConfigDict(
            {
                "office": part(f"{EXAMPLES}.text_office:TextOffice", 120, 0.5, 6),
                "tools": part(f"{EXAMPLES}.functions_vault:Vault", 40, 0.5, 3),
                "text": part(f"{EXAMPLES}.text_echo:TextEcho", 40, 0.5, 4),
                "maze": part("maze_path_of_light", 30, 0.4, 8, (160, 160), level=1),
                "tiles": part("infinity_loop", 20, 0.7, 12, (160, 160), level=1),
                "encyclopedia": part(f"{EXAMPLES}.small_encyclopedia:SmallEncyclopedia", 20, 0.5, 4, (224, 160)),
                "computer": part("computer", 30, 0.5, 8, task=""),
            }
        ),
        **places(pages=2),  # as many episodes at the same time, with a page or without
    )
