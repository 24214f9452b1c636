"""The stages of an agent on the device, each for one seed, pure and traceable: whole loops become one program.

Axes: E episodes of an update, S steps, R = E * S rows, U updates of a call, K parts of a mixture.

Every update draws from keys of its own (stage, seed, number), so a call for updates 3 and 4 gives what these would have
been in one call for all. Levels are keys, too: each stage has its own, and those of the evaluation are the same for all
seeds. Every update plays fresh episodes; only demonstrations come again, when all `demonstrations` levels were shown.

A mixture has several scenes. Their episodes stand one part behind the other, by the parts' weights, in every stage.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.episodes import EpisodeArrays
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.quantization import quantize
from tars_jax.rl import correlation, explained_variance, token_mean
from tars_jax.rollout.mixed_pool import shares
from tars_jax.rollout.on_device import Scene, demonstrate, rollout
from tars_jax.training.advantages import informative
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig, unless_off
from tars_jax.training.minibatches import take_rows
from tars_jax.training.on_device import (
    map_played_rows,
    noisy_rewards,
    over_minibatches,
    ppo_batch,
    return_batch,
    rows_of,
    shape_rewards,
    shuffle_played_first,
)
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.ppo import PPOBatch, policy_update, score_fn, value_batch
from tars_jax.training.state import Metrics, TrainState, value_parameters
from tars_jax.training.supervised import supervised_update
from tars_jax.training.value import ValueBatch, value_fn, value_model, value_update

SUPERVISED, VALUE, TRAINING, HELD_OUT = range(4)
Config = TypeVar("Config")
Floats = dict[str, dict[str, jax.Array]]  # section -> field -> value
Scenes = tuple[Scene, ...]  # [K]


class MixturePart(NamedTuple):
    """A part of a mixture: one scene's share of every batch."""

    name: str  # of its metrics
    weight: float


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
    parts: tuple[MixturePart, ...]

    def parts_of(self, total: int, group_size: int = 1) -> np.ndarray:
        """int32 [total], rising: the part of each of so many episodes, in whole groups."""
        groups = shares(total // group_size, [part.weight for part in self.parts])
        return np.repeat(np.arange(len(groups), dtype=np.int32), group_size * np.array(groups))

    @property
    def value_models(self) -> int:
        return len(self.parts) if self.ppo.value_models == "part" else 1


class Actors(NamedTuple):
    """Training states of PPO, and the policy that it began with."""

    policy: TrainState
    values: tuple[TrainState, ...]  # one, or one for each part; as they are where advantages come from groups
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
    """Keys, one for each number [N] of a stage."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), stage), seed)
    return jax.vmap(jax.random.fold_in, (None, 0))(key, numbers)


def start_supervised(design: Design, seed: jax.Array) -> TrainState:
    """Initializes a policy."""
    parameters = init_parameters(design.model, keys_of(SUPERVISED, seed, jnp.array([-1]))[0])
    return _start(parameters, design.supervised)


def _start(parameters: Parameters, config: OptimizerConfig) -> TrainState:
    return TrainState(parameters, make_optimizer(config).init(parameters), jnp.int32(0))


def supervise(
    design: Design, updates: int, state: TrainState, seed: jax.Array, first: jax.Array, scenes: Scenes, floats: Floats
) -> tuple[TrainState, Metrics]:
    """Updates `first`, `first` + 1, ... on the expert's episodes; metrics [U]."""
    update = supervised_update(design.model, make_optimizer(design.supervised), design.router_aux_loss_weight)
    parts = design.parts_of(design.supervised_episodes)

    def one(state: TrainState, number: jax.Array) -> tuple[TrainState, Metrics]:
        levels = (number * design.supervised_episodes + jnp.arange(design.supervised_episodes)) % design.demonstrations
        key = keys_of(SUPERVISED, seed, number[None] + design.demonstrations)[0]
        episodes = _demonstrated(scenes, keys_of(SUPERVISED, seed, levels), parts, floats["demonstrations"]["skill"])
        order, _ = shuffle_played_first(episodes, key)
        return update(state, take_rows(rows_of(episodes), order[: design.supervised_rows]))

    return jax.lax.scan(one, state, first + jnp.arange(updates))


def start_value(design: Design, policy: Parameters, seed: jax.Array) -> tuple[TrainState, ...]:
    """Value models on the policy's trunk, all with one head."""
    fresh = init_parameters(value_model(design.model), keys_of(VALUE, seed, jnp.array([-1]))[0])
    return tuple(_start(value_parameters(policy, fresh), design.value) for _ in range(design.value_models))


def pretrain_value(
    design: Design,
    updates: int,
    states: tuple[TrainState, ...],
    policy: Parameters,
    seed: jax.Array,
    first: jax.Array,
    scenes: Scenes,
    floats: Floats,
) -> tuple[tuple[TrainState, ...], Metrics]:
    """Updates on the fixed policy's returns; metrics [U].

    The episodes of each update are new: what is said of them is said before they are learned from, so it is held out.
    """
    config, ppo = _with(design.value, floats["value"]), _with(design.ppo, floats["ppo"])
    update = value_update(design.model, make_optimizer(config), None)
    levels, parts = jnp.arange(design.value_episodes), design.parts_of(design.value_episodes)

    def one(states: tuple[TrainState, ...], number: jax.Array) -> tuple[tuple[TrainState, ...], Metrics]:
        episodes, _, rewards, key = _episodes(design, VALUE, policy, seed, number, levels, parts, scenes, floats)
        batch = return_batch(episodes, rewards, ppo)
        values = _values(design, states, episodes, parts, design.value_rows)
        mask = batch.rows.action_mask
        found = {
            "heldout_explained_variance": explained_variance(batch.targets, values, mask),
            "heldout_correlation": correlation(batch.targets, values, mask),
            "heldout_loss": 0.5 * token_mean(jnp.square(values - batch.targets), mask),
        }
        own = _own_rows(design, episodes, parts)
        states, loss = _learned(update, states, batch, own, design.value_rows, design.value_epochs, key)
        return states, found | {"value_loss": loss, "reward": rewards.sum(1).mean()}

    return jax.lax.scan(one, states, first + jnp.arange(updates))


def start_training(design: Design, policy: Parameters, values: tuple[Parameters, ...]) -> Actors:
    earlier = None
    if design.lag:
        earlier = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (design.lag, *leaf.shape)), policy)
    critics = tuple(_start(value, design.value_optimizer) for value in values)
    return Actors(_start(policy, design.policy_optimizer), critics, policy, earlier)


