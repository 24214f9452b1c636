"""The report's trends at pico size, on the device: what holds, over five seeds.

Command:  ./launch/local.sh scoreboard                       # all of them
          ./launch/local.sh scoreboard --config.trends=T7    # one

What came of it, with seeds 0 to 4 (95% intervals over seeds; all of it in notebooks/trends.ipynb):

| trend | verdict | effects |
|---|---|---|
| T1 reward rises | holds | checklist +.41 [.28, .54], maze +.22 [.11, .32], 2048 +.035 [.015, .055] |
| T2 entropy is higher late | does not hold | checklist -.17 [-.20, -.14], 2048 -.04 nats; maze where it was |
| T3 with an SDK entropy falls | holds | reward +.23 [.15, .31], entropy .034 [.027, .041] nats less late than early |
| T4 thoughts shorten | holds | 1.5 [1.3, 1.8] tokens fewer |
| T5 thoughts follow difficulty | undecided | .54 [.44, .64] tokens more as it rises, then .06 [-.04, .16] fewer |
| T6 fewer steps, more reward | holds | .95 [.47, 1.43] steps fewer |
| T7 value pretraining | does not hold | reward +.009 [-.009, .026]; correlation without it is not negative |
| T8 step budget | does not hold | +.09 [.04, .15] beyond the training's budget, as claimed; the start gains more |
| T9 PPO beats GRPO | holds | success +.061 [.016, .105], volatility -.031 [-.054, -.009] |
| T10 games differ | undecided | nearest .89 [.79, 1.00] of the reference; +.52 [.46, .59] from nothing; plateau |
| T11 hybrid beats clicks on clicks | holds | success by clicks +.038 [.015, .062] at the same batches |
| T12 a shared value model | holds | explained variance +.27 [.04, .50]; those of one interface fall below 0 |
| T13 merging | undecided | checklist -.025 [-.076, .027], maze -.024 [-.040, -.008], tolerance .05 |
| T14 W4A8 | undecided | checklist -6% [-17, 4], maze -8% [-12, -4] of the score, tolerance 10% |
| T15 RL beats SFT out of domain | holds | more boxes +.46 [.30, .62], exits farther away +.20 [.17, .23] |
| T16 an SDK beats clicking | undecided | success by searches minus by clicks -.066 [-.174, .042] |
| T17 erring verifier | holds | true success +.40 [.24, .56] |
| T18 several calls in a turn | does not hold | they get rarer by .047 [.033, .060]; turns fall by .33 [.05, .61] |
| T20 annotation on policy | does not hold | corrections against none +.05 [.00, .10], demonstrations -.01 [-.05, .03] |

T19 has not been run. Of the encyclopedia's seeds (T3, T11, T12, T16) two are far below the others with either interface
and from the start on. There the hybrid scores, by clicks and by searches, 71 and 59% on average, the specialists 68 and
61%, and their merge at equal cost 67 and 53%, from 44 and 35% before PPO. T16 is between agents that begin with
demonstrations of both kinds: by searches they start 9 points lower.

Every side was tuned, by three learning rates on two seeds that do not count; nearly all chose the lowest, so a still
lower one might be better. About an hour of two processes on two cores that other work shared: one took T1 to T9, the
other T13 to T17. T5 is of later code, 18 minutes beside other jobs, and so is T10, whose minutes leave out what was
trained before, some 40 of two processes. T16, T3 and T11 took 95 minutes of one process, T18 and T12 62 of another,
beside much other work; T20 35, and what it compares in full is in docs/annotation_proof.md. Trends share trainings, and
the minutes that a result states are those of the trend that came first.
"""

import dataclasses
from typing import Any

from ml_collections import ConfigDict

from configs import on_device
from tars_jax.pipelines.learning_sections import AnnotationPlan, DemonstrationsSection
from tars_jax.pipelines.schema import RunFields, changes, section
from tars_jax.rules import at_least, each, field, field_of, more_than


@dataclasses.dataclass(frozen=True)
class Seeds(RunFields):
    """Seeds with which everything is run."""

    seed: int = field_of(RunFields, "seed", about="first random seed")
    seeds: int = field(5, "number of seeds", at_least(2))


