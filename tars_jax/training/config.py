"""What the learner is set to: the update's switches, what is taken from rewards, the optimizer. Made without jax."""

from __future__ import annotations

import dataclasses
import numbers

from tars_jax import InputError
from tars_jax.rules import REQUIRED, Rule, at_least, between, check_fields, field, more_than, one_of, zero_or

ADVANTAGES = ("gae", "turn", "group")
AGGREGATIONS = ("token", "sequence")
SCOPES = ("batch", "part")  # of a mixture: all of it, or each of its parts by itself
VALUE_MODELS = ("shared", "part")
ALGORITHMS = ("adamw", "muon")


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """Every switch of the algorithm: docs/rl.md says what each does, and where it is from.

    Numbers may be traced, and are then not checked. Raises InputError for advantages and aggregations that do not exist
    and for numbers that mean nothing.
    """

    advantages: str = field(
        "gae",
        "of a token; turn: of a ReAct step; group: GRPO's, without a value model, with a group_size of 2 or more",
        one_of(*ADVANTAGES),
    )
    group_std: bool = field(True, "a group's advantages are divided by its standard deviation; without, Dr. GRPO")
    normalize_advantages: bool = field(True, "to mean 0 and deviation 1 over the batch's tokens; not those of groups")
    normalize_over: str = field("batch", "or part: each part of a mixture by itself", one_of(*SCOPES))
    value_models: str = field("shared", "or part: each part of a mixture has its own", one_of(*VALUE_MODELS))
    gamma: float = field(1.0, "discount of a token, of those that a constraint left a choice of", between(0, 1))
    length_adaptive: bool = field(True, "the policy's lambda depends on the length of the episode, by alpha")
    alpha: float = field(1.5, "with length_adaptive: lambda is 1 - 1 / (alpha * length)", more_than(0))
    lambda_policy: float = field(0.95, "without length_adaptive", between(0, 1))
    lambda_critic: float = field(1.0, "of the value model's targets", between(0, 1))
    aggregation: str = field(
        "token", "every token weighs the same; sequence: every trajectory, in policy loss and KL", one_of(*AGGREGATIONS)
    )
    clip_low: float = field(0.2, "how far below 1 a token's ratio may go", between(0, 1))
    clip_high: float = field(0.28, "how far above 1", more_than(0))
    dual_clip: float = field(0.0, "of the ratio where the advantage is negative", zero_or(more_than(1)))
    value_clip: float = field(0.0, "how far a value may go from the one before the update", zero_or(more_than(0)))
    decoupled: bool = field(
        True, "the clipped ratio is to the weights before the update, not to those that sampled, which only weigh it"
    )
    max_importance: float = field(2.0, "with decoupled: truncates that weight", more_than(0))
    kl_weight: float = field(0.0, "of the KL to the policy that RL started from; 0 runs no reference", at_least(0))
    replay_routes: bool = field(
        False, "tokens go to the experts that sampled them (R3, arXiv 2510.11370); takes engine.record_routes"
    )
    freeze_vision: bool = field(False, "the vision encoders stay as they are, and each screenshot is encoded once")
    epochs: int = field(1, "passes over the batch", at_least(1))
    minibatch_rows: int = field(16, "packed rows of a step of the optimizer", at_least(1))
    positive_weight: float = field(0.0, "of VAPO's imitation of successful episodes", at_least(0))
    entropy_bonus: float = field(0.0, "weight of the policy's entropy", at_least(0))
    router_aux_loss_weight: float = field(0.01, "of the routers' load-balancing loss", at_least(0))
    value_weight: float = field(0.5, "of the value loss, with model.shared_value", at_least(0))

    def __post_init__(self) -> None:
        check_fields(self, "ppo")

    @property
    def uses_values(self) -> bool:
        """Whether there is a value model at all."""
        return self.advantages != "group"

    @property
    def uses_reference(self) -> bool:
        """Whether a reference policy is scored; a traced weight may be anything."""
        return not isinstance(self.kl_weight, numbers.Number) or self.kl_weight != 0


@dataclasses.dataclass(frozen=True)
class RewardConfig:
    """What an episode earns beside its verdict.

    Raises InputError for a `length_cache` below 1, for penalties below 0, a `scale` of 0 or less and an `early_share`
    beyond (0, 1].
    """

    scale: float = field(
        1.0, "of the environment's rewards; the penalties are taken from what that makes of them", more_than(0)
    )
    format_penalty: float = field(0.1, "for every answer that cannot be read", at_least(0))
    length_penalty: float = field(
        0.1, "for the longest answer; it begins at three quarters of what an answer may have", at_least(0)
    )
    early_penalty: float = field(
        0.0, "for an end at once and without success; it shrinks until early_share", at_least(0)
    )
    early_share: float = field(
        0.5,
        "of the steps that an episode may have: what ends later is not too early",
        Rule(lambda share: 0 < share <= 1, "a share above 0, up to 1"),
    )
    endless_penalty: float = field(0.0, "for an episode without success that its budget cut off", at_least(0))
    fewer_steps_reward: float = field(
        0.0, "for a success, times the share of its steps that it did not need", at_least(0)
    )
    max_length: int = field(24, "tokens of the longest answer")
    length_cache: int = field(6, "tokens before max_length at which the length penalty begins", at_least(1))

    def __post_init__(self) -> None:
        check_fields(self, "reward")


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
    """How weights are moved: a learning rate that warms up and may decay, and the algorithm below it."""

    learning_rate: float = field(REQUIRED, "at its highest: it warms up and decays", more_than(0))
    algorithm: str = field("adamw", "that moves the weights", one_of(*ALGORITHMS))
    warmup: int = field(10, "updates until the rate is at its highest")
    decay: int = field(0, "updates until a cosine reaches 5% of the rate; 0 keeps it constant")
    weight_decay: float = field(0.0, "decoupled from the gradient", at_least(0))
    clip_norm: float = field(1.0, "of the whole gradient")
    beta2: float = field(0.99, "AdamW's")

    def __post_init__(self) -> None:
        if 0 < self.decay <= self.warmup:
            raise InputError(
                f"optimizer.decay must be 0, or more than the {self.warmup} updates of warmup; got {self.decay}"
            )
        check_fields(self, "optimizer")
