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

from experiments.job_config import ppo_config
from experiments.lab import Lab, Workbench
from experiments.sections import decaying, num_pages
from experiments.starts import keep, start_from
from experiments.work import Work
from tars_jax.rollout import together
from tars_jax.rollout.players import reference_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.pool_config import PoolConfig
from tars_jax.rollout.stream_metrics import StreamMetrics
from tars_jax.rollout.timeline import Part
from tars_jax.training import processes
from tars_jax.training.checkpoint import Checkpoints, load_parameters, save_parameters
from tars_jax.training.learner import PPOLearner
from tars_jax.training.metrics import Progress, require_finite
from tars_jax.training.optimisers import OptimiserConfig, make_optimiser, only_value_head
from tars_jax.training.placement import take_rows
from tars_jax.training.ppo_config import PPOConfig
from tars_jax.training.recorded_updates import UPDATES_FILE, Digests, Starts, write_updates
from tars_jax.training.schedule import rows_of_update
from tars_jax.training.state import TrainState, abstract_parameters, fresh_parameters, start, value_parameters
from tars_jax.training.supervised import make_supervised_update
from tars_jax.training.value import make_value_fn, make_value_update, value_model
from tars_jax.training.value_pretraining import ValuePretrainingConfig, pretrain_value
from tars_jax.trajectory import Trajectory


def collect(lab: Lab, work: Work) -> list[Trajectory]:
    config = lab.config.demonstrations
    player = reference_player(lab.writer, lab.config.agent.grammar, config.skill)
    found = lab.play("demonstrations", work.demonstrations(config.episodes), player)
    lab.record("demonstrations", {"success": _success(found), "episodes": len(found)})
    return found


def supervise(
    lab: Lab,
    stage: str,
    demonstrations: Sequence[Trajectory],
    config: Any,
    parent: Path | None = None,
    *,
    loss_on: str = "agent",
    epochs: int | None = None,
    output: Path | None = None,
) -> None:
    """Supervised training on demonstrations, from the weights in `parent`, else from those that the lab starts from
    or, without any, from fresh ones; exports `output`, which is RUN/stage unless given.

    `config` has the fields of the quickstart's `supervised`; `epochs` takes the place of its `updates`. `loss_on` as
    `make_supervised_update` takes it. Goes on where a killed run stopped.
    """
    if lab.run.finished(stage):
        return
    seed, parent, output = lab.config.seed, parent or lab.parent, output or lab.path / stage
    rows = lab.packer.pack(demonstrations, config.batch_rows).rows
    num_rows = rows.action_mask.shape[0]
    updates = config.updates if epochs is None else epochs * num_rows // config.batch_rows
    optimiser = make_optimiser(decaying(config, updates))
    update = make_supervised_update(lab.model, optimiser, config.balance, loss_on)
    fresh = fresh_parameters(lab.model, jax.random.key(seed), lab.mesh)
    state = start(fresh if parent is None else start_from(parent, fresh), optimiser)
    checkpoints = Checkpoints(lab.path / "checkpoints" / stage)
    done = checkpoints.latest() or 0
    if done:
        state, _ = checkpoints.restore(done, state)
    lab.metrics.truncate_after(stage, done)
    progress = Progress(stage, updates, "updates", done=done)
    for number in range(done, updates):
        chosen = rows_of_update(number, num_rows, config.batch_rows, seed)
        state, metrics = update(state, take_rows(rows, chosen))
        saves = (number + 1) % config.save_every == 0
        if saves or (number + 1) % 20 == 0 or number + 1 == updates:
            values = {name: float(value) for name, value in metrics.items()}
            require_finite(stage, number + 1, values)
            lab.metrics.write(stage, number + 1, values)
            progress.update(number + 1, loss=values["loss"], accuracy=values["accuracy"])
        if saves:
            checkpoints.save(number + 1, state, {})
    save_parameters(output, state.parameters, parent=parent, model=lab.model)
    lab.record(stage, {"updates": updates})


