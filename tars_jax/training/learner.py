"""The PPO learner: finished trajectories in, new weights and a line of metrics out. It plays nothing itself."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.training.config import OptimizerConfig, RewardConfig
from tars_jax.training.constrained import AnswerConstraint
from tars_jax.training.frozen_image_features import FrozenImageFeatures
from tars_jax.training.metrics import require_finite
from tars_jax.training.optimizers import make_optimizer, without_vision
from tars_jax.training.packing import NonePackable, Packer, free_routes, map_rows, with_features
from tars_jax.training.part_critics import PartCritics
from tars_jax.training.ppo import PPOConfig, make_advantage_fn, make_policy_update, make_score_fn, value_batch
from tars_jax.training.preparation import minibatches, prepare, token_parts
from tars_jax.training.rewards import step_rewards
from tars_jax.training.state import TrainState, init_train_state
from tars_jax.training.value import make_value_fn, make_value_update
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_sampled

MOST_IDLE = 8  # updates in a row that nothing was learned in
log = logging.getLogger(__name__)


class PPOLearner:
    """The jitted functions of one model under one config.

    Train states are passed in and out. It keeps what `start` begins anew: the policy that the KL goes to, and what the
    vision encoders said of screenshots where they are frozen.
    """

    def __init__(
        self,
        model: ModelConfig,
        packer: Packer,
        config: PPOConfig,
        rewards: RewardConfig,
        policy_optimizer: OptimizerConfig,
        value_optimizer: OptimizerConfig,
        constraint: AnswerConstraint | None = None,
        parts: Sequence[str] = (),
    ) -> None:
        """`constraint`: the one that answers are sampled under. `parts`: the names of those of a mixture."""
        self._model, self._packer, self._config, self._rewards = model, packer, config, rewards
        self._constraint, automaton = constraint, None if constraint is None else constraint.automaton
        self._score = make_score_fn(model, automaton)
        self._advantages = make_advantage_fn(config, max(1, len(parts)))
        learns = without_vision if config.freeze_vision else lambda optimizer: optimizer
        self._policy_optimizer = learns(make_optimizer(policy_optimizer))
        self._value_optimizer = learns(make_optimizer(value_optimizer))
        self._update_policy = make_policy_update(model, self._policy_optimizer, config, automaton, len(parts))
        self._update_value = make_value_update(model, self._value_optimizer, config.value_clip or None)
        self._values = make_value_fn(model)
        self._parts = tuple(parts)
        self._critics = self._part_critics()
        self._reference: Parameters | None = None
        self._policy_gallery, self._value_gallery = FrozenImageFeatures(model), FrozenImageFeatures(model)

    def _part_critics(self) -> PartCritics:
        return PartCritics(self._model, self._values, self._update_value, self._parts, self._config.minibatch_rows)

    def init_states(self, policy: Parameters, value: Any) -> tuple[TrainState, Any]:
        """States of policy and value model before the first update; the parameters are copied. `value`: parameters; of
        each part with `value_models=part`, as are the states then, in a tuple.

        Without a value model, where advantages come from groups, both sides of it are None. Where the config has a
        `kl_weight`, `policy` is what the KL goes to in all updates: a resumed run starts here, too.
        """
        if self._config.uses_reference:
            self._reference = policy
        # What other parameters said of screenshots is forgotten.
        self._policy_gallery, self._value_gallery = FrozenImageFeatures(self._model), FrozenImageFeatures(self._model)
        self._critics = self._part_critics()
        critic: Any = None
        if value is not None and self._config.value_models == "part":
            critic = tuple(init_train_state(each, self._value_optimizer) for each in value)
        elif value is not None:
            critic = init_train_state(value, self._value_optimizer)
        return init_train_state(policy, self._policy_optimizer), critic

    def update(
        self,
        policy: TrainState,
        value: Any,
        trajectories: Sequence[Trajectory],
        version: int,
        seed: int,
        watch: Callable[[str], AbstractContextManager[object]] = contextlib.nullcontext,
        parts: np.ndarray | None = None,
    ) -> tuple[TrainState, Any, dict[str, float]]:
        """One iteration; the states are donated. `version` is that of `policy`; `parts` [N] is the part of each
        trajectory, where there is a mixture.

        `value` is a TrainState, or one for each part, as `init_states` gives them. With a shared trunk
        (`model.scalar_head`) the policy's parameters hold the value head, and `value` comes back as it was; so it does,
        None or not, where advantages come from groups. `watch` is entered around each piece of work, by its name:
        `log_probs`, `values`, `minibatches`. An episode that cannot be packed is left out, and counted in the metric
        `unpackable`. Raises InputError if the update diverges and for episodes that no policy sampled; NonePackable,
        with the states as they were, where none can be packed.
        """
        for trajectory in trajectories:
            check_sampled(trajectory, f"trajectory {trajectory.id}")
        config = self._config
        separate = config.uses_values and not self._model.scalar_head
        apart = separate and config.value_models == "part"
        readable, unpackable = self._packer.sort_out(trajectories, routes=config.replay_routes)
        if parts is not None:
            kept = {id(each.trajectory) for each in readable}
            parts = parts[[id(each) in kept for each in trajectories]]
        trajectories = [each.trajectory for each in readable]
        packed = self._packer.pack_read(
            readable,
            config.minibatch_rows,
            routes=config.replay_routes,
            parts=parts if apart else None,
        )
        if self._constraint is not None:
            packed = self._constraint.followed(packed)
        row_parts = token_parts(packed, parts).max(1) if apart and parts is not None else None
        shown, images = packed.rows, packed.rows.inputs.images
        encoded_once = config.freeze_vision and bool(images)  # a batch may be all text
        with watch("log_probs"):
            if encoded_once:
                features = self._policy_gallery.get_or_encode(policy.parameters, images)
                packed = dataclasses.replace(packed, rows=with_features(packed.rows, features))
            proximal = map_rows(self._score, policy.parameters, packed.rows, config.minibatch_rows)
            reference = None
            if self._reference is not None:
                reference = map_rows(self._score, self._reference, packed.rows, config.minibatch_rows)
        values = value_features = None
        if row_parts is not None:
            with watch("values"):
                values, value_features = self._critics.score(value, shown, row_parts, encoded_once)
        elif config.uses_values:
            with watch("values"):
                parameters = value.parameters if separate else policy.parameters
                rows = free_routes(packed.rows) if separate else packed.rows
                if separate and encoded_once:
                    value_features = self._value_gallery.get_or_encode(parameters, images)
                    rows = with_features(rows, value_features)
                values = map_rows(self._values, parameters, rows, config.minibatch_rows)
        batch, prepared = prepare(
            packed,
            trajectories,
            proximal,
            values,
            config,
            self._rewards,
            self._advantages,
            reference,
            parts,
            self._parts,
        )
        batch = dataclasses.replace(batch, value_features=value_features)

        collected: list[dict[str, jax.Array]] = []
        learned: list[dict[str, float]] = []  # by the value models of parts
        rng = np.random.default_rng((seed, version))
        with watch("minibatches"):
            for _ in range(config.epochs):
                for minibatch in minibatches(batch, config.minibatch_rows, rng):
                    policy, metrics = self._update_policy(policy, minibatch)
                    if separate and row_parts is None:
                        value, value_metrics = self._update_value(value, value_batch(minibatch))
                        metrics = {**metrics, "value_loss": value_metrics["value_loss"]}
                    collected.append(metrics)
                if row_parts is not None:
                    value, losses = self._critics.learn(value, batch, row_parts, rng)
                    learned.append(losses)
            # Fetched first: numpy, waiting for a device array in a list, makes a ValueError of Ctrl-C.
            fetched = jax.device_get(collected)
            entropies = part_entropies(self._parts, fetched)
            means = {**means_of(fetched), **(means_of(learned) if learned else {}), **entropies}
        require_finite("ppo", version + 1, means)
        described = {**describe(trajectories, version, self._rewards), "unpackable": float(len(unpackable))}
        if parts is not None:
            described |= describe_parts(self._parts, parts, trajectories, version, self._rewards)
        return policy, value, {**described, **prepared, **means}


def update_or_skip(
    learner: PPOLearner,
    policy: TrainState,
    value: Any,
    trajectories: Sequence[Trajectory],
    version: int,
    seed: int,
    idle: int = 0,
    watch: Callable[[str], AbstractContextManager[object]] = contextlib.nullcontext,
    parts: np.ndarray | None = None,
) -> tuple[TrainState, Any, dict[str, float]]:
    """`learner.update`; one whose trajectories cannot be packed, none of them, changes nothing: its metrics are
    `unpackable`, and in `idle_updates` how many such there were in a row, `idle` before it.

    Raises InputError as `update` does, and at the `MOST_IDLE`th in a row.
    """
    try:
        return learner.update(policy, value, trajectories, version, seed, watch, parts)
    except NonePackable as error:
        if idle + 1 >= MOST_IDLE:
            raise InputError(
                f"config.packing must have room for what is played; got {idle + 1} updates in a row of which nothing "
                f"can be packed: {error}"
            ) from error
        log.warning("update %d changes nothing, as none of its trajectories can be packed: %s", version + 1, error)
        return policy, value, {"unpackable": float(len(trajectories)), "idle_updates": float(idle + 1)}


def means_of(collected: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Of each metric the mean over minibatches, or over passes; a part's is that of those that held any of it."""
    names = dict.fromkeys(name for each in collected for name in each)
    return {name: float(np.mean([each[name] for each in collected if name in each])) for name in names}


