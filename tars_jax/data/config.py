"""Configs of what makes tasks: new games, questions over an encyclopedia, tasks on websites. Made without jax."""

from __future__ import annotations

import dataclasses
import math

from tars_jax.rules import REQUIRED, at_least, between, field


@dataclasses.dataclass(frozen=True)
class InspectionConfig:
    """Inspection: how a game is played before it is admitted."""

    levels: int = field(
        3, "first levels, which all players play; only the reference player plays the others", at_least(1)
    )
    seeds: int = field(4, "seeds of each of the first levels", at_least(1))
    seed: int = 0
    most_random: float = field(
        0.5, "greatest success rate of random legal moves on the hardest of the first levels", between(0, 1)
    )
    most_chance: float = field(
        0.5, "greatest success rate of random clicks, drags and keys on all of the first levels", between(0, 1)
    )
    most_lost: float = field(
        0.5, "greatest share of episodes that random legal moves lose within three steps", between(0, 1)
    )


@dataclasses.dataclass(frozen=True)
class ObfuscationLimits:
    """Limits of the conditions that questions are made of."""

    least_matches: int = field(
        4, "least entities that one condition matches: fewer would reveal the answer", at_least(2)
    )
    most_share: float = field(
        0.7, "greatest share of a kind's entities that a condition matches: more says nothing", between(0, 1)
    )


@dataclasses.dataclass(frozen=True)
class QuestionSynthesisConfig:
    """How many questions are synthesized, and of which kind."""

    questions: int = field(REQUIRED, "number of questions to synthesize", at_least(1))
    most_hops: int = field(3, "most hops of a chain; 0: no question is a chain", at_least(0))
    chains: float = field(0.5, "share of multi-hop chains among the tries", between(0, 1))
    tries: int = field(60, "tries for each question before it is given up", at_least(1))
    limits: ObfuscationLimits = dataclasses.field(default_factory=ObfuscationLimits)


@dataclasses.dataclass(frozen=True)
class ExplorationConfig:
    """Exploration of a website: limits of pages, depth and clicks."""

    pages: int = field(30, "most pages that are opened by links", at_least(1))
    alike: int = field(3, "most pages whose addresses differ only in numbers", at_least(1))
    depth: int = field(4, "most links between the first page and another", at_least(1))
    presses: int = field(12, "most clicks on buttons outside of forms", at_least(0))


@dataclasses.dataclass(frozen=True)
class WebsiteSynthesisConfig:
    """The tasks that are synthesized on a website."""

    tasks: int = field(40, "most tasks of a website", at_least(1))
    each: int = field(6, "candidate tasks of each function of a website", at_least(1))
    merged: int = field(10, "most tasks of a website that need something to be made first", at_least(0))
    rows: int = field(10, "most tasks of a website that are two tasks in a row", at_least(0))
    questions: int = field(6, "most tasks of a website that end with an answer", at_least(0))
    random_episodes: int = field(3, "episodes of random play, whose final state no check may accept", at_least(0))
    random_actions: int = field(20, "actions of each episode", at_least(1))
    rubrics: bool = True  # where a state cannot tell, a judge may
    seed: int = 0
    held_out: tuple[str, ...] = ()  # sites
    most_s: float = math.inf  # real, after which no further candidate of a site is tried
    exploration: ExplorationConfig = dataclasses.field(default_factory=ExplorationConfig)