@dataclasses.dataclass(frozen=True)
class Scoreboard(Seeds):
    """The trends to measure, and the search for learning rates."""

    trends: tuple[str, ...] = field(("all",), "trends to measure, such as T1,T7; or all")
    tuning_seeds: int = field(2, "further seeds, with which only learning rates are chosen", at_least(1))
    learning_rates: tuple[float, ...] = field(
        (2.5e-4, 5e-4, 1e-3),
        "learning rates that every side of a comparison is tried with, on the tuning seeds",
        each(more_than(0)),
    )


@dataclasses.dataclass(frozen=True)
class Starts:
    """Games whose demonstrations specialists start with: both kinds, as for the hybrid agent."""

    encyclopedia_gui: str = field("encyclopedia", "game whose demonstrations the specialist of clicks starts with")
    encyclopedia_sdk: str = field("encyclopedia", "game whose demonstrations the specialist of calls starts with")


# Of the agent, those that differ from game to game.
SECTIONS: dict[str, type[Any]] = {
    "game": on_device.Game,
    "mixture": on_device.MixtureOfOptions,
    "rollout": on_device.Rollout,
    "demonstrations": DemonstrationsSection,
    "supervised": on_device.Supervised,
}


def get_config() -> ConfigDict:
    return section(Scoreboard, **agents())


def agents() -> dict[str, ConfigDict]:
    """The agent that is trained, smaller than that of configs/on_device.py, and what differs from game to game."""
    agent = on_device.get_config()
    del agent.loggers, agent.recipe
    agent.seeds_by = "turns"  # a program is compiled once for the search's seeds and those that count
    agent.rollout.episodes = 64
    agent.supervised.update({"updates": 300, "episodes": 16, "batch_rows": 64})
    agent.value.update({"updates": 20, "part": 20})
    agent.ppo.update({"updates": 40, "part": 20, "learning_rate": 1e-3, "epochs": 1})
    games: dict[str, dict[str, Any]] = {
        "checklist": {"game": {"name": "checklist", "steps": 6}},
        "maze": {"game": {"name": "maze", "steps": 6}},
        "game_2048": {"game": {"name": "2048", "steps": 10}},
        "snake": {"game": {"name": "snake", "steps": 10}},
        "checklist_several": {
            "game": {"name": "checklist", "steps": 4, "options": ("most_calls=3",)},
            "rollout": {"max_new_tokens": 42},
        },
        "encyclopedia": reading(parts=("interface=gui", "interface=sdk")),
        "encyclopedia_gui": reading(options=("interface=gui",)),
        "encyclopedia_sdk": reading(options=("interface=sdk",)),
        "maze_annotated": annotated(),
        "corridor_memory": walking(summaries=8),
        "corridor_window": walking(window=3),
        "corridor_none": walking(),
    }
    return {
        "agent": agent,
        "games": ConfigDict({name: changed(**differs) for name, differs in games.items()}),
        "annotation": section(AnnotationPlan),
        "starts": section(Starts),
    }


def changed(**sections: dict[str, Any]) -> ConfigDict:
    """What differs from the sections of the agent."""
    return ConfigDict({name: changes(SECTIONS[name], **values) for name, values in sections.items()})


def reading(options: tuple[str, ...] = (), parts: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the encyclopedia's agents take, by one interface or both."""
    return {
        "game": {"name": "encyclopedia", "steps": 6, "options": options},
        "mixture": {"parts": parts},
        "rollout": {"max_new_tokens": 26},
        "demonstrations": {"skill": 0.8},
        "supervised": {"updates": 1000, "part": 200, "episodes": 32, "batch_rows": 96},
    }


def walking(window: int = 1, summaries: int = 0) -> dict[str, Any]:
    """What the corridor's agents take; their prompts have as many tokens, whatever stands in them."""
    return {
        "game": {"name": "corridor", "steps": 10},
        "rollout": {
            "max_new_tokens": 8,
            "window": window,
            "summaries": summaries,
            "summary_tokens": 3,
            "context": 49,
        },
    }


def annotated() -> dict[str, Any]:
    """A policy that has seen a hundred mazes solved without a mistake, and so no cell farther from the exit than four
    moves: its own mistakes lead there, and there is time to come back."""
    return {
        "game": {"name": "maze", "steps": 10, "options": ("nearest=3", "farthest=4")},
        "demonstrations": {"skill": 1.0, "episodes": 100},
        "supervised": {"updates": 150},
    }
