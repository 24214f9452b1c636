"""The stages of an agent on the device, each for one seed, pure and traceable: whole loops become one program.

Axes: E episodes of an update, S steps, R = E * S rows, U updates of a call.

Every update draws from keys of its own (stage, seed, number), so a call for updates 3 and 4 gives what these would have
been in one call for all. Levels are keys, too: each stage has its own, and those of the evaluation are the same for all
seeds. Every update plays fresh episodes; only demonstrations come again, when all `demonstrations` levels were shown.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from tars_jax.episodes import Episodes
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.quantization import quantize
from tars_jax.rl import correlation, explained_variance, token_mean
from tars_jax.rollout.on_device import Scene, demonstrate, rollout
from tars_jax.training.on_device import (
    informative,
    judged,
    on_played,
    over_minibatches,
    played_first,
    ppo_batch,
    return_batch,
    rows_of,
    shaped,
)
from tars_jax.training.optimizers import OptimizerConfig, make_optimizer
from tars_jax.training.placement import take_rows
from tars_jax.training.ppo import PPOBatch, policy_update, score_fn, value_batch
from tars_jax.training.ppo_config import PPOConfig
from tars_jax.training.rewards import RewardConfig
from tars_jax.training.state import Metrics, TrainState, value_parameters
from tars_jax.training.supervised import supervised_update
from tars_jax.training.value import value_fn, value_model, value_update

SUPERVISED, VALUE, TRAINING, HELD_OUT = range(4)
Config = TypeVar("Config")
Floats = dict[str, dict[str, jax.Array]]  # section -> field -> value


@dataclasses.dataclass(frozen=True)
class Design:
    """All that a program depends on but its scene. Numbers that it takes when it runs (`Floats`) stand here as 1."""

    model: ModelConfig
    demonstrations: int  # episodes that there are
    supervised_episodes: int  # E of a supervised update
    supervised_rows: int  # at most, of a supervised update
    supervised: OptimizerConfig
    router_aux_loss_weight: float
    value_episodes: int
    value_rows: int
    value_epochs: int
    value: OptimizerConfig
    episodes: int  # E of a PPO update
    group_size: int  # of them on one level
    lag: int  # updates that the policy which plays is behind the one that learns
    dynamic_sampling: bool  # groups whose members all did equally well are left out
    ppo: PPOConfig
    policy_optimizer: OptimizerConfig
    value_optimizer: OptimizerConfig
    reward: RewardConfig


class Actors(NamedTuple):
    """What PPO trains, and the policy that it began with."""

    policy: TrainState
    value: TrainState  # stays as it is where advantages come from groups
    reference: Parameters
    earlier: Parameters | None  # before each of the last `lag` updates [lag, ...]; the oldest plays. None without a lag


def without(config: Config, names: tuple[str, ...] | None = None) -> tuple[Config, dict[str, float]]:
    """A config with its floats set to 1, and these floats: what a program takes when it runs.

    A float that is 0 stays: what is off is not in the program.
    """
    found = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}  # type: ignore[arg-type]
    floats = {name: each for name, each in found.items() if type(each) is float and each and name in (names or found)}
    return _with(config, dict.fromkeys(floats, 1.0)), floats


def _with(config: Config, values: dict[str, Any]) -> Config:
    """Like `dataclasses.replace`, unchecked: inside a trace a number has no value to check."""
    changed = copy.copy(config)
    for name, each in values.items():
        object.__setattr__(changed, name, each)
    return changed


def keys_of(stage: int, seed: jax.Array | int, numbers: jax.Array) -> jax.Array:
    """One key for each number [N] of a stage."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), stage), seed)
    return jax.vmap(jax.random.fold_in, (None, 0))(key, numbers)


def start_supervised(design: Design, seed: jax.Array) -> TrainState:
    """A fresh policy."""
    parameters = init_parameters(design.model, keys_of(SUPERVISED, seed, jnp.array([-1]))[0])
    return _start(parameters, design.supervised)


def _start(parameters: Parameters, config: OptimizerConfig) -> TrainState:
    return TrainState(parameters, make_optimizer(config).init(parameters), jnp.int32(0))