def evaluate(lab: Lab, work: Work, stage: str, weights: Path | None) -> list[Trajectory]:
    """The same held-out levels and random streams before and after; without `weights`, of fresh parameters."""
    lab.hand_over(lab.parameters if weights is None else start_from(weights, lab.parameters), 0)
    held_out = work.held_out(lab.config.task.evaluation_episodes)
    found = lab.play(stage, held_out, lab.policy_player())
    lab.record(stage, {"success": _success(found), "episodes": len(found)})
    print(f"{stage}: {_success(found):.1%} of {len(found)} held-out episodes")
    return found


def pretrain(lab: Lab, work: Work, start_at: Path) -> None:
    """The value model of the policy whose weights lie in `start_at`; exports RUN/value."""
    if lab.run.finished("value"):
        return
    config = lab.config.value
    policy = start_from(start_at, lab.parameters)
    lab.hand_over(policy, 0)
    training = work.value_episodes(config.episodes)
    episodes = lab.play("value_episodes", training, lab.policy_player())
    model = value_model(lab.model)
    fresh = fresh_parameters(model, jax.random.key(lab.config.seed + 1), lab.mesh)
    optimiser = make_optimiser(decaying(config, config.max_updates))
    if lab.model.scalar_head:
        optimiser = only_value_head(optimiser)
    checkpoints = Checkpoints(lab.path / "checkpoints" / "value")
    done = checkpoints.latest() or 0
    lab.metrics.truncate_after("value", done)
    progress = Progress("value", config.max_updates, "updates", done=done)

    def on_evaluation(updates: int, values: dict[str, float]) -> None:
        lab.metrics.write("value", updates, values)
        progress.update(updates, train=values["explained_variance"], held_out=values["heldout_explained_variance"])

    result = pretrain_value(
        start(value_parameters(policy, fresh), optimiser),
        make_value_update(model, optimiser, None),
        make_value_fn(model),
        episodes,
        lab.packer,
        lab.rewards,
        PPOConfig(advantages=lab.config.ppo.advantages, gamma=lab.config.ppo.gamma),
        ValuePretrainingConfig(
            max_updates=config.max_updates,
            batch_rows=config.batch_rows,
            evaluate_every=config.evaluate_every,
            patience=config.patience,
        ),
        checkpoints,
        known=work.known,
        seed=lab.config.seed,
        on_evaluation=on_evaluation,
    )
    save_parameters(lab.path / "value", result.parameters, parent=start_at, model=model)
    best = result.best
    print(
        f"value: explains {best.explained_variance:.2f} of the variance of held-out returns; "
        f"the simulator's state and the remaining steps explain {result.simulator_explained_variance:.2f}; "
        f"correlation of value and return {best.correlation:.2f}, at the first token {best.correlation_at_start:.2f}"
    )
    lab.record(
        "value",
        {
            **dataclasses.asdict(best),
            "simulator_explained_variance": result.simulator_explained_variance,
            "updates": result.updates,
            "best_at": best.updates,
            "levelled_off": result.levelled_off,
        },
    )


