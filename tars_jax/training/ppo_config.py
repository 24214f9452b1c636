"""Every switch of the learner's algorithm, PPO or GRPO, in one place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import jax

from tars_jax.rules import Rule, at_least, between, check_fields, more_than, one_of

ADVANTAGES = ("gae", "turn", "group")
AGGREGATIONS = ("token", "sequence")
SCOPES = ("batch", "part")  # of a mixture: all of it, or each of its parts by itself
VALUE_MODELS = ("shared", "part")


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """Every switch of the update. Sources in `tars_jax.rl`; `docs/rl.md` lists them with what was measured here.

    Numbers may be traced, and are then not checked. Raises InputError for advantages and aggregations that do not exist
    and for numbers that mean nothing.
    """

    advantages: str = "gae"  # of a token; "turn": of a ReAct step; "group": GRPO's, which needs no value model
    gamma: float = 1.0
    lambda_policy: float | None = None  # None: length-adaptive with `alpha`
    alpha: float = 1.5
    lambda_critic: float = 1.0
    normalize_advantages: bool = True  # over the batch's tokens; not those of groups
    normalize_over: str = "batch"  # or "part": by the mean and deviation of its own part of a mixture
    group_std: bool = True  # advantages of groups are divided by the group's standard deviation; without, Dr. GRPO
    aggregation: str = "token"  # every token weighs the same; "sequence": every trajectory, in policy loss and KL
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float | None = None
    value_clip: float | None = None
    decoupled: bool = True  # clip around the proximal policy, weigh by proximal / behavior
    max_importance: float = 2.0  # truncates that weight
    kl_weight: float = 0.0  # of the KL to the policy that RL started from; 0 runs no reference
    positive_weight: float = 0.0  # VAPO's imitation of successful episodes
    entropy_bonus: float = 0.0
    router_aux_loss_weight: float = 0.01  # the routers' load-balancing loss
    value_models: str = "shared"  # by all of a mixture; "part": one for each of its parts
    value_weight: float = 0.5  # of the value loss when policy and value share their trunk
    replay_routes: bool = False  # the policy's tokens go to the experts that sampled them (R3, arXiv 2510.11370)
    freeze_vision: bool = False  # the vision encoders stay as they are: each screenshot is encoded once
    epochs: int = 1
    minibatch_rows: int = 16

    RULES: ClassVar[Mapping[str, Rule]] = {
        "advantages": one_of(*ADVANTAGES),
        "aggregation": one_of(*AGGREGATIONS),
        "normalize_over": one_of(*SCOPES),
        "value_models": one_of(*VALUE_MODELS),
        **dict.fromkeys(("gamma", "lambda_policy", "lambda_critic", "clip_low"), between(0, 1)),
        **dict.fromkeys(("alpha", "clip_high", "value_clip", "max_importance"), more_than(0)),
        **dict.fromkeys(("kl_weight", "positive_weight", "entropy_bonus", "value_weight"), at_least(0)),
        "router_aux_loss_weight": at_least(0),
        "dual_clip": more_than(1),
        **dict.fromkeys(("epochs", "minibatch_rows"), at_least(1)),
    }

    def __post_init__(self) -> None:
        check_fields(self, self.RULES, "ppo")

    @property
    def uses_values(self) -> bool:
        """Whether there is a value model at all."""
        return self.advantages != "group"

    @property
    def uses_reference(self) -> bool:
        """Whether a reference policy is scored; a traced weight may be anything."""
        return isinstance(self.kl_weight, jax.Array) or self.kl_weight != 0
