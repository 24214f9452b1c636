"""Reinforcement learning, one iteration after the other. An iteration (`iterate`):

1. takes episodes from the stream: whole groups that are judged; what teaches nothing or is too old the pool left out;
2. packs their context windows into rows (`packing.py`), and gives each token its reward (`rewards.py`);
3. scores the rows: values, log-probabilities under the proximal policy and the reference policy;
4. makes advantages and value targets of rewards and values (`advantages.py`);
5. makes a few epochs of minibatch updates of policy and value model (`ppo.py`, `value.py`);
6. publishes the weights, which sample the next episodes;
7. saves metrics and state.

Axes: R rows of a batch, T tokens of a row, N trajectories, A action tokens of a trajectory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeAlias

import jax
import numpy as np

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.training.advantages import make_advantage_fn, make_ppo_batch, token_parts
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig, unless_off
from tars_jax.training.constrained import AnswerConstraint
from tars_jax.training.frozen_image_features import FrozenImageFeatures
from tars_jax.training.metrics import require_finite
from tars_jax.training.minibatches import minibatches
from tars_jax.training.optimizers import shared_optimizer, without_vision
from tars_jax.training.packing import NonePackable, PackedBatch, Packer, free_routes, map_rows, with_features
from tars_jax.training.part_critics import PartCritics
from tars_jax.training.ppo import PPOBatch, make_policy_update, make_score_fn, value_batch
from tars_jax.training.rewards import step_rewards, token_rewards
from tars_jax.training.state import TrainState, init_train_state
from tars_jax.training.value import make_value_fn, make_value_update
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_sampled

MOST_IDLE = 8  # updates in a row that nothing was learned in
log = logging.getLogger(__name__)

Metrics: TypeAlias = dict[str, float]
Span: TypeAlias = Callable[..., AbstractContextManager[object]]  # is entered around a piece of work, by its name


@dataclasses.dataclass(frozen=True)
class LearnerState:
    """The learner's state, which an iteration reads, donates and returns."""

    policy: TrainState
    # TrainState of the value model; a tuple of them, one for each part, with `value_models=part`; None where advantages
    # come from groups. With a shared trunk (`model.scalar_head`) the policy has the value head, and this one stays.
    value: Any
    version: int = 0  # of the policy: updates made
    idle: int = 0  # of these the last ones, in a row, that nothing was learned in


class EpisodeBatch(NamedTuple):
    """The episodes of an iteration."""

    trajectories: Sequence[Trajectory]  # [N]
    parts: np.ndarray | None = None  # [N] int32: of a mixture, the part of each


class PackedEpisodes(NamedTuple):
    """Episodes that could be packed, with their rows."""

    trajectories: list[Trajectory]  # [N]
    parts: np.ndarray | None  # [N] int32
    batch: PackedBatch
    row_parts: np.ndarray | None  # [R] int32, where each part has a value model of its own; -1: of none
    unpackable: int  # episodes that are left out


class Scores(NamedTuple):
    """Scores of the rows before the update: log-probabilities and values."""

    proximal_log_probs: np.ndarray  # [R, T]
    reference_log_probs: np.ndarray | None  # [R, T], for a KL to the reference policy
    values: np.ndarray | None  # [R, T]
    # [1 + F, R, I * Q, D]: what the encoders of policy and value model say of screenshots, where they are frozen.
    image_features: np.ndarray | None
    value_features: np.ndarray | None


class EpisodeStream(Protocol):
    """Source of an iteration's episodes, and destination of its metrics and weights."""

    def take(self) -> EpisodeBatch:
        """Waits for the next batch of episodes, and returns it."""
        ...

    def publish(self, state: LearnerState) -> None:
        """Sends the weights to the policies that sample."""
        ...

    def metrics(self) -> Metrics:
        """Metrics of the stream itself, since the last call."""
        ...

    def save(self, state: LearnerState, metrics: Metrics) -> None: ...

    def span(self, name: str, **details: int) -> AbstractContextManager[object]:
        """A context manager that is entered around a piece of work."""
        ...


class RecordedEpisodes(EpisodeBatch):
    """A stream of one batch, whose weights sample nothing and are not kept: for replay."""

    def take(self) -> EpisodeBatch:
        return self

    def publish(self, state: LearnerState) -> None:
        pass

    def metrics(self) -> Metrics:
        return {}

    def save(self, state: LearnerState, metrics: Metrics) -> None:
        pass

    def span(self, name: str, **details: int) -> AbstractContextManager[object]:
        return contextlib.nullcontext()


