"""What fields of rows, batches, scores and the model's outputs are said to be, they are."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.inference.slot_state import SlotState
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.training.advantages import make_advantage_fn
from tars_jax.training.config import PPOConfig, RewardConfig
from tars_jax.training.log_probs import token_statistics
from tars_jax.training.packing import Packer, PackingConfig, Rows
from tars_jax.training.ppo import score_fn
from tars_jax.training.value import ValueBatch
from tars_jax.trajectory import Trajectory
from tests.shapes import assert_documented, documented
from tests.training.updates import prepare

LENGTH = 12
Episode = Callable[..., Trajectory]


def test_rows_batches_and_advantages(tiny_model: ModelConfig, episode: Episode) -> None:
    trajectories = [episode([[(0, [8, 9])], [(1, [7])]], [0.0, 1.0]), episode([[(0, [6])]], [0.0])]
    for trajectory in trajectories:
        for window in trajectory.windows:
            assert_documented(window, {})
    packed = Packer(tiny_model, PackingConfig(LENGTH, 1), image=5).pack(trajectories, 4)
    axes = {"T": LENGTH, "N": len(trajectories)}
    for value in (packed.rows, packed):
        assert_documented(value, axes)
    rows = {"B": axes["R"], "T": LENGTH}
    assert_documented(packed.rows.inputs, rows)
    zeros = np.zeros(packed.rows.action_mask.shape, np.float32)
    config = PPOConfig(aggregation="sequence")
    found = make_advantage_fn(config)(
        np.zeros(packed.action_index.shape), np.zeros(packed.action_index.shape), packed.action_valid
    )
    assert_documented(found, axes)
    batch, _ = prepare(packed, trajectories, zeros, zeros, config, RewardConfig(), make_advantage_fn(config))
    assert_documented(batch, axes)
    assert_documented(ValueBatch(batch.rows, batch.value_targets, batch.old_values), rows)


def test_outputs_of_the_model_and_slots(tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode) -> None:
    rows: Rows = Packer(tiny_model, PackingConfig(LENGTH, 1), image=5).pack([episode([[(0, [8])]], [1.0])], 2).rows
    axes = {"B": 2, "T": LENGTH, "V": tiny_model.vocabulary, "D": tiny_model.width}
    output = jax.eval_shape(lambda parameters: forward(tiny_model, parameters, rows.inputs), tiny_parameters)
    assert_documented(output, dict(axes))
    statistics = jax.eval_shape(
        lambda hidden: token_statistics(tiny_model, tiny_parameters, hidden, rows.inputs.tokens, rows.action_mask),
        output.hidden,
    )
    assert_documented(statistics, dict(axes))
    scores = jax.eval_shape(score_fn(tiny_model), tiny_parameters, rows)
    assert scores.shape == (2, LENGTH) and scores.dtype == jnp.float32
    state = jax.eval_shape(lambda: SlotState.empty(tiny_model, 3, 16, penalties=True))
    assert_documented(state, {"S": 3, "V": tiny_model.vocabulary})


def test_another_shape_or_type_is_told(tiny_model: ModelConfig, episode: Episode) -> None:
    rows = Packer(tiny_model, PackingConfig(LENGTH, 1), image=5).pack([episode([[(0, [8])]], [1.0])], 2).rows
    assert set(documented(Rows)) >= {"action_mask", "log_probs", "versions"}
    changes: list[dict[str, Any]] = [
        {"log_probs": rows.log_probs[:, 1:]},
        {"log_probs": rows.log_probs.astype(np.float64)},
        {"versions": rows.versions[0]},
    ]
    for change in changes:
        with pytest.raises(AssertionError, match=f"Rows.{next(iter(change))} must be"):
            assert_documented(dataclasses.replace(rows, **change), {})