def supervise(
    design: Design, updates: int, state: TrainState, seed: jax.Array, first: jax.Array, scene: Scene, floats: Floats
) -> tuple[TrainState, Metrics]:
    """Updates `first`, `first` + 1, ... on the expert's episodes; metrics [U]."""
    update = supervised_update(design.model, make_optimizer(design.supervised), design.router_aux_loss_weight)

    def one(state: TrainState, number: jax.Array) -> tuple[TrainState, Metrics]:
        levels = (number * design.supervised_episodes + jnp.arange(design.supervised_episodes)) % design.demonstrations
        key = keys_of(SUPERVISED, seed, number[None] + design.demonstrations)[0]
        episodes = demonstrate(scene, keys_of(SUPERVISED, seed, levels), floats["demonstrations"]["skill"])
        order, _ = played_first(episodes, key)
        return update(state, take_rows(rows_of(episodes), order[: design.supervised_rows]))

    return jax.lax.scan(one, state, first + jnp.arange(updates))


def start_value(design: Design, policy: Parameters, seed: jax.Array) -> TrainState:
    """A value model on the policy's trunk."""
    fresh = init_parameters(value_model(design.model), keys_of(VALUE, seed, jnp.array([-1]))[0])
    return _start(value_parameters(policy, fresh), design.value)


def pretrain_value(
    design: Design,
    updates: int,
    state: TrainState,
    policy: Parameters,
    seed: jax.Array,
    first: jax.Array,
    scene: Scene,
    floats: Floats,
) -> tuple[TrainState, Metrics]:
    """Updates on the fixed policy's returns; metrics [U].

    The episodes of each update are new: what is said of them is said before they are learned from, so it is held out.
    """
    config, ppo = _with(design.value, floats["value"]), _with(design.ppo, floats["ppo"])
    update = value_update(design.model, make_optimizer(config), None)
    levels = jnp.arange(design.value_episodes)

    def one(state: TrainState, number: jax.Array) -> tuple[TrainState, Metrics]:
        episodes, _, rewards, key = _episodes(design, VALUE, policy, seed, number, levels, scene, floats)
        batch = return_batch(episodes, rewards, ppo)
        values = _values(design, state.parameters, episodes, design.value_rows)
        mask = batch.rows.action_mask
        found = {
            "heldout_explained_variance": explained_variance(batch.targets, values, mask),
            "heldout_correlation": correlation(batch.targets, values, mask),
            "heldout_loss": 0.5 * token_mean(jnp.square(values - batch.targets), mask),
        }
        played = episodes.played.ravel()
        state, metrics = over_minibatches(update, state, batch, played, design.value_rows, design.value_epochs, key)
        return state, found | {"value_loss": metrics["value_loss"], "reward": rewards.sum(1).mean()}

    return jax.lax.scan(one, state, first + jnp.arange(updates))


def start_training(design: Design, policy: Parameters, value: Parameters) -> Actors:
    earlier = None
    if design.lag:
        earlier = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (design.lag, *leaf.shape)), policy)
    return Actors(_start(policy, design.policy_optimizer), _start(value, design.value_optimizer), policy, earlier)


def _players(actors: Actors) -> Parameters:
    """The policy that plays the episodes of the next update."""
    if actors.earlier is None:
        return actors.policy.parameters
    return jax.tree.map(lambda leaf: leaf[0], actors.earlier)


def _aged(actors: Actors, before: Parameters) -> Parameters | None:
    """What plays later, an update further; `before` is the policy that this update began with."""
    if actors.earlier is None:
        return None
    return jax.tree.map(lambda leaf, new: jnp.concatenate([leaf[1:], new[None]]), actors.earlier, before)