def _players(actors: Actors) -> Parameters:
    """The policy that plays the episodes of the next update."""
    if actors.earlier is None:
        return actors.policy.parameters
    return jax.tree.map(lambda leaf: leaf[0], actors.earlier)


def _aged(actors: Actors, before: Parameters) -> Parameters | None:
    """The policy that plays next, an update further; `before` is the policy that this update began with."""
    if actors.earlier is None:
        return None
    return jax.tree.map(lambda leaf, new: jnp.concatenate([leaf[1:], new[None]]), actors.earlier, before)


def train(
    design: Design, updates: int, actors: Actors, seed: jax.Array, first: jax.Array, scenes: Scenes, floats: Floats
) -> tuple[Actors, Metrics]:
    """PPO updates `first`, `first` + 1, ...; metrics [U]."""
    ppo = _with(design.ppo, floats["ppo"])
    optimizers = (
        make_optimizer(_with(design.policy_optimizer, floats["policy_optimizer"])),
        make_optimizer(_with(design.value_optimizer, floats["value_optimizer"])),
    )
    update_policy = policy_update(design.model, optimizers[0], ppo)
    update_value = value_update(design.model, optimizers[1], unless_off(ppo.value_clip))

    score, groups = score_fn(design.model), jnp.arange(design.episodes) // design.group_size
    parts = design.parts_of(design.episodes, design.group_size)
    named = list(enumerate(design.parts)) if len(design.parts) > 1 else []

    def update(actors: Actors, batch: PPOBatch) -> tuple[Actors, Metrics]:
        policy, metrics = update_policy(actors.policy, batch)
        if not ppo.uses_values or design.value_models > 1:
            return actors._replace(policy=policy), metrics
        value, value_metrics = update_value(actors.values[0], value_batch(batch))
        return actors._replace(policy=policy, values=(value,)), metrics | {"value_loss": value_metrics["value_loss"]}

    def one(actors: Actors, number: jax.Array) -> tuple[Actors, Metrics]:
        episodes, verdicts, rewards, key = _episodes(
            design, TRAINING, _players(actors), seed, number, groups, parts, scenes, floats
        )
        before, played = actors.policy.parameters, episodes.played.ravel()
        rows, values, reference, proximal = rows_of(episodes), jnp.zeros(episodes.log_probs.shape), None, None
        values = values.reshape(rows.action_mask.shape)
        if ppo.uses_values:
            values = _values(design, actors.values, episodes, parts, ppo.minibatch_rows)
        if ppo.uses_reference:
            reference = map_played_rows(lambda some: score(actors.reference, some), rows, played, ppo.minibatch_rows)
        if ppo.decoupled:
            proximal = map_played_rows(lambda some: score(before, some), rows, played, ppo.minibatch_rows)
        names = [part.name for _, part in named]
        batch, prepared = ppo_batch(episodes, verdicts, rewards, values, ppo, groups, reference, proximal, parts, names)
        taken = episodes.played
        if design.dynamic_sampling:
            taken &= informative(verdicts.sum(1), groups)[:, None]
        actors, learned = over_minibatches(update, actors, batch, taken.ravel(), ppo.minibatch_rows, ppo.epochs, key)
        if ppo.uses_values and design.value_models > 1:
            own = [rows & taken.ravel() for rows in _own_rows(design, episodes, parts)]
            critics, learned["value_loss"] = _learned(
                update_value, actors.values, value_batch(batch), own, ppo.minibatch_rows, ppo.epochs, key
            )
            actors = actors._replace(values=critics)
        actors = actors._replace(earlier=_aged(actors, before))
        of_parts = {f"{part.name}/success": episodes.succeeded[parts == number].mean() for number, part in named}
        described = describe(episodes) | of_parts | {"reward": rewards.sum(1).mean()}
        return actors, described | prepared | learned

    return jax.lax.scan(one, actors, first + jnp.arange(updates))


