"""The mathematics of the update: pure functions on `[T]` arrays that callers vmap. See README.md."""

from tars_jax.rl.advantages import decoupled_gae, length_adaptive_lambda, turn_level_gae
from tars_jax.rl.groups import group_advantages, informative_group
from tars_jax.rl.losses import (
    PolicyLoss,
    importance_weights,
    positive_language_model_loss,
    ppo_policy_loss,
    reference_kl,
    value_loss,
)
from tars_jax.rl.shaping import early_ending_penalty, saved_steps, soft_overlong_penalty
from tars_jax.rl.statistics import (
    correlation,
    entropy,
    explained_variance,
    sequence_mean,
    token_mean,
    token_std,
    whiten,
)

__all__ = [
    "PolicyLoss",
    "correlation",
    "decoupled_gae",
    "early_ending_penalty",
    "entropy",
    "explained_variance",
    "group_advantages",
    "importance_weights",
    "informative_group",
    "length_adaptive_lambda",
    "positive_language_model_loss",
    "ppo_policy_loss",
    "reference_kl",
    "saved_steps",
    "sequence_mean",
    "soft_overlong_penalty",
    "token_mean",
    "token_std",
    "turn_level_gae",
    "value_loss",
    "whiten",
]
