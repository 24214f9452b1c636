"""The stage between imitation and PPO: the value model of the policy as it is, or one for each part of a mixture."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tars_jax import InputError
from tars_jax.model.policy import Parameters
from tars_jax.pipelines.mixture import mixture_in
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.sections import decaying
from tars_jax.pipelines.starting_weights import start_from
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.training.checkpoint import Checkpoints, recorded_notes, save_parameters
from tars_jax.training.config import PPOConfig, ValuePretrainingConfig
from tars_jax.training.optimizers import only_value_head, shared_optimizer
from tars_jax.training.state import fresh_parameters, init_train_state, value_parameters
from tars_jax.training.value import make_value_fn, make_value_update, value_model
from tars_jax.training.value_pretraining import ValuePretrainingResult, pretrain_value
from tars_jax.trajectory import Trajectory

FEWEST_OF_PART = 5  # episodes of the first round that a value model of a part is fitted to: some of them are held out
LEVELS = "levelled_off"  # of the notes beside the weights: the name of each value model -> whether it has
Sample = Callable[[int], Sequence[Trajectory]]  # the first so many episodes, those that are lost left out


def pretrain(context: RunContext, provider: TaskProvider, start_at: Path) -> None:
    """The value model of the policy whose weights lie in `start_at`, or that of each part of a mixture; exports
    RUN/value, where those of parts lie together, by their numbers.

    The policy plays on in rounds until they have levelled off. What it plays is of all parts, and each part's value
    model takes its own of it: those that level off later have what others made it play.
    """
    if context.run.finished("value"):
        return
    config = context.config.value
    policy = start_from(start_at, context.parameters)
    context.sync_weights(policy, 0)
    tasks = provider.value_episodes(max(config.episodes, config.max_episodes))

    def sample(count: int) -> list[Trajectory]:
        return context.play("value_episodes", tasks[:count], context.policy_player())

    model = value_model(context.model)
    fit, mixture = _ValueFit(context, provider, policy), mixture_in(provider)
    if mixture is None or context.config.ppo.value_models == "shared":
        result = fit.fitted("value", sample)
        notes = {LEVELS: {"value": result.levelled_off}}
        save_parameters(context.path / "value", result.parameters, parent=start_at, model=model, notes=notes)
        context.record("value", _described(result))
        return
    results = []
    for part, name in enumerate(mixture.names):

        def own(count: int, part: int = part, name: str = name) -> list[Trajectory]:
            episodes = sample(count)
            found = [each for each, its in zip(episodes, mixture.parts_of(episodes), strict=True) if its == part]
            if len(found) < FEWEST_OF_PART:
                raise InputError(
                    f"value.episodes must give each part {FEWEST_OF_PART} or more with ppo.value_models=part; got "
                    f"{config.episodes}, of which {len(found)} are of {name}"
                )
            return found

        results.append(fit.fitted(f"value.{part}", own, name))
    weights = {str(part): result.parameters for part, result in enumerate(results)}
    notes = {LEVELS: {name: each.levelled_off for name, each in zip(mixture.names, results, strict=True)}}
    save_parameters(context.path / "value", weights, parent=start_at, model=model, notes=notes)
    found = dict(zip(mixture.names, map(_described, results), strict=True))
    explained = ("explained_variance", "simulator_explained_variance")
    means = {name: float(np.mean([each[name] for each in found.values()])) for name in explained}
    context.record("value", {**means, "parts": found})


def doubt_of_value(value_at: Path | None) -> str:
    """A sentence on why PPO should not trust the value model in `value_at`; empty where nothing is known against it.
    None: of a value model that was not pretrained."""
    if value_at is None:
        return (
            "the value model was not pretrained: it begins with the policy's trunk and a head that says 0, and PPO "
            "believes it from its first update on (RUN/value of a value_pretraining is what the report begins with)"
        )
    return doubt_of_levels(recorded_notes(value_at).get(LEVELS, {}))


def doubt_of_levels(levelled_off: Mapping[str, bool]) -> str:
    """The same of value models by their names."""
    rising = [name for name, has in levelled_off.items() if not has]
    if not rising:
        return ""
    which = "the value model" if len(levelled_off) == 1 else f"the value models of {', '.join(rising)}"
    return (
        f"{which} had not levelled off when pretraining ended: value loss or explained variance was still getting "
        "better when its updates ran out"
    )


class _ValueFit:
    """Fits the value models of one policy; compiled once for all of them."""

    def __init__(self, context: RunContext, provider: TaskProvider, policy: Parameters) -> None:
        self._context, self._provider, config = context, provider, context.config
        self._optimizer = shared_optimizer(decaying(config.value, config.value.max_updates))
        if context.model.scalar_head:
            self._optimizer = only_value_head(self._optimizer)
        model = value_model(context.model)
        fresh = fresh_parameters(model, jax.random.key(config.seed + 1), context.mesh)
        self._start = value_parameters(policy, fresh)
        self._update, self._value_fn = make_value_update(model, self._optimizer, None), make_value_fn(model)

    def fitted(self, name: str, sample: Sample, part: str = "") -> ValuePretrainingResult:
        """To what `sample` has the policy play. `name`: of its checkpoints; `part`: of which it is, if any."""
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
            sample,
            context.packer,
            context.rewards,
            PPOConfig(advantages=context.config.ppo.advantages, gamma=context.config.ppo.gamma),
            from_section(ValuePretrainingConfig, config),
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
            f"at the first token {best.correlation_at_start:.2f}; "
            f"{'levelled off' if result.levelled_off else 'still getting better'} after {result.updates} updates on "
            f"{result.episodes} episodes"
        )
        return result


def _described(result: ValuePretrainingResult) -> dict[str, Any]:
    return {
        **dataclasses.asdict(result.best),
        "simulator_explained_variance": result.simulator_explained_variance,
        "updates": result.updates,
        "fitted_to": result.episodes,
        "best_at": result.best.updates,
        "levelled_off": result.levelled_off,
    }
