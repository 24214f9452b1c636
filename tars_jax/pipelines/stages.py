"""The stages of an agent's way from nothing to reinforcement learning (`ppo_stage.py`), whatever it is to learn.

Each goes on where a killed run stopped, and leaves what it has made in the run directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tars_jax.evaluation.scores import summary
from tars_jax.pipelines.harness import demonstrating
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.sections import decaying
from tars_jax.pipelines.starting_weights import start_from
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.rollout.players import demonstrating_player
from tars_jax.training.checkpoint import Checkpoints, save_parameters
from tars_jax.training.metrics import require_finite
from tars_jax.training.minibatches import take_rows
from tars_jax.training.optimizers import shared_optimizer
from tars_jax.training.packing import rows_of_update
from tars_jax.training.state import (
    fresh_parameters,
    init_train_state,
)
from tars_jax.training.supervised import make_supervised_update
from tars_jax.trajectory import Trajectory


def collect(context: RunContext, provider: TaskProvider) -> list[Trajectory]:
    config = context.config.demonstrations
    player = demonstrating_player(config.get("player", ""), context.writer, context.config.agent.grammar, config.skill)
    tasks = provider.demonstrations(config.episodes)
    with demonstrating(player, tasks, config.skill, context.config) as playing:
        found = context.play("demonstrations", tasks, playing, compiles=False)
    context.record("demonstrations", {"success": _success(found), "episodes": len(found)})
    return found


def initial_policy(context: RunContext) -> Path:
    """Writes the weights that the policy begins with, fresh or those of `model.preset`, and returns their folder:
    RUN/initial."""
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
    optimizer = shared_optimizer(decaying(config, updates))
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


def _success(trajectories: Sequence[Trajectory]) -> float:
    return float(np.mean([trajectory.succeeded for trajectory in trajectories]))
