"""Sections of configs of what is learned, stage by stage: from demonstrations, the value model's, and by PPO."""

from __future__ import annotations

import dataclasses
import math

from tars_jax.pipelines.recipes import RECIPES
from tars_jax.pipelines.run_sections import JobFields
from tars_jax.rollout.config import PoolConfig
from tars_jax.rules import Rule, at_least, between, field, field_of, one_of, span
from tars_jax.training.config import OptimizerConfig, PPOConfig, ValuePretrainingConfig

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000  # a batch has a group of each part


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def are_weights(values: tuple[float, ...]) -> bool:
    """Whether they can be weights of a mixture's parts."""
    return all(LEAST_WEIGHT <= value <= MOST_WEIGHT for value in values)


@dataclasses.dataclass(frozen=True)
class ReinforcedFields(JobFields):
    """Fields of every run that ends with PPO."""

    recipe: str = field(
        "",
        "a paper's values for fields that no flag sets: report, UI-TARS-2's (docs/rl.md); empty: our defaults",
        one_of("", *RECIPES),
    )


@dataclasses.dataclass(frozen=True)
class MazeTaskSection:
    """The levels of a maze game, by the distance of their exit."""

    game: str = field("maze_path_of_light", "game whose levels have a distance")
    max_steps: int = field(6, "step budget of an episode", at_least(1))
    evaluation_distances: tuple[int, ...] = field(
        (2, 5), "moves from start to exit in evaluation, on levels that training never sees", span(1)
    )
    evaluation_episodes: int = field(
        200, "episodes of each evaluation, before PPO and after, on the same levels", at_least(1)
    )


@dataclasses.dataclass(frozen=True)
class EpisodeSection:
    """An episode of `environment`."""

    max_steps: int = field(6, "step budget of an episode, where the environment sets no lower one", at_least(1))
    instruction: str = field("", "instruction of an episode, where the environment has none of its own")
    success_threshold: str = field(
        "",
        "return from which on an episode is a success; empty: the environment decides",
        Rule(lambda text: not text or is_number(text), "a number, or nothing"),
    )


@dataclasses.dataclass(frozen=True)
class TaskSection(EpisodeSection):
    """An episode of `environment`, and who judges it."""

    judge: str = field(
        "",
        "judge of reward and success: orm (a reward model), package.module:attribute, or an entry point of "
        "the group tars_jax.judges; empty: the environment, or the reference answer of its tasks",
    )
    judge_options: str = field("{}", 'options of the judge as JSON, such as {"checkpoint": "RUN/policy"} for orm')
    evaluation_episodes: int = field(
        200, "episodes of each evaluation, before PPO and after, on the same tasks", at_least(1)
    )


@dataclasses.dataclass(frozen=True)
class DemonstrationsSection:
    """Demonstrations, which the policy imitates before PPO."""

    episodes: int = field(1600, "episodes that the reference player demonstrates", at_least(1))
    skill: float = field(0.5, "share of the reference player's moves that follow its plan", between(0, 1))


@dataclasses.dataclass(frozen=True)
class MazeDemonstrationsSection(DemonstrationsSection):
    """Demonstrations of mazes, which the policy imitates before PPO."""

    distances: tuple[int, ...] = field((1, 5), "moves from start to exit in demonstrated mazes", span(1))


@dataclasses.dataclass(frozen=True)
class BroughtDemonstrationsSection(DemonstrationsSection):
    """Demonstrations, played here or recorded, which the policy imitates before PPO."""

    episodes: int = field_of(
        DemonstrationsSection, "episodes", about="episodes that the player demonstrates; 0: none", rule=at_least(0)
    )
    skill: float = field_of(
        DemonstrationsSection, "skill", default=0.8, about="share of the player's moves that follow its plan"
    )
    player: str = field(
        "",
        "player that demonstrates: package.module:attribute, or an entry point of tars_jax.players; empty: "
        "the reference player",
    )
    datasets: tuple[str, ...] = field(
        (),
        "recorded demonstrations, besides: RUN/trajectories/ppo, .jsonl, .parquet, "
        "package.module:attribute; see tars_jax/data/datasets.py",
    )


@dataclasses.dataclass(frozen=True)
class FitSection:
    """Fitting a model: the batch size and the optimizer."""

    batch_rows: int = field(40, "packed rows of a batch, that is of one optimizer step", at_least(1))
    optimizer: str = field_of(OptimizerConfig, "algorithm", default="muon")
    learning_rate: float = field_of(OptimizerConfig, "learning_rate", default=2e-3)
    weight_decay: float = field_of(OptimizerConfig, "weight_decay", default=0.05)


