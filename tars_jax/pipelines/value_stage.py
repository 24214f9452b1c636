"""The stage between imitation and PPO: the value model of the policy as it is, or one for each part of a mixture."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tars_jax import InputError
from tars_jax.model.policy import Parameters
from tars_jax.pipelines.mixture import mixture_in
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.sections import decaying
from tars_jax.pipelines.starts import start_from
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.training.checkpoint import Checkpoints, save_parameters
from tars_jax.training.optimizers import make_optimizer, only_value_head
from tars_jax.training.ppo_config import PPOConfig
from tars_jax.training.state import fresh_parameters, init_train_state, value_parameters
from tars_jax.training.value import make_value_fn, make_value_update, value_model
from tars_jax.training.value_pretraining import ValuePretrainingConfig, ValuePretrainingResult, pretrain_value
from tars_jax.trajectory import Trajectory

FEWEST_OF_PART = 5  # episodes that a value model of a part is fitted to: a fifth of them is held out


def pretrain(context: RunContext, provider: TaskProvider, start_at: Path) -> None:
    """The value model of the policy whose weights lie in `start_at`, or that of each part of a mixture; exports
    RUN/value, where those of parts lie together, by their numbers."""
    if context.run.finished("value"):
        return
    config = context.config.value
    policy = start_from(start_at, context.parameters)
    context.sync_weights(policy, 0)
    training = provider.value_episodes(config.episodes)
    episodes = context.play("value_episodes", training, context.policy_player())
    model = value_model(context.model)
    fit, mixture = _ValueFit(context, provider, policy), mixture_in(provider)
    if mixture is None or context.config.ppo.value_models == "shared":
        result = fit.fitted("value", episodes)
        save_parameters(context.path / "value", result.parameters, parent=start_at, model=model)
        context.record("value", _described(result))
        return
    parts = mixture.parts_of(episodes)
    results = []
    for part, name in enumerate(mixture.names):
        own = [each for each, its in zip(episodes, parts, strict=True) if its == part]
        if len(own) < FEWEST_OF_PART:
            raise InputError(
                f"value.episodes must give each part {FEWEST_OF_PART} or more with ppo.value_models=part; got "
                f"{config.episodes}, of which {len(own)} are of {name}"
            )
        results.append(fit.fitted(f"value.{part}", own, name))
    weights = {str(part): result.parameters for part, result in enumerate(results)}
    save_parameters(context.path / "value", weights, parent=start_at, model=model)
    found = dict(zip(mixture.names, map(_described, results), strict=True))
    explained = ("explained_variance", "simulator_explained_variance")
    means = {name: float(np.mean([each[name] for each in found.values()])) for name in explained}
    context.record("value", {**means, "parts": found})


class _ValueFit:
    """How value models of one policy are fitted; compiled once for all of them."""

    def __init__(self, context: RunContext, provider: TaskProvider, policy: Parameters) -> None:
        self._context, self._provider, config = context, provider, context.config
        self._optimizer = make_optimizer(decaying(config.value, config.value.max_updates))
        if context.model.scalar_head:
            self._optimizer = only_value_head(self._optimizer)
        model = value_model(context.model)
        fresh = fresh_parameters(model, jax.random.key(config.seed + 1), context.mesh)
        self._start = value_parameters(policy, fresh)
        self._update, self._value_fn = make_value_update(model, self._optimizer, None), make_value_fn(model)

    def fitted(self, name: str, episodes: Sequence[Trajectory], part: str = "") -> ValuePretrainingResult:
        """To episodes of the policy. `name`: of its checkpoints; `part`: of which it is, where it is not of all."""
        context, config = self._context, self._context.config.value
        checkpoints = Checkpoints(context.path / "checkpoints" / name)
        done = checkpoints.latest() or 0
        stage = f"value {part}" if part else "value"
        context.metrics.truncate_after(stage, done)
        progress = context.progress(stage, config.max_updates, "updates", done=done, compiles=True)

        def on_evaluation(updates: int, values: dict[str, float]) -> None:
            context.metrics.write(stage, updates, values)
            progress.update(updates, train=values["explained_variance"], held_out=values["heldout_explained_variance"])

        result = pretrain_value(
            init_train_state(self._start, self._optimizer),
            self._update,
            self._value_fn,
            episodes,
            context.packer,
            context.rewards,
            PPOConfig(advantages=context.config.ppo.advantages, gamma=context.config.ppo.gamma),
            ValuePretrainingConfig(
                max_updates=config.max_updates,
                batch_rows=config.batch_rows,
                evaluate_every=config.evaluate_every,
                patience=config.patience,
            ),
            checkpoints,
            constraint=context.answer_constraint,
            known=self._provider.known,
            seed=context.config.seed,
            on_evaluation=on_evaluation,
        )
        best = result.best
        print(
            f"{stage}: explains {best.explained_variance:.2f} of the variance of held-out returns; "
            f"the simulator's state and the remaining steps explain {result.simulator_explained_variance:.2f}; "
            f"correlation of value and return {best.correlation:.2f}, "
            f"at the first token {best.correlation_at_start:.2f}"
        )
        return result


def _described(result: ValuePretrainingResult) -> dict[str, Any]:
    return {
        **dataclasses.asdict(result.best),
        "simulator_explained_variance": result.simulator_explained_variance,
        "updates": result.updates,
        "best_at": result.best.updates,
        "levelled_off": result.levelled_off,
    }
