"""Tunix's side of `update_tokens.py`: google-tunix 0.1.7 in an environment of its own.

`RLCluster` and `PPOLearner` are built as its documentation says, on a mesh of one device. The learner puts the PPO
losses of its registry into the cluster's two trainers. A turn is then what `PPOLearner` does with finished rollouts:
`_generate_and_compute_advantage` from the rollout on (old log-probabilities, values, rewards, GAE, whitening) and the
loop over micro-batches with `update_actor` and `update_critic`, all jitted. Rollouts are given, so the rollout engine
generates nothing; its log-probabilities are computed as its vanilla engine does. No reference model and no KL (beta 0).

One thing differs from its learner: the mask has only what was sampled, where `PPOLearner`, made for one turn, trains on
every token after the prompt.

Axes: N episodes, P prompt tokens, C tokens after the prompt.
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from tunix.models.qwen3.model import ModelConfig, Qwen3
from tunix.rl import common, function_registry
from tunix.rl.ppo.ppo_learner import PPOConfig, PPOLearner, TrainExample
from tunix.rl.rl_cluster import ClusterConfig, RLCluster, RLTrainingConfig, Role
from tunix.rl.rollout.base_rollout import BaseRollout, RolloutConfig, RolloutOutput
from tunix.rl.utils import create_critic_model, get_batch_slice

from tests.benchmarks.peers.setting import (
    BATCHES,
    PAD,
    Hyperparameters,
    Shape,
    advantage_inputs,
    episodes,
    padded,
    weights,
)
from tests.benchmarks.peers.turns import between, clock, serve

EOS = 1  # never looked at: lengths are known


class NoTokenizer:
    """What the cluster asks of a tokenizer where nothing is text."""

    def encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def decode(self, ids: list[int]) -> str:
        raise NotImplementedError

    def bos_id(self) -> int:
        return EOS

    def eos_id(self) -> int:
        return EOS

    def pad_id(self) -> int:
        return PAD


class GivenRollouts(BaseRollout):
    """A rollout engine that only scores."""

    def __init__(self, rollout_actor: nnx.Module, **_: Any) -> None:
        self._model = rollout_actor

    def generate(self, prompts: list[str], rollout_config: RolloutConfig, **_: Any) -> RolloutOutput:
        raise NotImplementedError

    def get_per_token_logps(self, prompt_tokens: jax.Array, completion_tokens: jax.Array) -> jax.Array:
        return common.compute_per_token_logps(
            *nnx.split(self._model),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            pad_id=PAD,
            eos_id=EOS,
            stop_gradient=True,
            return_logits=False,
        )

    def update_params(self, params: Any, filter_types: Any = None) -> None:
        raise NotImplementedError

    def pad_id(self) -> int:
        return PAD

    def eos_id(self) -> int:
        return EOS

    def model(self) -> nnx.Module:
        return self._model


def models(shape: Shape) -> tuple[Qwen3, nnx.Module]:
    """Actor and critic with the shared weights."""
    config = ModelConfig(
        num_layers=shape.depth,
        vocab_size=shape.vocabulary,
        embed_dim=shape.width,
        hidden_dim=shape.mlp_width,
        num_heads=shape.query_heads,
        head_dim=shape.head_dim,
        num_kv_heads=shape.kv_heads,
        rope_theta=int(shape.rope_theta),
        norm_eps=1e-6,
    )
    actor, given = Qwen3(config, rngs=nnx.Rngs(0)), weights(shape)
    actor.embedder.input_embedding[...] = jnp.asarray(given["embed"])
    actor.final_norm.w[...] = jnp.asarray(given["norm"])
    actor.lm_head.w[...] = jnp.asarray(given["vocabulary_head"])
    for number, layer in enumerate(actor.layers):
        for parameter, name in (
            (layer.input_layernorm.w, "attention_norm"),
            (layer.attn.q_proj.w, "query"),
            (layer.attn.k_proj.w, "key"),
            (layer.attn.v_proj.w, "value"),
            (layer.attn.q_norm.w, "query_norm"),
            (layer.attn.k_norm.w, "key_norm"),
            (layer.attn.o_proj.w, "out"),
            (layer.post_attention_layernorm.w, "mlp_norm"),
            (layer.mlp.gate_proj.kernel, "gate"),
            (layer.mlp.up_proj.kernel, "up"),
            (layer.mlp.down_proj.kernel, "down"),
        ):
            assert parameter.shape == given[name][number].shape
            parameter[...] = jnp.asarray(given[name][number])
    critic = create_critic_model(actor)
    critic.lm_head.kernel[...] = jnp.asarray(given["scalar_head"])
    return actor, critic


class Side:
    """The learner and its cluster, and the batch; `micro_batches` gradients are added up for an update."""

    def __init__(self, batch: str, micro_batches: int) -> None:
        given, chosen = Hyperparameters(), episodes(batch)
        self._batch = padded(chosen)
        self._tokens = sum(each.tokens.size for each in chosen)
        self._rewards = np.array([each.reward for each in chosen], np.float32)
        self._micro = len(chosen) // micro_batches
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("fsdp", "tp"))

        def optimizer() -> optax.GradientTransformation:
            adamw = optax.adamw(given.learning_rate, b2=given.beta2, weight_decay=0.0)
            return optax.chain(optax.clip_by_global_norm(given.clip_norm), adamw)

        training = RLTrainingConfig(
            actor_optimizer=optimizer(),
            critic_optimizer=optimizer(),
            eval_every_n_steps=1_000_000,
            mini_batch_size=len(chosen),
            train_micro_batch_size=self._micro,
        )
        with mesh:
            actor, critic = models(Shape())
            self._cluster = RLCluster(
                actor=actor,
                critic=critic,
                tokenizer=NoTokenizer(),
                cluster_config=ClusterConfig(
                    role_to_mesh={role: mesh for role in Role},
                    rollout_engine=GivenRollouts,
                    training_config=training,
                    rollout_config=RolloutConfig(
                        max_prompt_length=self._batch.prompt_ids.shape[1],
                        max_tokens_to_generate=self._batch.completion_ids.shape[1],
                    ),
                ),
            )
        self._config = PPOConfig(
            beta=0.0,
            gamma=given.gamma,
            gae_lambda=given.gae_lambda,
            epsilon_low=given.clip_low,
            epsilon_high=given.clip_high,
            clip_range_value=given.value_clip,
        )
        PPOLearner(self._cluster, self._config, reward_fns=lambda prompts, **_: [0.0] * len(prompts))

    def turn(self) -> dict[str, Any]:
        """One PPO iteration with one update of actor and critic."""
        before = self._embedding()
        began = clock()
        example = self._prepared()
        jax.block_until_ready(example)
        prepared = clock()
        for first in range(0, len(self._rewards), self._micro):
            piece = get_batch_slice(example, slice(first, first + self._micro))
            self._cluster.update_actor([piece], None)
            self._cluster.update_critic([piece], None)
        trainers = self._cluster.actor_trainer, self._cluster.critic_trainer
        jax.block_until_ready([nnx.state(trainer.model) for trainer in trainers])
        done = clock()
        acted = self._batch.action_mask
        values = np.asarray(example.old_values)[acted]
        actor, critic = (trainer._prev_buffered_train_metrics for trainer in trainers)  # logged an update later
        return {
            "prepare": between(began, prepared),
            "update": between(prepared, done),
            "tokens": self._tokens,
            "computed": self._batch.prompt_ids.size + self._batch.completion_ids.size,
            "checks": {
                "log-probability": float(np.asarray(example.old_per_token_logps)[acted].mean()),
                "value": float(values.mean()),
                "value squared": float(np.square(values).mean()),
                "value loss": float(critic.loss),
                "policy gradient norm": float(np.mean(actor.additional_metrics["grad_norm"][0])),
                "embedding moved": float(np.abs(self._embedding() - before).max()),
            },
        }

    def _prepared(self) -> TrainExample:
        """`PPOLearner._generate_and_compute_advantage`, from the rollout on."""
        prompts, completions = jnp.array(self._batch.prompt_ids), jnp.array(self._batch.completion_ids)
        mask = jnp.array(self._batch.action_mask)
        old = self._cluster.get_old_per_token_logps(prompts, completions, micro_batch_size=self._micro)
        values = self._cluster.get_values(prompts, completions, pad_id=PAD, eos_id=EOS)
        values = values[:, -completions.shape[1] - 1 : -1] * mask
        rewards = jnp.zeros_like(completions).at[jnp.arange(len(self._rewards)), self._batch.last].add(self._rewards)
        estimator = function_registry.default_registry.get("advantage_estimator", self._config.advantage_estimator)
        advantages, returns = estimator(
            rewards=rewards,
            values=values,
            completion_mask=mask,
            gamma=self._config.gamma,
            gae_lambda=self._config.gae_lambda,
        )
        return TrainExample(
            prompt_ids=prompts,
            prompt_mask=(prompts != PAD).astype("int32"),
            completion_ids=completions,
            completion_mask=mask,
            ref_per_token_logps=None,
            advantages=advantages,
            returns=returns,
            old_per_token_logps=old,
            old_values=values,
        )

    def _embedding(self) -> np.ndarray:
        return np.asarray(self._cluster.actor_trainer.model.embedder.input_embedding[...])


def advantages_turn() -> dict[str, Any]:
    given = Hyperparameters()
    rewards, values, valid = advantage_inputs()
    estimator = function_registry.default_registry.get("advantage_estimator", "gae")
    began = clock()
    found = estimator(
        rewards=rewards, values=values, completion_mask=valid, gamma=given.gamma, gae_lambda=given.gae_lambda
    )
    advantages, returns = (np.asarray(each) for each in found)
    done = clock()
    return {
        "prepare": [0.0, 0.0],
        "update": between(began, done),
        "tokens": int(valid.sum()),
        "computed": valid.size,
        "checks": {"advantage": float(np.abs(advantages[valid]).mean()), "return": float(returns[valid].mean())},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("batch", choices=(*BATCHES, "gae"))
    parser.add_argument("--micro_batches", type=int, default=1)
    arguments = parser.parse_args()
    serve(advantages_turn if arguments.batch == "gae" else Side(arguments.batch, arguments.micro_batches).turn)


if __name__ == "__main__":
    main()