@dataclasses.dataclass(frozen=True)
class TuningSection(FitSection):
    """Fitting a policy to texts."""

    router_aux_loss_weight: float = field_of(PPOConfig, "router_aux_loss_weight")
    save_every: int = field(200, "updates between two checkpoints", at_least(1))


@dataclasses.dataclass(frozen=True)
class SupervisedSection(TuningSection):
    """Fitting a policy to texts in a fixed number of updates."""

    updates: int = field(700, "optimizer steps", at_least(1))


@dataclasses.dataclass(frozen=True)
class ValueSection(FitSection):
    """Pretraining of the value model before PPO."""

    episodes: int = field_of(ValuePretrainingConfig, "episodes", default=600)
    max_episodes: int = field_of(ValuePretrainingConfig, "max_episodes", default=1200)
    max_updates: int = field_of(ValuePretrainingConfig, "max_updates", default=240)
    batch_rows: int = field_of(ValuePretrainingConfig, "batch_rows")
    optimizer: str = field_of(FitSection, "optimizer", default="adamw")
    learning_rate: float = field_of(FitSection, "learning_rate", default=1e-3)
    weight_decay: float = field_of(FitSection, "weight_decay", default=0.5)
    evaluate_every: int = field_of(ValuePretrainingConfig, "evaluate_every")
    patience: int = field_of(ValuePretrainingConfig, "patience", default=6)


@dataclasses.dataclass(frozen=True)
class PPOSection(PPOConfig):
    """PPO: the batches it is fed, and the switches of the algorithm (docs/rl.md)."""

    updates: int = field(12, "updates of the policy; a finished run can be resumed with more", at_least(0))
    min_batch: int = field_of(PoolConfig, "min_batch", default=160, about="episodes of an update")
    batch_steps: int = field_of(PoolConfig, "batch_steps")
    max_staleness: int = field_of(PoolConfig, "max_staleness", default=1)
    in_order: bool = field_of(PoolConfig, "in_order")
    group_size: int = field_of(PoolConfig, "group_size")
    group_start: str = field_of(PoolConfig, "group_start")
    dynamic_sampling: bool = field_of(PoolConfig, "dynamic_sampling")
    learning_rate: float = field_of(
        OptimizerConfig, "learning_rate", default=1.5e-4, about="peak learning rate of the policy"
    )
    value_learning_rate: float = field_of(
        OptimizerConfig, "learning_rate", default=5e-4, about="peak learning rate of the value model"
    )
    epochs: int = field_of(PPOConfig, "epochs", default=2)
    minibatch_rows: int = field_of(PPOConfig, "minibatch_rows", default=128)
    positive_weight: float = field_of(
        PPOConfig,
        "positive_weight",
        default=0.5,
        about="weight of the imitation loss on successful episodes (VAPO), which keeps perception and planning "
        "while actions change",
    )


@dataclasses.dataclass(frozen=True)
class AnnotationPlan:
    """Sizes of annotation rounds on the device, and of learning from them (trend T20)."""

    rounds: int = field(4, "rounds of annotation", at_least(1))
    human_steps: int = field(48, "steps that the player decides in a round", at_least(1))
    episodes: int = field(64, "most episodes of a round", at_least(1))
    earlier_rows: int = field(
        384, "rows of the first demonstrations that are learned from again in each round", at_least(1)
    )
    updates: int = field(30, "updates of a round", at_least(1))
    batch_rows: int = field(48, "packed rows of an update", at_least(1))
    evaluation_episodes: int = field(256, "evaluation episodes after each round", at_least(1))

    @property
    def budgets(self) -> tuple[int, ...]:
        """Human steps so far, before the first round and after each."""
        return tuple(self.human_steps * number for number in range(self.rounds + 1))


@dataclasses.dataclass(frozen=True)
class MixtureSection:
    """The mixture of an update's batch, with a weight for each part."""

    weights: tuple[float, ...] = field(
        (),
        "weights of the mixture's parts, in order; empty: task kinds with the most uncertain outcome are "
        "preferred, or all take turns",
        Rule(are_weights, f"nothing, or a number from {LEAST_WEIGHT} to {MOST_WEIGHT} for each part of a batch"),
    )
