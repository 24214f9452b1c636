"""The stages of an agent's way from nothing to reinforcement learning, whatever it is to learn.

Each goes on where a killed run stopped, and leaves what it has made in the run directory.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tars_jax.evaluation.interface_shares import interface_metrics
from tars_jax.evaluation.judge_metrics import hidden_metrics
from tars_jax.evaluation.report import VALUE_DOUBT
from tars_jax.evaluation.result import reward_metrics
from tars_jax.evaluation.scores import summary
from tars_jax.pipelines.harness import demonstrating
from tars_jax.pipelines.mixture import mixture_in
from tars_jax.pipelines.rules import ppo_config
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.run_spec import RunSpec
from tars_jax.pipelines.sections import decaying, num_pages
from tars_jax.pipelines.starts import keep, start_from
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.pipelines.value_stage import doubt_of_value
from tars_jax.rollout import multihost_pool
from tars_jax.rollout.mixed_pool import MixedPool
from tars_jax.rollout.own_players import demonstrating_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.pool_config import PoolConfig
from tars_jax.rollout.stream_metrics import StreamMetrics
from tars_jax.rollout.timeline import Part
from tars_jax.rollout.unjudged import Tally, judged_of, metrics_of, together
from tars_jax.training import processes
from tars_jax.training.checkpoint import Checkpoints, load_parameters, save_parameters
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.learner import PPOLearner, update_or_skip
from tars_jax.training.metrics import require_finite
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import rows_of_update
from tars_jax.training.placement import take_rows
from tars_jax.training.recorded_updates import UPDATES_FILE, Digests, Starts, write_updates
from tars_jax.training.state import (
    TrainState,
    abstract_parameters,
    fresh_parameters,
    init_train_state,
    value_parameters,
)
from tars_jax.training.supervised import make_supervised_update
from tars_jax.training.value import value_model
from tars_jax.trajectory import Trajectory

MOST_SHOWN = 8  # metrics of tasks in a progress line: a benchmark has more


def collect(context: RunContext, provider: TaskProvider) -> list[Trajectory]:
    config = context.config.demonstrations
    player = demonstrating_player(config.get("player", ""), context.writer, context.config.agent.grammar, config.skill)
    tasks = provider.demonstrations(config.episodes)
    with demonstrating(player, tasks, config.skill, context.config) as playing:
        found = context.play("demonstrations", tasks, playing, compiles=False)
    context.record("demonstrations", {"success": _success(found), "episodes": len(found)})
    return found


def initial_policy(context: RunContext) -> Path:
    """Where the weights lie that the policy begins with, fresh or those of `model.preset`: RUN/initial."""
    output = context.path / "initial"
    if context.run.finished("initial") is None:
        parent = context.parent
        parameters = context.parameters if parent is None else start_from(parent, context.parameters)
        save_parameters(output, parameters, parent=parent, model=context.model)
        context.record("initial", {})
    return output


def supervise(
    context: RunContext,
    stage: str,
    demonstrations: Sequence[Trajectory],
    config: Any,
    parent: Path | None = None,
    *,
    loss_on: str = "agent",
    epochs: int | None = None,
    output: Path | None = None,
) -> None:
    """Supervised training on demonstrations, from the weights in `parent`, else from those that the run starts from
    or, without any, from fresh ones; exports `output`, which is RUN/stage unless given.

    `config` has the fields of the quickstart's `supervised`; `epochs` takes the place of its `updates`. `loss_on` as
    `make_supervised_update` takes it. Goes on where a killed run stopped.
    """
    if context.run.finished(stage):
        return
    seed, parent, output = context.config.seed, parent or context.parent, output or context.path / stage
    readable, _ = context.packer.sort_out(demonstrations)
    rows = context.packer.pack_read(readable, config.batch_rows).rows
    num_rows = rows.action_mask.shape[0]
    updates = config.updates if epochs is None else epochs * num_rows // config.batch_rows
    optimizer = make_optimizer(decaying(config, updates))
    update = make_supervised_update(context.model, optimizer, config.router_aux_loss_weight, loss_on)
    fresh = fresh_parameters(context.model, jax.random.key(seed), context.mesh)
    state = init_train_state(fresh if parent is None else start_from(parent, fresh), optimizer)
    checkpoints = Checkpoints(context.path / "checkpoints" / stage)
    done = checkpoints.latest() or 0
    if done:
        state, _ = checkpoints.restore(done, state)
    context.metrics.truncate_after(stage, done)
    progress = context.progress(stage, updates, "updates", done=done, compiles=True)
    for number in range(done, updates):
        chosen = rows_of_update(number, num_rows, config.batch_rows, seed)
        state, metrics = update(state, take_rows(rows, chosen))
        if number == done:
            jax.block_until_ready(metrics)
            progress.compiled(done + 1)
        saves = (number + 1) % config.save_every == 0
        if saves or (number + 1) % 20 == 0 or number + 1 == updates:
            values = {name: float(value) for name, value in metrics.items()}
            require_finite(stage, number + 1, values)
            context.metrics.write(stage, number + 1, values)
            progress.update(number + 1, loss=values["loss"], accuracy=values["accuracy"])
        if saves:
            checkpoints.save(number + 1, state, {})
    save_parameters(output, state.parameters, parent=parent, model=context.model)
    context.record(stage, {"updates": updates})


def evaluate(context: RunContext, provider: TaskProvider, stage: str, weights: Path | None) -> list[Trajectory]:
    """The same held-out levels and random streams before and after; without `weights`, of fresh parameters."""
    context.sync_weights(context.parameters if weights is None else start_from(weights, context.parameters), 0)
    held_out = provider.held_out(context.config.task.evaluation_episodes)
    found = context.play(stage, held_out, context.policy_player(), evaluation=True)
    context.record(stage, {"success": _success(found), "episodes": len(found)})
    context.page.evaluated(found)
    print(f"{stage}: {summary(found)} held-out episodes")
    return found


def improve(context: RunContext, provider: TaskProvider, start_at: Path, value_at: Path | None) -> None:
    """PPO from the policy in `start_at` with the value model in `value_at`; exports RUN/policy.

    Without `value_at` the value model begins as the policy's trunk with a head that says 0; GRPO has none.
    """
    if context.run.finished("ppo"):
        return
    config, seed = context.config.ppo, context.config.seed
    algorithm = ppo_config(config)
    start_at = keep(context.path, start_at, "policy")
    value_at = keep(context.path, value_at, "value") if value_at is not None and algorithm.uses_values else None
    doubt = doubt_of_value(value_at) if algorithm.uses_values else ""
    if doubt:
        print(f"ppo: {doubt}", flush=True)
    mixture = mixture_in(provider)
    names = () if mixture is None else mixture.names
    learner, policy, value = learner_at_start(context, start_at, value_at, names)
    checkpoints = Checkpoints(context.path / "checkpoints" / "ppo")
    version = checkpoints.latest() or 0
    extra: dict[str, Any] = {}
    if version:
        (policy, value), extra = checkpoints.restore(version, (policy, value))
    digests = extra.get("digests", []) if version else _digests(policy, value)
    context.metrics.truncate_after("ppo", version)
    tasks = provider.training(extra.get("curriculum"))
    asked = PoolConfig(
        min_batch=config.min_batch // context.share.of,
        max_staleness=config.max_staleness,
        in_order=config.in_order,
        group_size=config.group_size,
        group_start=config.group_start,
        dynamic_sampling=config.dynamic_sampling,
        updates=config.updates,
        share=context.share,
        batch_steps=config.get("batch_steps", 0),
    )
    idle = int(extra.get("idle", 0))
    folder = context.path / "trajectories" / "ppo"
    pool: RolloutPool | MixedPool
    if mixture is None:
        pool = RolloutPool(folder, asked, extra.get("ledger"))
    else:
        pool = MixedPool(folder, asked, extra.get("ledger"), mixture.weights, functools.partial(print, flush=True))
    pool.resize(int(extra.get("groups", pool.groups)))
    context.sync_weights(policy.parameters, version)
    progress = context.progress("ppo", config.updates, "updates", done=version, min_seconds=0, compiles=True)
    player = context.policy_player()
    learning = functools.partial(context.activity.span, Part.LEARNER, 0)
    stream = StreamMetrics(context.activity, pool, context.policy.statistics, workers=num_pages(context.config))

    def tally() -> Tally:
        return together(processes.gather(context.rollouts.unjudged.tally))

    with context.rollouts.streaming(pool, tasks.task, player, lambda: context.policy.version) as workers:
        while version < config.updates:
            pool.wait(timeout=1.0)
            if workers.done():
                workers.result()
            batch = multihost_pool.take(pool, processes.gather)
            if batch is None:
                continue
            updating = time.monotonic()
            parts = None if mixture is None else mixture.parts_of(batch.trajectories)
            with learning("update", version=version):
                policy, value, metrics = update_or_skip(
                    learner, policy, value, batch.trajectories, version, seed, idle, learning, parts
                )
            idle = int(metrics.get("idle_updates", 0))
            version += 1
            picked = tasks.update([*batch.trajectories, *batch.left_out])
            pool.resize(asked.groups_for(float(np.mean([len(each.steps) for each in batch.trajectories]))))
            with learning("weights", version=version):
                context.sync_weights(policy.parameters, version)
            metrics |= stream.read(batch.trajectories, version - 1) | picked
            metrics |= {
                **hidden_metrics(batch.trajectories),
                **reward_metrics(batch.trajectories),
                **interface_metrics(batch.trajectories),
                **metrics_of(tally()),
            }
            metrics |= {"update_seconds": time.monotonic() - updating}
            # Before the checkpoint: what a killed run wrote of an update that it makes again is cut off.
            context.metrics.write("ppo", version, metrics)
            with learning("checkpoint", version=version):
                digests = [*digests, *_digests(policy, value)] if len(digests) == version else []
                ledger = multihost_pool.ledger(pool, processes.gather)
                kept = {"ledger": ledger, "digests": digests, "curriculum": tasks.state(), "idle": idle}
                kept["groups"] = pool.groups
                checkpoints.save(version, (policy, value), kept)
            learned_from = "explained_variance" if algorithm.uses_values else "informative_groups"
            of_tasks = tuple(picked)[:MOST_SHOWN]
            of_parts = tuple(f"{name}/success" for name in names)[:MOST_SHOWN]
            shown = (
                "success",
                "entropy",
                "think_tokens",
                learned_from,
                "clip_fraction",
                "staleness",
                *of_parts,
                *of_tasks,
            )
            progress.update(version, **{name: metrics[name] for name in shown if name in metrics})
    save_parameters(context.path / "policy", policy.parameters, parent=start_at)
    if len(digests) == version + 1:  # one process made every update
        value_folder = None if value_at is None else str(value_at.relative_to(context.path))
        started = Starts(str(start_at.relative_to(context.path)), value_folder)
        write_updates(context.path / UPDATES_FILE, started, pool.ledger()["consumed"], digests)
    devices, counts = jax.devices(), multihost_pool.counts(pool, processes.gather)
    described = {"updates": version, "devices": f"{len(devices)} x {devices[0].device_kind}"}
    picked_by = {"curriculum": tasks.picks} if tasks.picks else {}
    picked_by |= {VALUE_DOUBT: doubt} if doubt else {}
    context.record("ppo", {**described, **counts, **picked_by, **judged_of(tally())})


def _digests(policy: TrainState, value: TrainState | None) -> list[dict[str, Any]]:
    """Of the weights, as one entry of a list; none where no process has all of them."""
    return [dataclasses.asdict(Digests.of(policy, value))] if processes.count() == 1 else []


def learner_at_start(
    spec: RunSpec, start_at: Path, value_at: Path | None, parts: Sequence[str] = ()
) -> tuple[PPOLearner, TrainState, Any]:
    """The learner, and the states of policy and value model before the first update, as `improve` takes them. `parts`:
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
    return learner, *learner.init_states(policy, value)


def _success(trajectories: Sequence[Trajectory]) -> float:
    return float(np.mean([trajectory.succeeded for trajectory in trajectories]))
