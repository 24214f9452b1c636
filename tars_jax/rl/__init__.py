"""The mathematics of the update: pure functions on `[T]` arrays that callers vmap. See README.md."""

from tars_jax.rl.advantages import decoupled_gae, group_advantages, length_adaptive_lambda
from tars_jax.rl.losses import PolicyLoss, positive_language_model_loss, ppo_policy_loss, value_loss
from tars_jax.rl.shaping import soft_overlong_penalty
from tars_jax.rl.statistics import correlation, entropy, explained_variance, sequence_mean, token_mean

__all__ = [
    "PolicyLoss",
    "correlation",
    "decoupled_gae",
    "entropy",
    "explained_variance",
    "group_advantages",
    "length_adaptive_lambda",
    "positive_language_model_loss",
    "ppo_policy_loss",
    "sequence_mean",
    "soft_overlong_penalty",
    "token_mean",
    "value_loss",
]
