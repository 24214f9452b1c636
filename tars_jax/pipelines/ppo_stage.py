"""Reinforcement learning while episodes stream in: PPO, or GRPO where advantages come from groups.

What an iteration does, `tars_jax.training.learner.iterate` says from top to bottom; here is what it is done with: the
pool that rollout workers fill meanwhile, the engine that samples, and the run that keeps metrics and checkpoints. A
killed run goes on after its last checkpoint, with no episode lost or used twice.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tars_jax.evaluation.interface_shares import interface_metrics
from tars_jax.evaluation.judge_metrics import hidden_metrics
from tars_jax.evaluation.report import VALUE_DOUBT
from tars_jax.evaluation.result import reward_metrics
from tars_jax.pipelines.job_checks import ppo_config
from tars_jax.pipelines.mixture import Mixture, mixture_in
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.sections import num_pages
from tars_jax.pipelines.starting_weights import keep_starting_weights, start_from
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.pipelines.value_stage import doubt_of_value
from tars_jax.rollout import multihost_pool
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.mixed_pool import MixedPool
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.stream_metrics import StreamMetrics
from tars_jax.rollout.timeline import TrackOwner
from tars_jax.rollout.unjudged import Tally, judged_of, merged_tallies, metrics_of
from tars_jax.training import processes
from tars_jax.training.checkpoint import Checkpoints, load_parameters, save_parameters
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.learner import EpisodeBatch, LearnerState, PPOLearner, iterate
from tars_jax.training.recorded_updates import UPDATES_FILE, Digests, Starts, write_updates
from tars_jax.training.state import abstract_parameters, fresh_parameters, value_parameters
from tars_jax.training.value import value_model

# Of these a progress line shows what there is.
SHOWN = (
    "success", "entropy", "think_tokens", "explained_variance", "informative_groups", "clip_fraction", "staleness",
)  # fmt: skip
MOST_SHOWN = 8  # metrics of tasks in a progress line: a benchmark has more


def run_ppo(context: RunContext, provider: TaskProvider, start_at: Path, value_at: Path | None) -> None:
    """PPO from the policy in `start_at` with the value model in `value_at`; exports RUN/policy.

    Without `value_at` the value model begins as the policy's trunk with a head that says 0; GRPO has none.
    """
    if context.run.finished("ppo"):
        return
    config, algorithm = context.config.ppo, ppo_config(context.config.ppo)
    start_at = keep_starting_weights(context.path, start_at, "policy")
    value_at = (
        keep_starting_weights(context.path, value_at, "value")
        if value_at is not None and algorithm.uses_values
        else None
    )
    doubt = doubt_of_value(value_at) if algorithm.uses_values else ""
    if doubt:
        print(f"ppo: {doubt}", flush=True)
    mixture = mixture_in(provider)
    learner, state = learner_at_start(context, start_at, value_at, () if mixture is None else mixture.names)
    checkpoints = Checkpoints(context.path / "checkpoints" / "ppo")
    state, kept = restored(checkpoints, state)
    kept = kept or {"digests": digests_of(state)}
    context.metrics.truncate_after("ppo", state.version)
    pool, tasks = open_pool(context, mixture, kept), provider.training(kept.get("curriculum"))
    context.sync_weights(state.policy.parameters, state.version)

    with context.rollouts.streaming(
        pool, tasks.task, context.policy_player(), lambda: context.policy.version
    ) as running:
        stream = RolloutStream(context, pool, running, tasks, mixture, checkpoints, state, kept)
        while state.version < config.updates:
            state, _ = iterate(learner, state, stream, context.config.seed)

    save_parameters(context.path / "policy", state.policy.parameters, parent=start_at)
    if len(stream.digests) == state.version + 1:  # one process made every update
        value_folder = None if value_at is None else str(value_at.relative_to(context.path))
        started = Starts(str(start_at.relative_to(context.path)), value_folder)
        write_updates(context.path / UPDATES_FILE, started, pool.ledger()["consumed"], stream.digests)
    devices = jax.devices()
    record: dict[str, Any] = {"updates": state.version, "devices": f"{len(devices)} x {devices[0].device_kind}"}
    record |= multihost_pool.counts(pool, processes.gather)
    record |= {"curriculum": tasks.picks} if tasks.picks else {}
    record |= {VALUE_DOUBT: doubt} if doubt else {}
    context.record("ppo", {**record, **judged_of(unjudged_tally(context))})


def learner_at_start(
    spec: RunSpec, start_at: Path, value_at: Path | None, parts: Sequence[str] = ()
) -> tuple[PPOLearner, LearnerState]:
    """The learner, and the states of policy and value model before the first update, as `run_ppo` takes them. `parts`:
    the names of those of a mixture."""
    config, algorithm = spec.config.ppo, ppo_config(spec.config.ppo)
    optimizers = OptimizerConfig(config.learning_rate), OptimizerConfig(config.value_learning_rate)
    learner = PPOLearner(spec.model, spec.packer, algorithm, spec.rewards, *optimizers, spec.answer_constraint, parts)
    critic, each_part = value_model(spec.model), algorithm.value_models == "part"
    value: Any = None
    if value_at is not None:
        policy = start_from(start_at, abstract_parameters(spec.model, spec.mesh))
        template = abstract_parameters(critic, spec.mesh)
        value = load_parameters(
            value_at, {str(part): template for part in range(len(parts))} if each_part else template
        )
        value = [value[str(part)] for part in range(len(parts))] if each_part else value
    else:
        policy = start_from(start_at, spec.parameters)  # a head that it lacks begins fresh
        if algorithm.uses_values:
            value = value_parameters(policy, fresh_parameters(critic, jax.random.key(0), spec.mesh))
            value = [value] * len(parts) if each_part else value
    if value is not None and spec.model.scalar_head:
        policy |= {"scalar_head": value["scalar_head"]}
    return learner, learner.init_states(policy, value)


def restored(checkpoints: Checkpoints, state: LearnerState) -> tuple[LearnerState, dict[str, Any]]:
    """The state of the last checkpoint, and what was kept with it; without one, the state that is given."""
    version = checkpoints.latest() or 0
    if not version:
        return state, {}
    (policy, value), kept = checkpoints.restore(version, (state.policy, state.value))
    return LearnerState(policy, value, version, int(kept.get("idle", 0))), kept


def open_pool(context: RunContext, mixture: Mixture | None, kept: dict[str, Any]) -> RolloutPool | MixedPool:
    """The pool of the config's section `ppo`, with what has been taken from it according to `kept`."""
    config = context.config.ppo
    asked = from_section(PoolConfig, config, min_batch=config.min_batch // context.share.of, share=context.share)
    folder, ledger = context.path / "trajectories" / "ppo", kept.get("ledger")
    pool: RolloutPool | MixedPool
    if mixture is None:
        pool = RolloutPool(folder, asked, ledger)
    else:
        pool = MixedPool(folder, asked, ledger, mixture.weights, functools.partial(print, flush=True))
    pool.resize(int(kept.get("groups", pool.groups)))
    return pool


def unjudged_tally(context: RunContext) -> Tally:
    """Tally of episodes that judges could not decide, in all processes."""
    return merged_tallies(processes.gather(context.rollouts.unjudged.tally))


def digests_of(state: LearnerState) -> list[dict[str, Any]]:
    """Digests of the weights, as one entry of a list; none where no process has all of them."""
    return [dataclasses.asdict(Digests.of(state))] if processes.count() == 1 else []


class RolloutStream:
    """A `Stream` of what rollout workers play meanwhile: from the pool, to the engine and into the run directory."""

    def __init__(
        self,
        context: RunContext,
        pool: RolloutPool | MixedPool,
        workers: Future[Any],
        tasks: Any,
        mixture: Mixture | None,
        checkpoints: Checkpoints,
        state: LearnerState,
        kept: dict[str, Any],
    ) -> None:
        self._context, self._pool, self._workers, self._tasks = context, pool, workers, tasks
        self._mixture, self._checkpoints = mixture, checkpoints
        self.digests: list[dict[str, Any]] = kept.get("digests", [])  # of the weights at the start, and after updates
        updates = context.config.ppo.updates
        self._progress = context.progress("ppo", updates, "updates", done=state.version, min_seconds=0, compiles=True)
        statistics = context.policy.statistics
        self._stream = StreamMetrics(context.activity, pool, statistics, workers=num_pages(context.config))
        self._batch = multihost_pool.Batch([], [])
        self._taken_at, self._version = 0.0, state.version
        self._picked: dict[str, float] = {}

    def take(self) -> EpisodeBatch:
        """Raises what ended the workers, if anything did."""
        batch = None
        while batch is None:
            self._pool.wait(timeout=1.0)
            if self._workers.done():
                self._workers.result()
            batch = multihost_pool.take(self._pool, processes.gather)
        self._batch, self._taken_at = batch, time.monotonic()
        parts = None if self._mixture is None else self._mixture.parts_of(batch.trajectories)
        return EpisodeBatch(batch.trajectories, parts)

    def publish(self, state: LearnerState) -> None:
        """Publishes the new weights, after the curriculum and the size of the next batch have learned of the
        episodes."""
        played = self._batch.trajectories
        self._picked = self._tasks.update([*played, *self._batch.left_out])
        self._pool.resize(self._pool.config.groups_for(float(np.mean([len(each.steps) for each in played]))))
        with self.span("weights", version=state.version):
            self._context.sync_weights(state.policy.parameters, state.version)
        self._version = state.version

    def metrics(self) -> dict[str, float]:
        played = self._batch.trajectories
        return {
            **self._stream.read(played, self._version - 1),
            **self._picked,
            **hidden_metrics(played),
            **reward_metrics(played),
            **interface_metrics(played),
            **metrics_of(unjudged_tally(self._context)),
            "update_seconds": time.monotonic() - self._taken_at,
        }

    def save(self, state: LearnerState, metrics: dict[str, float]) -> None:
        """Metrics before the checkpoint: what a killed run wrote of an update that it makes again is cut off."""
        self._context.metrics.write("ppo", state.version, metrics)
        with self.span("checkpoint", version=state.version):
            whole = len(self.digests) == state.version
            self.digests = [*self.digests, *digests_of(state)] if whole else []
            kept = {
                "ledger": multihost_pool.ledger(self._pool, processes.gather),
                "digests": self.digests,
                "curriculum": self._tasks.state(),
                "idle": state.idle,
                "groups": self._pool.groups,
            }
            self._checkpoints.save(state.version, (state.policy, state.value), kept)
        parts = () if self._mixture is None else self._mixture.names
        of_parts = [f"{name}/success" for name in parts]
        shown = [*SHOWN, *of_parts[:MOST_SHOWN], *list(self._picked)[:MOST_SHOWN]]
        self._progress.update(state.version, **{name: metrics[name] for name in shown if name in metrics})

    def span(self, name: str, **details: int) -> AbstractContextManager[object]:
        return self._context.activity.span(TrackOwner.LEARNER, 0, name, **details)