def iterate(learner: PPOLearner, state: LearnerState, stream: EpisodeStream, seed: int) -> tuple[LearnerState, Metrics]:
    """One iteration, as the head of this file lists it; the states of policy and value model are donated.

    An episode that cannot be packed is left out, and counted in the metric `unpackable`. Where none can be, nothing is
    learned: `idle_updates` counts how many such iterations there were in a row.

    While rows are scored and learned from, arrays reach the devices only where they are sent there on purpose, as by
    `shard_batch`: an implicit transfer raises.

    Raises InputError if the update diverges, for episodes that no policy sampled, and at the `MOST_IDLE`th iteration in
    a row in which nothing is learned.
    """
    version, rng = state.version, np.random.default_rng((seed, state.version))
    episodes = stream.take()
    with stream.span("update", version=version):
        try:
            packed = learner.pack(episodes)
        except NonePackable as error:
            state, metrics = learned_nothing(state, episodes, error)
        else:
            rewards = token_rewards(packed.batch, packed.trajectories, learner.rewards)
            with jax.transfer_guard_host_to_device("disallow"):
                scores = learner.score(state, packed, stream.span)
                batch, estimated = learner.advantages(packed, rewards, scores)
                state, losses = learner.run_epochs(state, packed, batch, rng, stream.span)
            require_finite("ppo", version + 1, losses)
            metrics = {**learner.describe(packed, version), **estimated, **losses}
    state = dataclasses.replace(state, version=version + 1)
    stream.publish(state)
    metrics |= stream.metrics()
    stream.save(state, metrics)
    return state, metrics


def learned_nothing(state: LearnerState, episodes: EpisodeBatch, error: NonePackable) -> tuple[LearnerState, Metrics]:
    """Metrics of an iteration that changes nothing. Raises InputError at the `MOST_IDLE`th in a row."""
    idle = state.idle + 1
    if idle >= MOST_IDLE:
        raise InputError(
            f"config.packing must have room for what is played; got {idle} updates in a row of which nothing can be "
            f"packed: {error}"
        ) from error
    log.warning("update %d changes nothing, as none of its trajectories can be packed: %s", state.version + 1, error)
    metrics = {"unpackable": float(len(episodes.trajectories)), "idle_updates": float(idle)}
    return dataclasses.replace(state, idle=idle), metrics


