"""Configs of the learner: PPO's switches, reward shaping, the optimizer, value pretraining. Made without jax."""

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
    """PPO's switches: docs/rl.md says what each does, and where it is from.

    Numbers may be traced, and are then not checked. Raises InputError for advantages and aggregations that do not exist
    and for numbers that mean nothing.
    """

    advantages: str = field(
        "gae",
        "advantage estimator: gae, of each token; turn, of each ReAct step; or group (GRPO), without a "
        "value model, which needs a group_size of 2 or more",
        one_of(*ADVANTAGES),
    )
    group_std: bool = field(
        True, "whether a group's advantages are divided by their standard deviation; False: Dr. GRPO"
    )
    normalize_advantages: bool = field(
        True,
        "whether advantages are normalized to mean 0 and standard deviation 1 over the batch's tokens; "
        "group advantages never are",
    )
    normalize_over: str = field(
        "batch",
        "tokens that advantages are normalized over: the whole batch, or each part of a mixture by itself",
        one_of(*SCOPES),
    )
    value_models: str = field(
        "shared", "one value model for all parts of a mixture (shared), or one for each (part)", one_of(*VALUE_MODELS)
    )
    gamma: float = field(
        1.0, "discount per token; tokens that a constraint left no choice of do not count", between(0, 1)
    )
    length_adaptive: bool = field(
        True, "whether the policy's GAE lambda depends on the episode's length (VAPO), by alpha"
    )
    alpha: float = field(1.5, "with length_adaptive: the policy's GAE lambda is 1 - 1 / (alpha * length)", more_than(0))
    lambda_policy: float = field(0.95, "GAE lambda of the policy's advantages, without length_adaptive", between(0, 1))
    lambda_critic: float = field(1.0, "GAE lambda of the value model's targets", between(0, 1))
    aggregation: str = field(
        "token",
        "what weighs the same in the policy loss and the KL: every token, or every sequence (trajectory)",
        one_of(*AGGREGATIONS),
    )
    clip_low: float = field(0.2, "lower clip range of the ratio, 1 - clip_low", between(0, 1))
    clip_high: float = field(0.28, "upper clip range of the ratio, 1 + clip_high", more_than(0))
    dual_clip: float = field(
        0.0, "upper bound of the ratio where the advantage is negative (dual-clip PPO)", zero_or(more_than(1))
    )
    value_clip: float = field(
        0.0, "clip range of the value around its prediction before the update", zero_or(more_than(0))
    )
    decoupled: bool = field(
        True,
        "whether the clipped ratio is to the weights before the update (decoupled PPO), with the policy "
        "that sampled only in an importance weight",
    )
    max_importance: float = field(2.0, "upper bound of that importance weight, with decoupled", more_than(0))
    kl_weight: float = field(
        0.0,
        "weight of the KL to the reference policy, from which RL started; 0: no reference policy is run",
        at_least(0),
    )
    replay_routes: bool = field(
        False, "whether tokens go to the experts that sampled them (R3, arXiv 2510.11370); needs engine.record_routes"
    )
    freeze_vision: bool = field(
        False, "whether the vision encoders are frozen, so that each screenshot is encoded once"
    )
    epochs: int = field(1, "passes over the batch in one update", at_least(1))
    minibatch_rows: int = field(16, "packed rows of a minibatch, that is of one optimizer step", at_least(1))
    positive_weight: float = field(0.0, "weight of the imitation loss on successful episodes (VAPO)", at_least(0))
    entropy_bonus: float = field(0.0, "weight of the policy's entropy in the loss", at_least(0))
    router_aux_loss_weight: float = field(0.01, "weight of the routers' load-balancing loss", at_least(0))
    value_weight: float = field(0.5, "weight of the value loss, with model.shared_value", at_least(0))

    def __post_init__(self) -> None:
        check_fields(self, "ppo")

    @property
    def uses_values(self) -> bool:
        """Whether there is a value model at all."""
        return self.advantages != "group"

    @property
    def uses_reference(self) -> bool:
        """Whether a reference policy is scored."""
        return unless_off(self.kl_weight) is not None


def unless_off(number: float) -> float | None:
    """None for 0, which is off; a traced number may be anything, and is on."""
    return None if isinstance(number, numbers.Number) and number == 0 else number


@dataclasses.dataclass(frozen=True)
class RewardConfig:
    """Reward shaping: what is added to or taken from the environment's reward.

    Raises InputError for a `length_cache` below 1, for penalties below 0, a `scale` of 0 or less and an `early_share`
    beyond (0, 1].
    """

    scale: float = field(1.0, "factor of the environment's rewards; penalties are subtracted after it", more_than(0))
    format_penalty: float = field(0.1, "penalty for every answer that cannot be parsed", at_least(0))
    length_penalty: float = field(
        0.1, "penalty for an answer of the greatest length; it begins at three quarters of that length", at_least(0)
    )
    early_penalty: float = field(
        0.0, "penalty for ending at once without success; it shrinks to 0 at early_share", at_least(0)
    )
    early_share: float = field(
        0.5,
        "share of the step budget after which an end is no longer too early",
        Rule(lambda share: 0 < share <= 1, "a share above 0, up to 1"),
    )
    endless_penalty: float = field(
        0.0, "penalty for an episode without success that its step budget cut off", at_least(0)
    )
    fewer_steps_reward: float = field(
        0.0, "reward for a success, times the share of the step budget that it left unused", at_least(0)
    )
    max_length: int = field(24, "tokens of the longest answer")
    length_cache: int = field(6, "tokens before max_length at which the length penalty begins", at_least(1))

    def __post_init__(self) -> None:
        check_fields(self, "reward")


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
    """The optimizer: its algorithm, and a learning rate that warms up and may decay."""

    learning_rate: float = field(REQUIRED, "peak learning rate, after warm-up and before decay", more_than(0))
    algorithm: str = field("adamw", "optimizer of the weights", one_of(*ALGORITHMS))
    warmup: int = field(10, "updates until the learning rate is at its peak")
    decay: int = field(0, "updates until the cosine decay reaches 5% of the peak learning rate; 0: constant")
    weight_decay: float = field(0.0, "weight decay, decoupled from the gradient", at_least(0))
    clip_norm: float = field(1.0, "greatest global norm of the gradient")
    beta2: float = field(0.99, "AdamW's beta2, the decay of its second moment")

    def __post_init__(self) -> None:
        if 0 < self.decay <= self.warmup:
            raise InputError(
                f"optimizer.decay must be 0, or more than the {self.warmup} updates of warmup; got {self.decay}"
            )
        check_fields(self, "optimizer")


@dataclasses.dataclass(frozen=True)
class ValuePretrainingConfig:
    """Pretraining of the value model on the episodes of a fixed policy."""

    episodes: int = field(
        1200,
        "episodes of the fixed policy per round of value pretraining; a new round follows each evaluation "
        "except the last",
        at_least(10),
    )
    max_episodes: int = field(0, "most episodes of all rounds together; 0: those of the first round", at_least(0))
    max_updates: int = field(300, "most optimizer steps", at_least(1))
    batch_rows: int = field(64, "packed rows of a batch, that is of one optimizer step", at_least(1))
    held_out: float = 0.2  # share of all that there may be, at most half of the first round, which they are of
    evaluate_every: int = field(20, "updates between two evaluations of the value model", at_least(1))
    patience: int = field(4, "evaluations without improvement after which value pretraining ends", at_least(1))
