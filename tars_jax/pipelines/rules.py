"""The fields of an agent's job: what each must be, what goes with what, and the update that they ask for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.agent.grammar import FORMS
from tars_jax.inference.config import EngineConfig
from tars_jax.pipelines.recipes import RECIPE_RULE
from tars_jax.pipelines.starts import FROM_NANO
from tars_jax.rollout.pool_config import PoolConfig, check_groups
from tars_jax.rules import Rule, at_least, between, more_than, one_of
from tars_jax.sandbox.browser.angle import ANGLE
from tars_jax.training import processes
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig
from tars_jax.training.extension import Extension
from tars_jax.training.loggers import LOGGERS


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def fitting(low: int) -> Rule:
    """Tokens, 0 for as many as the windows of the tasks take (`tars_jax.pipelines.windows`)."""
    return Rule(lambda value: value == 0 or value >= low, f"0 for what windows take, or a value of at least {low}")


# Of who plays with weights that it did not train.
LENGTH_RULES = {"engine.max_length": fitting(32), "engine.max_new_tokens": at_least(0)}


def rules_in(owner: type[Any]) -> dict[str, Rule]:
    """Field -> rule of a dataclass."""
    return {field.name: field.metadata["rule"] for field in dataclasses.fields(owner) if field.metadata.get("rule")}


def section_rules(section: str, fields: Iterable[str], rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """What a dataclass says of these fields, for those of the same names in a config's section."""
    return {f"{section}.{name}": rules[name] for name in fields}


SHAPING = (
    "format_penalty",
    "length_penalty",
    "early_penalty",
    "early_share",
    "endless_penalty",
    "fewer_steps_reward",
)
# Of the update, wherever episodes are played. A clip of 0 is off.
UPDATE_RULES: dict[str, Rule] = {
    "recipe": RECIPE_RULE,
    **section_rules("ppo", [name for name in rules_in(PPOConfig) if name != "value_weight"], rules_in(PPOConfig)),
    "ppo.group_size": rules_in(PoolConfig)["group_size"],
    **{f"ppo.{name}": rules_in(OptimizerConfig)["learning_rate"] for name in ("learning_rate", "value_learning_rate")},
    **section_rules("reward", SHAPING, rules_in(RewardConfig)),
}


def fit_rules(section: str) -> dict[str, Rule]:
    """Of a section that says how a model is fitted: `make_optimizer`'s numbers and the size of a batch."""
    return {
        f"{section}.batch_rows": at_least(1),
        f"{section}.optimizer": rules_in(OptimizerConfig)["algorithm"],
        **section_rules(section, ("learning_rate", "weight_decay"), rules_in(OptimizerConfig)),
    }


def imitation_rules(section: str) -> dict[str, Rule]:
    """Of a section that says how a policy is fitted to texts."""
    own = {
        **section_rules(section, ("router_aux_loss_weight",), rules_in(PPOConfig)),
        f"{section}.save_every": at_least(1),
    }
    return {**fit_rules(section), **own}


LOGGER_RULE = Rule(lambda names: set(names) <= set(LOGGERS), f"nothing, or some of {', '.join(LOGGERS)}")
FLEET_RULES: dict[str, Rule] = {
    "fleet.hosts": at_least(0),
    "fleet.cpus": at_least(0),
    "fleet.policy_gpus": at_least(0),
}
# Of a section `browser`, whatever the size of its pages.
BROWSER_RULES: dict[str, Rule] = {
    "browser.browsers": at_least(1),
    "browser.max_browsers": at_least(0),
    "browser.idle_browser_seconds": more_than(0),
    "browser.pages": at_least(1),
    "browser.use_angle": one_of(*ANGLE),
}
JOB_RULES: dict[str, Rule] = {
    **UPDATE_RULES,
    "ppo.group_start": rules_in(PoolConfig)["group_start"],
    **FLEET_RULES,
    "seed": at_least(0),
    "loggers": LOGGER_RULE,
    "model.preset": FROM_NANO,
    "task.evaluation_episodes": at_least(1),
    "agent.grammar": one_of(*FORMS),
    "agent.min_steps": at_least(0),
    "agent.max_steps": at_least(0),
    "agent.max_summaries": at_least(0),
    "agent.line_tokens": at_least(0),
    **BROWSER_RULES,
    "browser.size": at_least(32),
    "packing.row_length": fitting(32),
    "packing.images_per_row": at_least(0),
    **section_rules("engine", ("chunk", "weights"), rules_in(EngineConfig)),
    **LENGTH_RULES,
    "demonstrations.episodes": at_least(1),
    "demonstrations.skill": between(0, 1),
    "supervised.updates": at_least(1),
    **imitation_rules("supervised"),
    "value.episodes": at_least(10),
    "value.max_episodes": at_least(0),
    "value.max_updates": at_least(1),
    "value.evaluate_every": at_least(1),
    "value.patience": at_least(1),
    **fit_rules("value"),
    "ppo.updates": at_least(0),
    **section_rules("ppo", ("min_batch", "max_staleness", "batch_steps"), rules_in(PoolConfig)),
    **section_rules("ppo", ("value_weight",), rules_in(PPOConfig)),
}


