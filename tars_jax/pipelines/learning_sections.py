"""Sections of configs of what is learned, stage by stage: from demonstrations, the value model's, and by PPO."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from tars_jax.pipelines.recipes import RECIPES
from tars_jax.pipelines.run_sections import JobFields
from tars_jax.rollout.pool_config import PoolConfig
from tars_jax.rules import Rule, at_least, between, field, field_of, one_of, span
from tars_jax.training.config import OptimizerConfig, PPOConfig

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000  # a batch has a group of each part


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def are_weights(values: tuple[Any, ...]) -> bool:
    """Whether they can be weights of a mixture's parts."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and all(LEAST_WEIGHT <= value <= MOST_WEIGHT for value in values)


@dataclasses.dataclass(frozen=True)
class ReinforcedFields(JobFields):
    """What every run has that goes on to PPO."""

    recipe: str = field(
        "",
        "a paper's values where no flag says otherwise: report, UI-TARS-2's (docs/rl.md); empty: ours",
        one_of("", *RECIPES),
    )


@dataclasses.dataclass(frozen=True)
class MazeTaskSection:
    """Levels of one game, by their distance."""

    game: str = field("maze_path_of_light", "one whose levels have a distance")
    max_steps: int = field(6, "of an episode", at_least(1))
    evaluation_distances: tuple[int, ...] = field(
        (2, 5), "moves from start to exit, on levels that training never sees", span(1)
    )
    evaluation_episodes: int = field(200, "before PPO and after, on the same levels", at_least(1))


@dataclasses.dataclass(frozen=True)
class EpisodeSection:
    """An episode of the environment that is named above."""

    max_steps: int = field(6, "of an episode, where its environment does not say less", at_least(1))
    instruction: str = field("", "where the environment has none of its own")
    success_threshold: str = field(
        "",
        "a return that is success; empty: as the environment says",
        Rule(lambda text: not text or is_number(text), "a number, or nothing"),
    )


@dataclasses.dataclass(frozen=True)
class TaskSection(EpisodeSection):
    """An episode of the environment that is named above, and who judges it."""

    judge: str = field(
        "",
        "what tells reward and success: orm (a reward model), package.module:attribute, or an entry point of the group "
        "tars_jax.judges; empty: the environment, or the reference answer of its tasks",
    )
    judge_options: str = field("{}", 'its options as JSON, such as {"checkpoint": "RUN/policy"} of orm')
    evaluation_episodes: int = field(200, "before PPO and after, on the same tasks", at_least(1))


@dataclasses.dataclass(frozen=True)
class DemonstrationsSection:
    """What is imitated first."""

    episodes: int = field(1600, "of the reference player", at_least(1))
    skill: float = field(0.5, "the share of its moves that follow its plan", between(0, 1))


@dataclasses.dataclass(frozen=True)
class MazeDemonstrationsSection(DemonstrationsSection):
    """What is imitated first."""

    distances: tuple[int, ...] = field((1, 5), "moves from start to exit", span(1))


@dataclasses.dataclass(frozen=True)
class BroughtDemonstrationsSection(DemonstrationsSection):
    """What is imitated first, played here or recorded."""

    episodes: int = field_of(
        DemonstrationsSection, "episodes", about="of whoever shows; 0: none are played", rule=at_least(0)
    )
    skill: float = field_of(DemonstrationsSection, "skill", default=0.8)
    player: str = field(
        "",
        "who shows: package.module:attribute, or an entry point of tars_jax.players; empty: the reference player",
    )
    datasets: tuple[str, ...] = field(
        (),
        "recorded ones besides: RUN/trajectories/ppo, .jsonl, .parquet, package.module:attribute; see "
        "tars_jax/data/datasets.py",
    )


@dataclasses.dataclass(frozen=True)
class FitSection:
    """How a model is fitted: the size of a batch and the optimizer."""

    batch_rows: int = field(40, "packed rows of an update", at_least(1))
    optimizer: str = field_of(OptimizerConfig, "algorithm", default="muon")
    learning_rate: float = field_of(OptimizerConfig, "learning_rate", default=2e-3)
    weight_decay: float = field_of(OptimizerConfig, "weight_decay", default=0.05)


@dataclasses.dataclass(frozen=True)
class TuningSection(FitSection):
    """How a policy is fitted to texts."""

    router_aux_loss_weight: float = field_of(PPOConfig, "router_aux_loss_weight")
    save_every: int = field(200, "updates between two checkpoints", at_least(1))


@dataclasses.dataclass(frozen=True)
class SupervisedSection(TuningSection):
    """How a policy is fitted to texts, in so many updates."""

    updates: int = field(700, "of the optimizer", at_least(1))


@dataclasses.dataclass(frozen=True)
class ValueSection(FitSection):
    """The value model before PPO."""

    episodes: int = field(
        600,
        "of the fixed policy, from which it learns: at first, and again after each evaluation that another follows",
        at_least(10),
    )
    max_episodes: int = field(1200, "of all rounds", at_least(0))
    max_updates: int = field(240, "of the optimizer", at_least(1))
    batch_rows: int = field_of(FitSection, "batch_rows", default=64)
    optimizer: str = field_of(FitSection, "optimizer", default="adamw")
    learning_rate: float = field_of(FitSection, "learning_rate", default=1e-3)
    weight_decay: float = field_of(FitSection, "weight_decay", default=0.5)
    evaluate_every: int = field(20, "updates", at_least(1))
    patience: int = field(6, "evaluations without a better one, after which it ends", at_least(1))


@dataclasses.dataclass(frozen=True)
class PPOSection(PPOConfig):
    """Policy optimization: what feeds it, and every switch of the algorithm (docs/rl.md)."""

    updates: int = field(12, "a finished run goes on when it is resumed with more", at_least(0))
    min_batch: int = field_of(PoolConfig, "min_batch", default=160, about="episodes of an update")
    batch_steps: int = field_of(PoolConfig, "batch_steps")
    max_staleness: int = field_of(PoolConfig, "max_staleness", default=1)
    in_order: bool = field_of(PoolConfig, "in_order")
    group_size: int = field_of(PoolConfig, "group_size")
    group_start: str = field_of(PoolConfig, "group_start")
    dynamic_sampling: bool = field_of(PoolConfig, "dynamic_sampling")
    learning_rate: float = field_of(OptimizerConfig, "learning_rate", default=1.5e-4, about="of the policy")
    value_learning_rate: float = field_of(OptimizerConfig, "learning_rate", default=5e-4, about="of the value model")
    epochs: int = field_of(PPOConfig, "epochs", default=2)
    minibatch_rows: int = field_of(PPOConfig, "minibatch_rows", default=128)
    positive_weight: float = field_of(
        PPOConfig,
        "positive_weight",
        default=0.5,
        about="of VAPO's imitation of successful episodes: what the policy sees and plans stays while its moves change",
    )


@dataclasses.dataclass(frozen=True)
class MixtureSection:
    """What an update's batch is mixed of: a weight for each part, in their order; empty: without weights."""

    weights: tuple[float, ...] = field(
        (),
        "of the parts; empty: kinds of tasks are picked by how uncertain their outcome is, or take turns",
        Rule(are_weights, f"nothing, or a number from {LEAST_WEIGHT} to {MOST_WEIGHT} for each part of a batch"),
    )
