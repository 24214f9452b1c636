"""Episodes that were played inside a program, learned from inside the same program.

Axes: E episodes, S steps, T tokens of a window, R = E * S rows, M rows of a minibatch.

The array form of `packing`, `rewards` and `advantages`: each step's window is a row, a trajectory is [S * T] with a
mask, and advantages run over the action tokens of the whole episode. Rows of steps that were not played are empty; the
minibatches take the others first, and are as many as these fill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.episodes import EpisodeArrays
from tars_jax.model.policy import Inputs
from tars_jax.rl import soft_overlong_penalty
from tars_jax.training.advantages import advantage_fn, advantage_metrics, return_fn
from tars_jax.training.config import PPOConfig, RewardConfig
from tars_jax.training.minibatches import take_rows
from tars_jax.training.packing import Rows
from tars_jax.training.ppo import PPOBatch
from tars_jax.training.rewards import ending_rewards
from tars_jax.training.state import Metrics
from tars_jax.training.value import ValueBatch

State = TypeVar("State")
Batch = TypeVar("Batch")


def rows_of(episodes: EpisodeArrays) -> Rows:
    """[E, S, T] to [R, T]; steps that were not played become padding."""

    def flat(leaf: jax.Array) -> jax.Array:
        return leaf.reshape(-1, *leaf.shape[2:])

    played = flat(episodes.played)[:, None]
    inputs = Inputs(
        tokens=flat(episodes.tokens),
        positions=jnp.moveaxis(flat(episodes.positions), 1, 0),
        segments=jnp.where(played, flat(episodes.segments), 0),
        images=(flat(_shown(episodes)),),
        image_tokens=flat(episodes.image_tokens),
    )
    mask = flat(episodes.action_mask) & played
    return Rows(inputs, mask, flat(episodes.log_probs), jnp.where(mask, 0, -1))


def _shown(episodes: EpisodeArrays) -> jax.Array:
    """[E, S, I, H, W, 3] the screenshots of each step's prompt, the step's own last; those before the first step are
    some image that no token refers to."""
    images = episodes.images
    steps, window = images.shape[1], episodes.window
    if window == 1:
        return images[:, :, None]
    return images[:, np.maximum(np.arange(steps)[:, None] + np.arange(1 - window, 1), 0)]


def noisy_rewards(
    episodes: EpisodeArrays,
    key: jax.Array,
    false_positive: jax.Array | float = 0.0,
    false_negative: jax.Array | float = 0.0,
) -> jax.Array:
    """The rewards [E, S] under a verifier that errs: at an episode's last step, 1 more where a failure is taken for a
    success (a share `false_positive` of them), 1 less where a success is overlooked."""
    chance = jax.random.uniform(key, episodes.succeeded.shape)
    wrong = jnp.where(episodes.succeeded, -1.0 * (chance < false_negative), 1.0 * (chance < false_positive))
    return episodes.rewards + _last(episodes.played) * wrong[:, None]


def shape_rewards(episodes: EpisodeArrays, rewards: jax.Array, config: RewardConfig) -> jax.Array:
    """Verdicts [E, S] to rewards, as `tars_jax.training.rewards` shapes them."""
    played = episodes.played
    lengths = episodes.action_mask.sum(-1)
    overlong = soft_overlong_penalty(lengths, config.max_length, config.length_cache)
    shaping = config.length_penalty * overlong - config.format_penalty * ~episodes.valid
    ending = ending_rewards(played.sum(1), played.shape[1], succeeded_by(rewards), episodes.ended, config)
    return jnp.where(played, rewards + shaping, 0.0) + _last(played) * ending[:, None]


def succeeded_by(verdicts: jax.Array) -> jax.Array:
    """Whether verdicts [E, S] say that an episode was solved."""
    return verdicts.sum(1) > 0


def _last(played: jax.Array) -> jax.Array:
    """bool [E, S]: the last step of each episode."""
    return played & ~jnp.pad(played[:, 1:], ((0, 0), (0, 1)))


def token_rewards(episodes: EpisodeArrays, rewards: jax.Array) -> jax.Array:
    """[E, S] to [E, S * T]: each step's reward at its last action token, 0 elsewhere."""
    mask = episodes.action_mask
    last = jnp.flip(jnp.cumsum(jnp.flip(mask, -1), -1), -1) == 1
    return (jnp.where(mask & last, rewards[..., None], 0.0)).reshape(rewards.shape[0], -1)


def action_tokens(episodes: EpisodeArrays) -> jax.Array:
    """[E, S * T] bool: the tokens that count."""
    return (episodes.action_mask & episodes.played[..., None]).reshape(episodes.played.shape[0], -1)


