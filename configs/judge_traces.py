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

import json
from typing import Any

from ml_collections import ConfigDict

from configs import quickstart

EXAMPLES = "tars_jax.envs.examples"


def get_config() -> ConfigDict:
    def part(
        environment: str,
        episodes: int,
        skill: float,
        max_steps: int,
        size: tuple[int, int] = (0, 0),
        **options: Any,
    ) -> dict[str, Any]:
        return {
            "environment": environment,
            "episodes": episodes,
            "skill": skill,  # share of moves that are good ones
            "max_steps": max_steps,
            "size": size,  # of a page, width and height in pixels; (0, 0): there is none
            "options": json.dumps(options),
        }

    return ConfigDict(
        {
            "parts": {
                "office": part(f"{EXAMPLES}.text_office:TextOffice", 120, 0.5, 6),
                "tools": part(f"{EXAMPLES}.functions_vault:Vault", 40, 0.5, 3),
                "text": part(f"{EXAMPLES}.text_echo:TextEcho", 40, 0.5, 4),
                "maze": part("maze_path_of_light", 30, 0.4, 8, (160, 160), level=1),
                "tiles": part("infinity_loop", 20, 0.7, 12, (160, 160), level=1),
                "encyclopedia": part(f"{EXAMPLES}.small_encyclopedia:SmallEncyclopedia", 20, 0.5, 4, (224, 160)),
                "computer": part("computer", 30, 0.5, 8, task=""),
            },
            **quickstart.places(pages=2),  # as many episodes at the same time, with a page or without
            "seed": 0,
            "run": "",
        }
    )