def evaluate(
    design: Design, count: int, policy: Parameters, seed: jax.Array, scenes: Scenes, floats: Floats
) -> dict[str, jax.Array]:
    """The policy on `count` held-out levels, of the parts by their weights; every field [count]."""
    if scenes[0].config.quantized:
        policy = quantize(design.model, policy)
    key = keys_of(HELD_OUT, seed, jnp.array([-1]))[0]
    levels, parts = keys_of(HELD_OUT, 0, jnp.arange(count)), design.parts_of(count)
    episodes = _rollout(design, policy, levels, key, parts, scenes, floats)
    played = episodes.played
    return {
        "success": episodes.succeeded,
        "reward": episodes.rewards.sum(1),
        "steps": played.sum(1),
        "think_tokens": (episodes.think_tokens * played).sum(1) / played.sum(1),
        "valid": (episodes.valid & played).sum(1) / played.sum(1),
    }


def reference(design: Design, count: int, scenes: Scenes) -> jax.Array:
    """Whether the expert, without its mistakes, succeeds on each of the held-out levels [count]."""
    return _demonstrated(scenes, keys_of(HELD_OUT, 0, jnp.arange(count)), design.parts_of(count), 1.0).succeeded


def describe(episodes: EpisodeArrays) -> Metrics:
    """Metrics of a batch of episodes."""
    played = episodes.played
    return {
        "success": episodes.succeeded.mean(),
        "true_reward": episodes.rewards.sum(1).mean(),
        "episode_steps": played.sum(1).mean(),
        "think_tokens": token_mean(episodes.think_tokens, played),
        "valid": token_mean(episodes.valid, played),
        "several_calls": token_mean(episodes.calls > 1, played),
        "action_tokens": token_mean(episodes.action_mask.sum(-1), played),
    }


