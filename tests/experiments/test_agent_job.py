"""From flags to the learner's algorithm: every switch is reached, and what does not go together is said at once."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.job_checks import check, ppo_config
from tars_jax.training.config import PPOConfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHER: dict[str, Any] = {
    "advantages": "turn", "gamma": 0.5, "length_adaptive": False, "lambda_policy": 0.6,
    "alpha": 0.7, "lambda_critic": 0.8,
    "normalize_advantages": False, "normalize_over": "part", "value_models": "part",
    "group_std": False, "aggregation": "sequence", "clip_low": 0.1, "clip_high": 0.3,
    "dual_clip": 3.0, "value_clip": 0.4, "decoupled": False, "max_importance": 1.5, "kl_weight": 0.01,
    "positive_weight": 0.2, "entropy_bonus": 0.03, "router_aux_loss_weight": 0.04, "value_weight": 0.05,
    "replay_routes": True,
    "freeze_vision": True, "epochs": 3, "minibatch_rows": 4,
}  # fmt: skip


def config(**fields: Any) -> Any:
    flags = [f"--config.ppo.{name}={value}" for name, value in fields.items()]
    return load_config("quickstart", flags, root=ROOT)


def test_every_switch_has_a_flag() -> None:
    assert set(OTHER) == {field.name for field in dataclasses.fields(PPOConfig)}
    assert ppo_config(config(**OTHER).ppo) == PPOConfig(**OTHER)
    default = ppo_config(config().ppo)
    assert all(getattr(default, name) != value for name, value in OTHER.items())
    assert default == PPOConfig(epochs=2, minibatch_rows=128, positive_weight=0.5)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dual_clip": 0.5}, "config.ppo.dual_clip must be 0 for off, or a value above 1; got 0.5"),
        ({"group_size": 7}, "ppo.group_size must be a divisor of ppo.min_batch, 160; got 7"),
        ({"advantages": "group"}, "ppo.group_size must be at least 2 with ppo.advantages=group"),
        ({"dynamic_sampling": True}, "ppo.group_size must be at least 2 with ppo.dynamic_sampling"),
    ],
)
def test_what_does_not_go_together(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as error:
        check(config(**fields))
    assert words in str(error.value)
    check(config(advantages="group", group_size=8, dynamic_sampling=True))
