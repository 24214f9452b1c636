"""Recipes: what a paper trains with, under one name. `--config.recipe=report` is UI-TARS-2's own.

A recipe sets fields of a config where it is loaded (`config.py`), over what config files say and under flags. The
config.json of a run holds the resolved values: its recipe is not applied a second time. docs/rl.md says of each value
whose it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

# Equation 4 as it stands: a clipped ratio to the policy that sampled, times an advantage, and nothing beside it.
REPORT: Mapping[str, Any] = {
    "model.shared_value": False,
    "ppo.advantages": "gae",
    "ppo.gamma": 1.0,
    "ppo.length_adaptive": True,
    "ppo.alpha": 0.05,
    "ppo.lambda_critic": 1.0,
    "ppo.normalize_advantages": False,
    "ppo.normalize_over": "batch",
    "ppo.value_models": "shared",
    "ppo.aggregation": "token",
    "ppo.clip_low": 0.2,
    "ppo.clip_high": 0.28,
    "ppo.dual_clip": 0.0,
    "ppo.value_clip": 0.0,
    "ppo.decoupled": False,
    "ppo.kl_weight": 0.0,
    "ppo.positive_weight": 0.0,
    "ppo.entropy_bonus": 0.0,
    "ppo.router_aux_loss_weight": 0.0,
}
RECIPES: Mapping[str, Mapping[str, Any]] = {"report": REPORT}

# Fields that an experiment has no use for; all others must be in its config.
ABSENT: Mapping[str, Collection[str]] = {
    "on_device": {"model.shared_value"},  # value models there are never the policy's
    "value_pretraining": REPORT.keys() - {"model.shared_value", "ppo.advantages", "ppo.gamma"},  # no policy learns
}


def recipe_fields(recipe: str, experiment: str) -> dict[str, Any]:
    """Dotted field -> value that a recipe sets in a config of an experiment; none of "", nor of one that is unknown."""
    absent = ABSENT.get(experiment, ())
    return {field: value for field, value in RECIPES.get(recipe, {}).items() if field not in absent}


def recipe_lines(experiment: str, values: Mapping[str, Any]) -> list[str]:
    """Lines about a config's recipe before its run, by the config's dotted fields: what flags changed of it, and where
    it was measured to fail."""
    recipe, alpha = values["recipe"], values.get("ppo.alpha", 0.0)
    fields = recipe_fields(recipe, experiment)
    changed = [f"{field}={values[field]}" for field, value in fields.items() if values[field] != value]
    said = f"recipe {recipe}: {len(fields)} values, of which docs/rl.md says whose they are"
    lines = [f"{said}; otherwise here: {', '.join(changed)}" if changed else said]
    adapts = values.get("ppo.length_adaptive") and values.get("ppo.advantages") != "group"
    if adapts and alpha == fields.get("ppo.alpha") and _is_small(values["model.preset"]):
        lines.append(
            f"recipe {recipe}: expected to fail at this size: with alpha {alpha:g} lambda is 0 up to "
            f"{1 / alpha:.0f} tokens of an episode, and hardly above it in short ones, so credit hangs on "
            "the value model alone; measured: 80 and 62 points below alpha 1.5 (--config.ppo.alpha=1.5)"
        )
    return lines


def _is_small(name: str) -> bool:
    """Whether a model is one of those that train from scratch here, by its preset or its exported weights."""
    from tars_jax.model.presets import PRESETS, micro, preset  # imports jax, for which most commands need not wait
    from tars_jax.training.checkpoint import recorded_model

    model = preset(name) if name in PRESETS else recorded_model(name)
    return model.width <= micro().width