def _episodes(
    design: Design,
    stage: int,
    policy: Parameters,
    seed: jax.Array,
    number: jax.Array,
    groups: jax.Array,
    parts: np.ndarray,
    scenes: Scenes,
    floats: Floats,
) -> tuple[EpisodeArrays, jax.Array, jax.Array, jax.Array]:
    """The episodes of an update, their verdicts [E, S], the rewards shaped from these, and a key for what follows.

    `groups` [E] are numbers below E: episodes with equal ones play the same level. `parts` [E] are the episodes' parts.
    """
    own = keys_of(stage, seed, -2 - number[None])[0]
    play_key, verdict_key, key = jax.random.split(own, 3)
    levels = keys_of(stage, seed, number * groups.size + groups)
    episodes = _rollout(design, policy, levels, play_key, parts, scenes, floats)
    verdicts = noisy_rewards(episodes, verdict_key, **floats["verifier"])
    return episodes, verdicts, shape_rewards(episodes, verdicts, _with(design.reward, floats["reward"])), key


def _each_part(
    play: Callable[[int, Scene, jax.Array], EpisodeArrays], scenes: Scenes, levels: jax.Array, parts: np.ndarray
) -> EpisodeArrays:
    """`play` of every part's number, scene and levels, one behind the other; levels' keys and `parts` are [E]."""
    found = [play(number, scene, levels[parts == number]) for number, scene in enumerate(scenes)]
    return found[0] if len(found) == 1 else jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *found)


def _demonstrated(scenes: Scenes, levels: jax.Array, parts: np.ndarray, skill: jax.Array | float) -> EpisodeArrays:
    return _each_part(lambda _, scene, own: demonstrate(scene, own, skill), scenes, levels, parts)


def _rollout(
    design: Design,
    policy: Parameters,
    levels: jax.Array,
    key: jax.Array,
    parts: np.ndarray,
    scenes: Scenes,
    floats: Floats,
) -> EpisodeArrays:
    def play(number: int, scene: Scene, own: jax.Array) -> EpisodeArrays:
        own_key = jax.random.fold_in(key, number) if number else key
        return rollout(scene, design.model, policy, own, own_key, floats["sampling"]["temperature"])

    return _each_part(play, scenes, levels, parts)


def _learned(
    update: Callable[[TrainState, ValueBatch], tuple[TrainState, Metrics]],
    states: tuple[TrainState, ...],
    batch: ValueBatch,
    own: list[jax.Array],
    rows: int,
    epochs: int,
    key: jax.Array,
) -> tuple[tuple[TrainState, ...], jax.Array]:
    """Each value model after its own rows [R] of the batch, `rows` at a time; and their mean loss."""
    each = zip(states, own, strict=True)
    found = [over_minibatches(update, state, batch, mine, rows, epochs, key) for state, mine in each]
    return tuple(state for state, _ in found), jnp.stack([metrics["value_loss"] for _, metrics in found]).mean()


def _own_rows(design: Design, episodes: EpisodeArrays, parts: np.ndarray) -> list[jax.Array]:
    """bool [R] for every value model: the played rows that are its own."""
    played = episodes.played.ravel()
    if design.value_models == 1:
        return [played]
    of_rows = np.repeat(parts, episodes.played.shape[1])
    return [played & (of_rows == number) for number in range(design.value_models)]


def _values(
    design: Design, states: tuple[TrainState, ...], episodes: EpisodeArrays, parts: np.ndarray, at_a_time: int
) -> jax.Array:
    """[R, T]: every row by its own value model."""
    value, rows = value_fn(design.model), rows_of(episodes)

    def of_one(state: TrainState, own: jax.Array) -> jax.Array:
        return map_played_rows(lambda some: value(state.parameters, some), rows, own, at_a_time)

    found = [of_one(*each) for each in zip(states, _own_rows(design, episodes, parts), strict=True)]
    return functools.reduce(jnp.add, found)
