"""The fields of an agent's job: what each takes, what goes with what, and the update that they ask for."""

from __future__ import annotations

import dataclasses
from typing import Any

from experiments.config import Rule, at_least, between, more_than, one_of, zero_or
from experiments.starts import FROM_NANO
from tars_jax import InputError
from tars_jax.inference.config import WEIGHTS
from tars_jax.training import processes
from tars_jax.training.optimisers import ALGORITHMS
from tars_jax.training.ppo_config import ADVANTAGES, AGGREGATIONS, PPOConfig

# Of the update, wherever episodes are played.
UPDATE_RULES: dict[str, Rule] = {
    "ppo.advantages": one_of(*ADVANTAGES),
    "ppo.group_size": at_least(1),
    "ppo.aggregation": one_of(*AGGREGATIONS),
    "ppo.learning_rate": more_than(0),
    "ppo.value_learning_rate": more_than(0),
    "ppo.gamma": between(0, 1),
    "ppo.alpha": more_than(0),
    "ppo.lambda_policy": between(0, 1),
    "ppo.lambda_critic": between(0, 1),
    "ppo.clip_low": between(0, 1),
    "ppo.clip_high": more_than(0),
    "ppo.dual_clip": zero_or(more_than(1)),
    "ppo.value_clip": at_least(0),
    "ppo.kl_weight": at_least(0),
    "ppo.positive_weight": at_least(0),
    "ppo.entropy_bonus": at_least(0),
    "ppo.balance": at_least(0),
    "ppo.epochs": at_least(1),
    "ppo.minibatch_rows": at_least(1),
    "reward.format_penalty": at_least(0),
    "reward.length_penalty": at_least(0),
}


def fit_rules(section: str) -> dict[str, Rule]:
    """Of a section that says how a model is fitted: `make_optimiser`'s numbers and the size of a batch."""
    return {
        f"{section}.batch_rows": at_least(1),
        f"{section}.optimiser": one_of(*ALGORITHMS),
        f"{section}.learning_rate": more_than(0),
        f"{section}.weight_decay": at_least(0),
    }


def imitation_rules(section: str) -> dict[str, Rule]:
    """Of a section that says how a policy is fitted to texts."""
    return {**fit_rules(section), f"{section}.balance": at_least(0), f"{section}.save_every": at_least(1)}


FLEET_RULES: dict[str, Rule] = {
    "fleet.hosts": at_least(0),
    "fleet.cpus": at_least(0),
    "fleet.policy_gpus": at_least(0),
}
JOB_RULES: dict[str, Rule] = {
    **UPDATE_RULES,
    **FLEET_RULES,
    "seed": at_least(0),
    "model.preset": FROM_NANO,
    "task.evaluation_episodes": at_least(1),
    "agent.grammar": one_of("text", "tool"),
    "agent.min_steps": at_least(0),
    "agent.max_steps": at_least(0),
    "agent.max_summaries": at_least(0),
    "browser.browsers": at_least(1),
    "browser.pages": at_least(1),
    "browser.size": at_least(32),
    "packing.row_length": at_least(32),
    "packing.images_per_row": at_least(1),
    "engine.chunk": at_least(1),
    "engine.max_new_tokens": at_least(1),
    "engine.weights": one_of(*WEIGHTS),
    "demonstrations.episodes": at_least(1),
    "demonstrations.skill": between(0, 1),
    "supervised.updates": at_least(1),
    **imitation_rules("supervised"),
    "value.episodes": at_least(10),
    "value.max_updates": at_least(1),
    "value.evaluate_every": at_least(1),
    "value.patience": at_least(1),
    **fit_rules("value"),
    "ppo.updates": at_least(0),
    "ppo.min_batch": at_least(1),
    "ppo.max_staleness": at_least(0),
    "ppo.max_importance": more_than(0),
    "ppo.value_weight": at_least(0),
}


def check(config: Any) -> None:
    """Raises `InputError` for fields that do not go together."""
    if config.ppo.replay_routes and not config.engine.record_routes:
        raise InputError("engine.record_routes is False, ppo.replay_routes takes it to be True")
    ppo, grouped = config.ppo, config.ppo.advantages == "group"
    if ppo.min_batch % ppo.group_size:
        raise InputError(f"ppo.group_size is {ppo.group_size}, it takes a divisor of ppo.min_batch, {ppo.min_batch}")
    if ppo.min_batch % (ppo.group_size * processes.count()):
        raise InputError(
            f"ppo.min_batch is {ppo.min_batch}, {processes.count()} processes that take whole groups of "
            f"{ppo.group_size} take a multiple of {ppo.group_size * processes.count()}"
        )
    if config.agent.constrained and not ppo.decoupled:
        raise InputError(
            "ppo.decoupled is False, agent.constrained takes it to be True: log-probabilities are recorded among "
            "well-formed answers, and the update's are among all"
        )
    if ppo.group_size == 1 and (grouped or ppo.dynamic_sampling):
        needs = "ppo.advantages=group" if grouped else "ppo.dynamic_sampling"
        raise InputError(f"ppo.group_size is 1, {needs} takes at least 2: an episode alone is never compared")
    if grouped and config.model.shared_value:
        raise InputError("model.shared_value is True, ppo.advantages=group has no value model and takes False")


def ppo_config(config: Any) -> PPOConfig:
    """The fields of a config that belong to the update, which has defaults for others; a clip of 0 is off."""
    given = {field.name: config[field.name] for field in dataclasses.fields(PPOConfig) if field.name in config}
    off = {name: None for name in ("dual_clip", "value_clip") if not given.get(name)}
    return PPOConfig(**{**given, **off, "lambda_policy": None if config.length_adaptive else config.lambda_policy})
