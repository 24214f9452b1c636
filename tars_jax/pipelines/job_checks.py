"""Checks of fields that must agree with each other in an agent's job, and the update that they ask for."""

from __future__ import annotations

from typing import Any

from tars_jax import InputError
from tars_jax.pipelines.schema import from_section
from tars_jax.rollout.config import check_groups
from tars_jax.training import processes
from tars_jax.training.config import PPOConfig
from tars_jax.training.run_directory import Extension

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
    """Checks fields about a mixture's parts: they need a mixture, and a value model for each part that is not the
    policy."""
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
    return from_section(PPOConfig, config)