def ppo_batch(
    episodes: EpisodeArrays,
    verdicts: jax.Array,
    rewards: jax.Array,
    values: jax.Array,
    config: PPOConfig,
    groups: jax.Array,
    reference_log_probs: jax.Array | None = None,
    proximal_log_probs: jax.Array | None = None,
    parts: np.ndarray | None = None,
    part_names: Sequence[str] = (),
) -> tuple[PPOBatch, Metrics]:
    """Verdicts and shaped rewards [E, S] and values [R, T] to a batch for `policy_update`, and what it looks like.

    Which episodes succeeded the verdicts say alone, as everywhere; advantages come from the shaped rewards.
    Without `proximal_log_probs` [R, T] the policy that sampled is the proximal policy: nothing is stale, and nothing is
    scored a second time. `groups` [E] are equal for episodes of one level. Values are 0 where there is no value model.
    `parts` [E]: the part of a mixture that each episode is of, known when this is traced; where `part_names` are given,
    metrics of values have them before a slash, too.
    """
    rows, valid = rows_of(episodes), action_tokens(episodes)
    by_episode = values.reshape(valid.shape)
    parts = np.zeros(valid.shape[0], np.int32) if parts is None else parts
    estimate = advantage_fn(config, int(parts.max()) + 1)
    found = estimate(token_rewards(episodes, rewards), by_episode, valid, _steps(episodes), groups, parts)
    metrics = advantage_metrics(config, found, rewards.sum(1), by_episode, valid, groups, parts, part_names)

    def by_row(of_tokens: jax.Array) -> jax.Array:
        return jnp.where(valid, of_tokens, 0.0).reshape(rows.action_mask.shape)

    positive = jnp.broadcast_to(succeeded_by(verdicts)[:, None], valid.shape).reshape(rows.action_mask.shape)
    lengths = jnp.maximum(valid.sum(1, keepdims=True), 1)
    weights = by_row(jnp.broadcast_to(1 / lengths, valid.shape)) if config.aggregation == "sequence" else None
    batch = PPOBatch(
        rows,
        rows.log_probs if proximal_log_probs is None else proximal_log_probs,
        by_row(found.advantages),
        positive,
        by_row(found.targets),
        values,
        weights,
        reference_log_probs,
    )
    return batch, metrics


def return_batch(episodes: EpisodeArrays, rewards: jax.Array, config: PPOConfig) -> ValueBatch:
    """For value pretraining: at each action token the rest of the episode's rewards [E, S], discounted."""
    rows = rows_of(episodes)
    returns = return_fn(config)(token_rewards(episodes, rewards), action_tokens(episodes), _steps(episodes))
    targets = jnp.where(rows.action_mask, returns.reshape(rows.action_mask.shape), 0.0)
    return ValueBatch(rows, targets, targets)


def _steps(episodes: EpisodeArrays) -> jax.Array:
    """[E, S * T]: the step of each token."""
    numbers = jnp.arange(episodes.played.shape[1])[None, :, None]
    return jnp.broadcast_to(numbers, episodes.action_mask.shape).reshape(episodes.played.shape[0], -1)


def shuffle_played_first(episodes: EpisodeArrays, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """All rows [R] in random order, those of played steps first; and the number of these."""
    played = episodes.played.ravel()
    return jnp.argsort(jnp.where(played, jax.random.uniform(key, played.shape), 2.0)), played.sum()


def map_played_rows(function: Callable[[Rows], jax.Array], rows: Rows, played: jax.Array, at_a_time: int) -> jax.Array:
    """`function(rows)` [R, T] where `played` [R], 0 elsewhere; some rows at a time, and none for the others."""
    order, count = jnp.argsort(~played, stable=True), played.sum()
    order = jnp.pad(order, (0, -played.size % at_a_time), constant_values=played.size)

    def one(number: jax.Array, found: jax.Array) -> jax.Array:
        chosen = jax.lax.dynamic_slice_in_dim(order, number * at_a_time, at_a_time)
        return found.at[chosen].set(function(take_rows(rows, chosen)), mode="drop")

    return jax.lax.fori_loop(0, -(-count // at_a_time), one, jnp.zeros(rows.action_mask.shape))


def over_minibatches(
    update: Callable[[State, Batch], tuple[State, Metrics]],
    state: State,
    batch: Batch,
    played: jax.Array,
    rows: int,
    epochs: int,
    key: jax.Array,
) -> tuple[State, Metrics]:
    """`update` on minibatches of `rows` of the played rows [R], in a new random order each epoch; mean metrics.

    The last minibatch of an epoch may be partly empty. Their number is known only when the program runs.
    """
    num_minibatches = -(-played.sum() // rows)

    def one_epoch(epoch: jax.Array, carry: tuple[State, Metrics]) -> tuple[State, Metrics]:
        chance = jax.random.uniform(jax.random.fold_in(key, epoch), played.shape)
        order = jnp.argsort(jnp.where(played, chance, 2.0))
        order = jnp.pad(order, (0, -played.size % rows), constant_values=played.size)

        def one(number: jax.Array, carry: tuple[State, Metrics]) -> tuple[State, Metrics]:
            state, sums = carry
            chosen = jax.lax.dynamic_slice_in_dim(order, number * rows, rows)
            state, metrics = update(state, take_rows(batch, chosen))
            return state, jax.tree.map(jnp.add, sums, metrics)

        return jax.lax.fori_loop(0, num_minibatches, one, carry)

    _, shapes = jax.eval_shape(update, state, take_rows(batch, jnp.zeros(rows, jnp.int32)))
    zeros = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    state, sums = jax.lax.fori_loop(0, epochs, one_epoch, (state, zeros))
    count = jnp.maximum(num_minibatches * epochs, 1)
    return state, {name: each / count for name, each in sums.items()}
