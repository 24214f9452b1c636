"""Our side of `update_tokens.py`: the steps of `tars_jax.training.learner.iterate`, with the clock between.

Axes: R rows, T tokens of a row, N trajectories.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import io
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from PIL import Image

from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.execution import Execution
from tars_jax.model.policy import Parameters
from tars_jax.training.advantages import Advantages, make_advantage_fn, make_ppo_batch
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig
from tars_jax.training.minibatches import minibatches
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import Packer, PackingConfig, map_rows
from tars_jax.training.ppo import make_policy_update, make_score_fn, value_batch
from tars_jax.training.rewards import token_rewards
from tars_jax.training.state import init_train_state
from tars_jax.training.value import make_value_fn, make_value_update
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tests.benchmarks.peers.setting import BATCHES, Episode, Hyperparameters, Shape, advantage_inputs, episodes, weights
from tests.benchmarks.peers.turns import between, clock, serve


def model_config(shape: Shape) -> ModelConfig:
    """The dense text decoder; the vision encoder has no parameters here and is never called."""
    return ModelConfig(
        vocabulary=shape.vocabulary,
        width=shape.width,
        depth=shape.depth,
        query_heads=shape.query_heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        mlp_width=shape.mlp_width,
        rope_theta=shape.rope_theta,
        rope_sections=(12, 10, 10),
        vision=VisionConfig(patch=8),
        execution=Execution(unroll=shape.depth),  # as Tunix, whose layers are a loop of Python
    )


def parameters(shape: Shape) -> tuple[Parameters, Parameters]:
    """Policy and value model from the shared weights."""
    given = {name: jax.numpy.asarray(array) for name, array in weights(shape).items()}
    attention: Parameters = {name: {"kernel": given[name]} for name in ("query", "key", "value", "out")}
    norms = {name: {"scale": given[name]} for name in ("query_norm", "key_norm")}
    layers = {
        "attention_norm": {"scale": given["attention_norm"]},
        "attention": {**attention, **norms},
        "mlp_norm": {"scale": given["mlp_norm"]},
        "mlp": {name: {"kernel": given[name]} for name in ("gate", "up", "down")},
    }
    trunk = {"embed": {"embedding": given["embed"]}, "decoder": {"layers": layers, "norm": {"scale": given["norm"]}}}
    policy = {**trunk, "vocabulary_head": {"kernel": given["vocabulary_head"]}}
    return policy, {**trunk, "scalar_head": {"kernel": given["scalar_head"], "bias": jax.numpy.zeros(1)}}


def trajectory(episode: Episode) -> Trajectory:
    """One window without images. A step must have a screenshot, which nobody looks at."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")
    count = int(episode.steps[-1]) + 1
    steps = [Step(file.getvalue(), "", "", "", None, 0.0, 0, True, {}) for _ in range(count - 1)]
    steps.append(Step(file.getvalue(), "", "", "", None, float(episode.reward), 0, True, {}))
    mask = episode.action_mask
    zeros, versions = np.zeros(mask.size, np.float32), np.where(mask, 0, -1).astype(np.int32)
    window = ContextWindow(episode.tokens, mask, zeros, versions, episode.steps, ())
    return Trajectory(
        "made", {}, (window,), tuple(steps), Outcome.FINISHED, float(episode.reward), success=episode.reward > 0
    )


class Side:
    """Policy and value model with their optimizers, and the batch."""

    def __init__(self, batch: str) -> None:
        given, self._model = Hyperparameters(), model_config(Shape())
        self._trajectories = [trajectory(each) for each in episodes(batch)]
        longest = max(each.windows[0].tokens.size for each in self._trajectories)
        self._packer = Packer(self._model, PackingConfig(row_length=longest, images_per_row=0), image=-1)
        self._config = PPOConfig(
            gamma=given.gamma,
            lambda_policy=given.gae_lambda,
            lambda_critic=given.gae_lambda,
            clip_low=given.clip_low,
            clip_high=given.clip_high,
            value_clip=given.value_clip,
        )
        optimizer = make_optimizer(
            OptimizerConfig(given.learning_rate, warmup=0, beta2=given.beta2, clip_norm=given.clip_norm)
        )
        self._policy, self._value = (init_train_state(each, optimizer) for each in parameters(Shape()))
        self._score, self._values = make_score_fn(self._model), make_value_fn(self._model)
        self._advantages = make_advantage_fn(self._config)
        self._update_policy = make_policy_update(self._model, optimizer, self._config)
        self._update_value = make_value_update(self._model, optimizer, given.value_clip)

    def turn(self) -> dict[str, Any]:
        """One PPO iteration, all rows in one minibatch."""
        before = np.asarray(self._policy.parameters["embed"]["embedding"])
        began = clock()
        packed = self._packer.pack(self._trajectories, 1)
        num_rows, row_length = packed.rows.action_mask.shape
        proximal = map_rows(self._score, self._policy.parameters, packed.rows, num_rows)
        values = map_rows(self._values, self._value.parameters, packed.rows, num_rows)
        config = RewardConfig(max_length=row_length + 1, length_cache=1)
        # The policy that sampled is the present one, as in Tunix.
        packed = dataclasses.replace(packed, rows=dataclasses.replace(packed.rows, log_probs=proximal))
        rewards = token_rewards(packed, self._trajectories, config)
        batch, _ = make_ppo_batch(packed, self._trajectories, rewards, proximal, values, self._config, self._advantages)
        prepared = clock()
        for minibatch in minibatches(batch, num_rows, np.random.default_rng(0)):
            self._policy, metrics = self._update_policy(self._policy, minibatch)
            self._value, value_metrics = self._update_value(self._value, value_batch(minibatch))
        jax.block_until_ready((self._policy, self._value))
        done = clock()
        acted = packed.rows.action_mask
        return {
            "prepare": between(began, prepared),
            "update": between(prepared, done),
            "tokens": int((packed.rows.inputs.segments > 0).sum()),
            "computed": acted.size,
            "checks": {
                "log-probability": float(proximal[acted].mean()),
                "value": float(values[acted].mean()),
                "value squared": float(np.square(values[acted]).mean()),
                "value loss": float(value_metrics["value_loss"]),
                "policy gradient norm": float(metrics["gradient_norm"]),
                "embedding moved": float(
                    np.abs(np.asarray(self._policy.parameters["embed"]["embedding"]) - before).max()
                ),
            },
        }


@functools.cache
def advantage_fn() -> Callable[..., Advantages]:
    given = Hyperparameters()
    return make_advantage_fn(
        PPOConfig(gamma=given.gamma, lambda_policy=given.gae_lambda, lambda_critic=given.gae_lambda)
    )


def advantages_turn() -> dict[str, Any]:
    """GAE with two lambdas, whitened."""
    rewards, values, valid = advantage_inputs()
    function = advantage_fn()
    began = clock()
    found = function(rewards, values, valid)
    advantages, targets = np.asarray(found.advantages), np.asarray(found.targets)
    done = clock()
    return {
        "prepare": [0.0, 0.0],
        "update": between(began, done),
        "tokens": int(valid.sum()),
        "computed": valid.size,
        "checks": {"advantage": float(np.abs(advantages[valid]).mean()), "return": float(targets[valid].mean())},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("batch", choices=(*BATCHES, "gae"))
    batch = parser.parse_args().batch
    serve(advantages_turn if batch == "gae" else Side(batch).turn)


if __name__ == "__main__":
    main()