def train(
    design: Design, updates: int, actors: Actors, seed: jax.Array, first: jax.Array, scene: Scene, floats: Floats
) -> tuple[Actors, Metrics]:
    """PPO updates `first`, `first` + 1, ...; metrics [U]."""
    ppo = _with(design.ppo, floats["ppo"])
    optimizers = (
        make_optimizer(_with(design.policy_optimizer, floats["policy_optimizer"])),
        make_optimizer(_with(design.value_optimizer, floats["value_optimizer"])),
    )
    update_policy = policy_update(design.model, optimizers[0], ppo)
    update_value = value_update(design.model, optimizers[1], ppo.value_clip)

    score, groups = score_fn(design.model), jnp.arange(design.episodes) // design.group_size

    def update(actors: Actors, batch: PPOBatch) -> tuple[Actors, Metrics]:
        policy, metrics = update_policy(actors.policy, batch)
        if not ppo.uses_values:
            return actors._replace(policy=policy), metrics
        value, value_metrics = update_value(actors.value, value_batch(batch))
        return actors._replace(policy=policy, value=value), metrics | {"value_loss": value_metrics["value_loss"]}

    def one(actors: Actors, number: jax.Array) -> tuple[Actors, Metrics]:
        episodes, verdicts, rewards, key = _episodes(
            design, TRAINING, _players(actors), seed, number, groups, scene, floats
        )
        before = actors.policy.parameters
        rows, values, reference, proximal = rows_of(episodes), jnp.zeros(episodes.log_probs.shape), None, None
        values = values.reshape(rows.action_mask.shape)
        if ppo.uses_values:
            values = _values(design, actors.value.parameters, episodes, ppo.minibatch_rows)
        if ppo.uses_reference:
            reference = on_played(lambda some: score(actors.reference, some), rows, episodes, ppo.minibatch_rows)
        if ppo.decoupled:
            proximal = on_played(lambda some: score(before, some), rows, episodes, ppo.minibatch_rows)
        batch, prepared = ppo_batch(episodes, verdicts, rewards, values, ppo, groups, reference, proximal)
        taken = episodes.played
        if design.dynamic_sampling:
            taken &= informative(verdicts, groups)[:, None]
        actors, learned = over_minibatches(update, actors, batch, taken.ravel(), ppo.minibatch_rows, ppo.epochs, key)
        actors = actors._replace(earlier=_aged(actors, before))
        return actors, describe(episodes) | {"reward": rewards.sum(1).mean()} | prepared | learned

    return jax.lax.scan(one, actors, first + jnp.arange(updates))


def evaluate(
    design: Design, count: int, policy: Parameters, seed: jax.Array, scene: Scene, floats: Floats
) -> dict[str, jax.Array]:
    """The policy on `count` held-out levels; every field [count]."""
    if scene.config.quantized:
        policy = quantize(design.model, policy)
    key = keys_of(HELD_OUT, seed, jnp.array([-1]))[0]
    episodes = _rollout(design, policy, keys_of(HELD_OUT, 0, jnp.arange(count)), key, scene, floats)
    played = episodes.played
    return {
        "success": episodes.succeeded,
        "reward": episodes.rewards.sum(1),
        "steps": played.sum(1),
        "think_tokens": (episodes.think_tokens * played).sum(1) / played.sum(1),
        "valid": (episodes.valid & played).sum(1) / played.sum(1),
    }


def reference(count: int, scene: Scene) -> jax.Array:
    """Whether the expert, without its mistakes, succeeds on each of the held-out levels [count]."""
    return demonstrate(scene, keys_of(HELD_OUT, 0, jnp.arange(count)), 1.0).succeeded


def describe(episodes: Episodes) -> Metrics:
    """What a batch of episodes looks like."""
    played = episodes.played
    return {
        "success": episodes.succeeded.mean(),
        "true_reward": episodes.rewards.sum(1).mean(),
        "episode_steps": played.sum(1).mean(),
        "think_tokens": token_mean(episodes.think_tokens, played),
        "valid": token_mean(episodes.valid, played),
        "action_tokens": token_mean(episodes.action_mask.sum(-1), played),
    }


def _episodes(
    design: Design,
    stage: int,
    policy: Parameters,
    seed: jax.Array,
    number: jax.Array,
    groups: jax.Array,
    scene: Scene,
    floats: Floats,
) -> tuple[Episodes, jax.Array, jax.Array, jax.Array]:
    """The episodes of an update, their verdicts [E, S], the rewards shaped from these, and a key for what follows.

    `groups` [E] are numbers below E: episodes with equal ones play the same level.
    """
    own = keys_of(stage, seed, -2 - number[None])[0]
    play_key, verdict_key, key = jax.random.split(own, 3)
    levels = keys_of(stage, seed, number * groups.size + groups)
    episodes = _rollout(design, policy, levels, play_key, scene, floats)
    verdicts = judged(episodes, verdict_key, **floats["verifier"])
    return episodes, verdicts, shaped(episodes, verdicts, _with(design.reward, floats["reward"])), key


def _rollout(
    design: Design, policy: Parameters, levels: jax.Array, key: jax.Array, scene: Scene, floats: Floats
) -> Episodes:
    return rollout(scene, design.model, policy, levels, key, floats["sampling"]["temperature"])


def _values(design: Design, parameters: Parameters, episodes: Episodes, rows: int) -> jax.Array:
    values = value_fn(design.model)
    return on_played(lambda some: values(parameters, some), rows_of(episodes), episodes, rows)