def _are_weights(values: tuple[Any, ...]) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and all(LEAST_WEIGHT <= value <= MOST_WEIGHT for value in values)


LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000  # a batch has a group of each part
MIXTURE_RULES: dict[str, Rule] = {
    "mixture.weights": Rule(
        _are_weights, f"nothing, or a number from {LEAST_WEIGHT} to {MOST_WEIGHT} for each part of a batch"
    ),
}

# A finished run that is given more updates goes on, and is evaluated again.
PPO_EXTENSIONS = {"ppo.updates": Extension("ppo", again=("after",))}


def check_update(ppo: Any, episodes: int, of: str) -> None:
    """Raises `InputError` unless the episodes of an update (the field `of`) are groups that it can compare."""
    grouped = "ppo.advantages=group" if ppo.advantages == "group" else ""
    check_groups(ppo.group_size, episodes, of, grouped or ("ppo.dynamic_sampling" if ppo.dynamic_sampling else ""))


def check(config: Any) -> None:
    """Raises `InputError` for fields that do not go together; one that is open goes with all (`defaults.py`)."""
    if config.ppo.replay_routes and not config.engine.record_routes:
        raise InputError("engine.record_routes must be True with ppo.replay_routes; got False")
    ppo, grouped = config.ppo, config.ppo.advantages == "group"
    episodes = ppo.group_size * processes.count() if ppo.min_batch is None else ppo.min_batch
    check_update(ppo, episodes, "ppo.min_batch")
    if ppo.group_start == "fork" and ppo.group_size == 1:
        raise InputError("ppo.group_size must be at least 2 with ppo.group_start=fork; got 1")
    if episodes % (ppo.group_size * processes.count()):
        raise InputError(
            f"ppo.min_batch must be a multiple of {ppo.group_size * processes.count()}, as each of {processes.count()} "
            f"processes takes whole groups of {ppo.group_size}; got {episodes}"
        )
    if grouped and config.model.shared_value:
        raise InputError(
            "model.shared_value must be False with ppo.advantages=group, which has no value model; got True"
        )
    _check_parts(config)


def _check_parts(config: Any) -> None:
    """What is said of a mixture's parts takes a mixture, and a value model for each one that is not the policy."""
    ppo, mixed = config.ppo, bool(config.get("mixture", {}).get("weights"))
    for field, usual in (("normalize_over", "batch"), ("value_models", "shared")):
        if ppo[field] != usual and not mixed:
            raise InputError(f"ppo.{field} must be {usual} without mixture.weights; got {ppo[field]}")
    if ppo.normalize_over == "part" and (ppo.advantages == "group" or not ppo.normalize_advantages):
        raise InputError("ppo.normalize_over must be batch where advantages are not whitened; got part")
    if ppo.value_models == "part" and (ppo.advantages == "group" or config.model.shared_value):
        without = "ppo.advantages=group" if ppo.advantages == "group" else "model.shared_value"
        raise InputError(f"ppo.value_models must be shared with {without}, which has no value model; got part")


def ppo_config(config: Any) -> PPOConfig:
    """The fields of a config that belong to the update, which has defaults for others."""
    return PPOConfig(
        **{field.name: config[field.name] for field in dataclasses.fields(PPOConfig) if field.name in config}
    )