class PPOLearner:
    """The steps of an iteration, for one model under one config: each a jitted function or several.

    Train states are passed in and out. It keeps what `init_states` begins anew: the policy that the KL goes to, and the
    features of screenshots where the vision encoders are frozen.
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
        self._model, self._packer, self._config, self.rewards = model, packer, config, rewards
        self._constraint, automaton = constraint, None if constraint is None else constraint.automaton
        self._score = make_score_fn(model, automaton)
        self._advantages = make_advantage_fn(config, max(1, len(parts)))
        learns = without_vision if config.freeze_vision else lambda optimizer: optimizer
        self._policy_optimizer = learns(shared_optimizer(policy_optimizer))
        self._value_optimizer = learns(shared_optimizer(value_optimizer))
        self._update_policy = make_policy_update(model, self._policy_optimizer, config, automaton, len(parts))
        self._update_value = make_value_update(model, self._value_optimizer, unless_off(config.value_clip))
        self._values = make_value_fn(model)
        self._parts = tuple(parts)
        self._separate = config.uses_values and not model.scalar_head
        self._reference: Parameters | None = None
        self._forget_features()

    def _forget_features(self) -> None:
        model, rows = self._model, self._config.minibatch_rows
        self._critics = PartCritics(model, self._values, self._update_value, self._parts, rows)
        self._policy_features, self._value_features = FrozenImageFeatures(model), FrozenImageFeatures(model)

    def init_states(self, policy: Parameters, value: Any) -> LearnerState:
        """The states before the first update; the parameters are copied. `value`: parameters; of each part with
        `value_models=part`; None without a value model.

        Where the config has a `kl_weight`, `policy` is what the KL goes to in all updates: a resumed run starts here,
        too.
        """
        if self._config.uses_reference:
            self._reference = policy
        self._forget_features()  # of other parameters
        critic: Any = None
        if value is not None and self._config.value_models == "part":
            critic = tuple(init_train_state(each, self._value_optimizer) for each in value)
        elif value is not None:
            critic = init_train_state(value, self._value_optimizer)
        return LearnerState(init_train_state(policy, self._policy_optimizer), critic)

    def pack(self, episodes: EpisodeBatch) -> PackedEpisodes:
        """Rows of all episodes that can be packed. Raises NonePackable where none can be, and InputError for episodes
        that no policy sampled."""
        trajectories, parts = episodes.trajectories, episodes.parts
        for trajectory in trajectories:
            check_sampled(trajectory, f"trajectory {trajectory.id}")
        routes = self._config.replay_routes
        readable, unpackable = self._packer.sort_out(trajectories, routes=routes)
        if parts is not None:
            kept = {id(each.trajectory) for each in readable}
            parts = parts[[id(each) in kept for each in trajectories]]
        apart = parts if self._separate and self._config.value_models == "part" else None
        batch = self._packer.pack_read(readable, self._config.minibatch_rows, routes=routes, parts=apart)
        if self._constraint is not None:
            batch = self._constraint.followed(batch)
        row_parts = None if apart is None else token_parts(batch, apart).max(1)
        return PackedEpisodes([each.trajectory for each in readable], parts, batch, row_parts, len(unpackable))

    def score(self, state: LearnerState, packed: PackedEpisodes, span: Span) -> Scores:
        """Scores all rows, some at a time, each row once."""
        at_a_time, rows, images = self._config.minibatch_rows, packed.batch.rows, packed.batch.rows.inputs.images
        frozen = self._config.freeze_vision and bool(images)  # a batch may be all text
        features = reference = values = value_features = None
        policy_rows = rows
        with span("log_probs"):
            if frozen:
                features = self._policy_features.get_or_encode(state.policy.parameters, images)
                policy_rows = with_features(rows, features)
            proximal = map_rows(self._score, state.policy.parameters, policy_rows, at_a_time)
            if self._reference is not None:
                reference = map_rows(self._score, self._reference, policy_rows, at_a_time)
        if not self._config.uses_values:
            return Scores(proximal, reference, values, features, value_features)
        value = state.value
        with span("values"):
            if packed.row_parts is not None:
                values, value_features = self._critics.score(value, rows, packed.row_parts, frozen)
            elif self._separate:
                rows = free_routes(rows)
                if frozen:
                    value_features = self._value_features.get_or_encode(value.parameters, images)
                    rows = with_features(rows, value_features)
                values = map_rows(self._values, value.parameters, rows, at_a_time)
            else:
                values = map_rows(self._values, state.policy.parameters, policy_rows, at_a_time)
        return Scores(proximal, reference, values, features, value_features)

    def advantages(self, packed: PackedEpisodes, rewards: np.ndarray, scores: Scores) -> tuple[PPOBatch, Metrics]:
        """The batch that epochs go over, of rewards [N, A] and scores; and what it looks like."""
        batch, metrics = make_ppo_batch(
            packed.batch,
            packed.trajectories,
            rewards,
            scores.proximal_log_probs,
            scores.values,
            self._config,
            self._advantages,
            scores.reference_log_probs,
            packed.parts,
            self._parts,
        )
        if scores.image_features is not None:
            batch = dataclasses.replace(batch, rows=with_features(batch.rows, scores.image_features))
        return dataclasses.replace(batch, value_features=scores.value_features), metrics

    def run_epochs(
        self, state: LearnerState, packed: PackedEpisodes, batch: PPOBatch, rng: np.random.Generator, span: Span
    ) -> tuple[LearnerState, Metrics]:
        """Minibatches in random order, each once an epoch; the metrics are means over them."""
        policy, value = state.policy, state.value
        collected: list[dict[str, jax.Array]] = []
        learned: list[Metrics] = []  # by the value models of parts
        with span("minibatches"):
            for _ in range(self._config.epochs):
                for minibatch in minibatches(batch, self._config.minibatch_rows, rng):
                    policy, metrics = self._update_policy(policy, minibatch)
                    if self._separate and packed.row_parts is None:
                        value, value_metrics = self._update_value(value, value_batch(minibatch))
                        metrics = {**metrics, "value_loss": value_metrics["value_loss"]}
                    collected.append(metrics)
                if packed.row_parts is not None:
                    value, losses = self._critics.learn(value, batch, packed.row_parts, rng)
                    learned.append(losses)
            # Fetched first: numpy, waiting for a device array in a list, makes a ValueError of Ctrl-C.
            fetched = jax.device_get(collected)
        entropies = part_entropies(self._parts, fetched)
        means = {**means_of(fetched), **(means_of(learned) if learned else {}), **entropies}
        return LearnerState(policy, value, state.version), means

    def describe(self, packed: PackedEpisodes, version: int) -> Metrics:
        """Metrics of the episodes before they are learned from."""
        described = {
            **describe(packed.trajectories, version, self.rewards),
            "unpackable": float(packed.unpackable),
        }
        if packed.parts is None:
            return described
        return described | describe_parts(self._parts, packed.parts, packed.trajectories, version, self.rewards)


def means_of(collected: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Mean of each metric over minibatches, or over passes; a part's metric is averaged over those that held any of
    it."""
    names = dict.fromkeys(name for each in collected for name in each)
    return {name: float(np.mean([each[name] for each in collected if name in each])) for name in names}


def describe(trajectories: Sequence[Trajectory], version: int, rewards: RewardConfig) -> dict[str, float]:
    """Metrics of a batch of episodes before it is learned from."""
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
    """The metrics of `describe` for each part [N] of a mixture, and its share of the batch."""
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