def improve(lab: Lab, work: Work, start_at: Path, value_at: Path | None) -> None:
    """PPO from the policy in `start_at` with the value model in `value_at`; exports RUN/policy.

    Without `value_at` the value model begins as the policy's trunk with a head that says 0; GRPO has none.
    """
    if lab.run.finished("ppo"):
        return
    config, seed = lab.config.ppo, lab.config.seed
    algorithm = ppo_config(config)
    start_at = keep(lab.path, start_at, "policy")
    value_at = keep(lab.path, value_at, "value") if value_at is not None and algorithm.uses_values else None
    learner, policy, value = learner_at_start(lab, start_at, value_at)
    checkpoints = Checkpoints(lab.path / "checkpoints" / "ppo")
    version = checkpoints.latest() or 0
    extra: dict[str, Any] = {}
    if version:
        (policy, value), extra = checkpoints.restore(version, (policy, value))
    digests = extra.get("digests", []) if version else _digests(policy, value)
    lab.metrics.truncate_after("ppo", version)
    tasks = work.training(extra.get("curriculum"))
    asked = PoolConfig(
        min_batch=config.min_batch // lab.share.of,
        max_staleness=config.max_staleness,
        strict=config.strict_staleness,
        group_size=config.group_size,
        dynamic_sampling=config.dynamic_sampling,
        updates=config.updates,
        share=lab.share,
    )
    pool = RolloutPool(lab.path / "trajectories" / "ppo", asked, extra.get("ledger"))
    lab.hand_over(policy.parameters, version)
    progress = Progress("ppo", config.updates, "updates", done=version, min_seconds=0)
    player = lab.policy_player()
    learning = functools.partial(lab.activity.span, Part.LEARNER, 0)
    stream = StreamMetrics(lab.activity, pool, lab.policy.statistics, workers=num_pages(lab.config))
    with lab.rollouts.streaming(pool, tasks.task, player, lambda: lab.policy.version) as workers:
        while version < config.updates:
            pool.wait(timeout=1.0)
            if workers.done():
                workers.result()
            batch = together.take(pool, processes.gather)
            if batch is None:
                continue
            updating = time.monotonic()
            with learning("update", version=version):
                policy, value, metrics = learner.update(policy, value, batch.trajectories, version, seed, learning)
            version += 1
            picked = tasks.saw([*batch.trajectories, *batch.left_out])
            with learning("weights", version=version):
                lab.hand_over(policy.parameters, version)
            metrics |= stream.read(batch.trajectories, version - 1) | picked
            metrics |= {"update_seconds": time.monotonic() - updating}
            # Before the checkpoint: what a killed run wrote of an update that it makes again is cut off.
            lab.metrics.write("ppo", version, metrics)
            with learning("checkpoint", version=version):
                digests = [*digests, *_digests(policy, value)] if len(digests) == version else []
                ledger = together.ledger(pool, processes.gather)
                kept = {"ledger": ledger, "digests": digests, "curriculum": tasks.state()}
                checkpoints.save(version, (policy, value), kept)
            learned_from = "explained_variance" if algorithm.uses_values else "informative_groups"
            shown = ("success", "entropy", "think_tokens", learned_from, "clip_fraction", "staleness", *picked)
            progress.update(version, **{name: metrics[name] for name in shown})
    save_parameters(lab.path / "policy", policy.parameters, parent=start_at)
    if len(digests) == version + 1:  # one process made every update
        value_folder = None if value_at is None else str(value_at.relative_to(lab.path))
        started = Starts(str(start_at.relative_to(lab.path)), value_folder)
        write_updates(lab.path / UPDATES_FILE, started, pool.ledger()["consumed"], digests)
    devices, counts = jax.devices(), together.counts(pool, processes.gather)
    lab.record("ppo", {"updates": version, "devices": f"{len(devices)} x {devices[0].device_kind}", **counts})


def _digests(policy: TrainState, value: TrainState | None) -> list[dict[str, Any]]:
    """Of the weights, as one entry of a list; none where no process has all of them."""
    return [dataclasses.asdict(Digests.of(policy, value))] if processes.count() == 1 else []


def learner_at_start(bench: Workbench, start_at: Path, value_at: Path | None) -> tuple[PPOLearner, TrainState, Any]:
    """The learner, and the states of policy and value model before the first update, as `improve` takes them."""
    config, algorithm = bench.config.ppo, ppo_config(bench.config.ppo)
    optimisers = OptimiserConfig(config.learning_rate), OptimiserConfig(config.value_learning_rate)
    learner = PPOLearner(bench.model, bench.packer, algorithm, bench.rewards, *optimisers)
    critic = value_model(bench.model)
    value = None
    if value_at is not None:
        policy = start_from(start_at, abstract_parameters(bench.model, bench.mesh))
        value = load_parameters(value_at, abstract_parameters(critic, bench.mesh))
    else:
        policy = start_from(start_at, bench.parameters)  # a head that it lacks begins fresh
        if algorithm.uses_values:
            value = value_parameters(policy, fresh_parameters(critic, jax.random.key(0), bench.mesh))
    if value is not None and bench.model.scalar_head:
        policy |= {"scalar_head": value["scalar_head"]}
    return learner, *learner.start(policy, value)


def _success(trajectories: Sequence[Trajectory]) -> float:
    return float(np.mean([trajectory.solved for trajectory in trajectories]))