def describe(trajectories: Sequence[Trajectory], version: int, rewards: RewardConfig) -> dict[str, float]:
    """What a batch of episodes looks like, before anything is learned from it."""
    steps = [step for trajectory in trajectories for step in trajectory.steps]
    sampled = np.concatenate([w.versions[w.action_mask] for each in trajectories for w in each.windows])
    described = {
        "success": np.mean([trajectory.succeeded for trajectory in trajectories]),
        "reward": np.mean([step_rewards(trajectory, rewards).sum() for trajectory in trajectories]) / rewards.scale,
        "episode_steps": np.mean([len(trajectory.steps) for trajectory in trajectories]),
        "think_tokens": np.mean([step.think_tokens for step in steps]),
        "valid": np.mean([step.valid for step in steps]),
        "staleness": np.mean(version - sampled),
        "largest_staleness": np.max(version - sampled),
    }
    return {name: float(value) for name, value in described.items()}


def describe_parts(
    names: Sequence[str], parts: np.ndarray, trajectories: Sequence[Trajectory], version: int, rewards: RewardConfig
) -> dict[str, float]:
    """The same of each part [N] of a mixture, and its share of the batch."""
    metrics: dict[str, float] = {}
    for part, name in enumerate(names):
        own = [each for each, its in zip(trajectories, parts, strict=True) if its == part]
        found = {"weight": len(own) / len(trajectories), **(describe(own, version, rewards) if own else {})}
        metrics |= {f"{name}/{metric}": value for metric, value in found.items()}
    return metrics


def part_entropies(names: Sequence[str], collected: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Takes the sums and counts of minibatches, and gives the mean entropy of each part that was there."""
    if not names:
        return {}
    sums, counts = (np.sum([each.pop(f"entropy_{what}") for each in collected], 0) for what in ("sums", "counts"))
    return {f"{name}/entropy": float(sums[at] / counts[at]) for at, name in enumerate(names) if counts[at]}
