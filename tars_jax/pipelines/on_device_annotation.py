"""Interactive annotation on the device: rounds of what a simulated annotator decides, and of what the policy learns.

Axes: N seeds, E episodes of a round, S steps, B rows of a batch, G rounds.

A round: the latest policy and the annotator work on fresh tasks until a budget of human steps is spent; what the person
decided joins the demonstrations that the policy began with; supervised updates on all of it; success on held-out tasks.
Kinds of annotation differ in numbers only, so that all of them are one program.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.model.policy import Parameters
from tars_jax.pipelines.learning_sections import AnnotationPlan
from tars_jax.pipelines.on_device import CompiledStage, Curves, OnDevice
from tars_jax.pipelines.on_device_programs import SUPERVISED, Design, Floats, Scenes, keys_of
from tars_jax.rollout.device_annotators import (
    Annotator,
    annotated_rollout,
    begun,
    decided_by_person,
    labeled,
    switches,
)
from tars_jax.rollout.on_device import demonstrate
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.minibatches import put_rows, take_rows
from tars_jax.training.on_device import rows_of, shuffle_played_first
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import Rows
from tars_jax.training.state import Metrics, TrainState
from tars_jax.training.supervised import supervised_update

ANNOTATION, UPDATES = 4, 5  # stages, beside those of on_device_programs


@dataclasses.dataclass(frozen=True)
class Arm:
    """A kind of annotation. Quantiles are of the policy's own uncertainty, at steps that it plays alone."""

    ask: float = 0.0  # the quantile above which a person is asked: 0 always, 1 never
    keep: float = 0.0  # the quantile above which they stay
    accepts: bool = True  # as in Annotator, and so is the next
    afterwards: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.keep <= self.ask <= 1:
            raise InputError(f"keep and ask must be quantiles of 0 to 1, keep at most ask; got {self.keep}, {self.ask}")

    @property
    def gated(self) -> bool:
        return 0 < self.ask < 1


class Collected(NamedTuple):
    """Annotations of one round."""

    rows: Rows  # [human_steps]; those that nobody decided are empty
    uncertainty: jax.Array  # [E, S]: of the policy's proposals, NaN where nothing was played
    counts: Metrics  # of the episodes that the budget reached


def start_learning(design: Design, policy: Parameters) -> TrainState:
    """The policy, with an optimizer that has seen nothing."""
    optimizer = make_optimizer(_optimizer(design, 1.0))
    return TrainState(jax.tree.map(jnp.copy, policy), optimizer.init(policy), jnp.int32(0))


def _optimizer(design: Design, rate: float) -> OptimizerConfig:
    """That of supervised training at a rate that stays."""
    return dataclasses.replace(design.supervised, learning_rate=rate, decay=0)


def earlier(design: Design, plan: AnnotationPlan, seed: jax.Array, scenes: Scenes, floats: Floats) -> Rows:
    """Rows before anybody annotates, with room for annotations: steps of the policy's demonstrations."""
    levels = keys_of(SUPERVISED, seed, jnp.arange(design.demonstrations))
    episodes = demonstrate(scenes[0], levels, floats["demonstrations"]["skill"])
    order, _ = shuffle_played_first(episodes, keys_of(ANNOTATION, seed, jnp.array([-1]))[0])
    # A row beyond the last is empty.
    room = jnp.full(plan.rounds * plan.human_steps, order.size)
    return take_rows(rows_of(episodes), jnp.concatenate([order[: plan.earlier_rows], room]))


def collect(
    design: Design,
    plan: AnnotationPlan,
    policy: Parameters,
    seed: jax.Array,
    gate: jax.Array,
    number: jax.Array,
    annotator: Annotator,
    scenes: Scenes,
    floats: Floats,
) -> Collected:
    """Collects one round, of any number; `gate` [2] is the uncertainty above which the annotator is asked, and stays.

    Rounds of one number have the same tasks in every kind of annotation.
    """
    key = keys_of(ANNOTATION, seed, -2 - number[None])[0]
    levels = keys_of(ANNOTATION, seed, number * plan.episodes + jnp.arange(plan.episodes))
    annotator = dataclasses.replace(annotator, ask_above=gate[0], keep_above=gate[1])
    found = annotated_rollout(
        scenes[0], design.model, policy, annotator, levels, key, floats["sampling"]["temperature"]
    )
    decided = decided_by_person(found, annotator.afterwards, plan.human_steps)
    rows = rows_of(labeled(found, decided))
    order = jnp.argsort(~decided.ravel(), stable=True)[: plan.human_steps]
    played = found.episodes.played
    reached = begun(decided)[:, None] & played
    counts = {
        "human_steps": decided.sum(),
        "corrections": (decided & ~found.accepted).sum(),
        "switches": switches(decided),
        "steps": reached.sum(),
        "wrong": (reached & ~found.right).sum(),
        "wrong_decided": (decided & ~found.right).sum(),
        "episodes": begun(decided).sum(),
    }
    return Collected(take_rows(rows, order), jnp.where(played, found.uncertainty, jnp.nan), counts)


def learn(
    design: Design,
    plan: AnnotationPlan,
    state: TrainState,
    held: Rows,
    new: Rows,
    seed: jax.Array,
    number: jax.Array,
    rate: jax.Array,
    scenes: Scenes,
    floats: Floats,
) -> tuple[TrainState, Rows, Metrics]:
    """The updates of a round, on batches of all that there is, evenly; what is new joins it first."""
    held = put_rows(held, new, plan.earlier_rows + number * plan.human_steps)
    config = _optimizer(design, 1.0)
    object.__setattr__(config, "learning_rate", rate)  # unchecked: inside a trace a number has no value to check
    update = supervised_update(design.model, make_optimizer(config), design.router_aux_loss_weight)
    filled = held.action_mask.any(1)

    def one(state: TrainState, key: jax.Array) -> tuple[TrainState, Metrics]:
        order = jnp.argsort(jnp.where(filled, jax.random.uniform(key, filled.shape), 2.0))
        return update(state, take_rows(held, order[: plan.batch_rows]))

    keys = keys_of(UPDATES, seed, number * plan.updates + jnp.arange(plan.updates))
    state, metrics = jax.lax.scan(one, state, keys)
    return state, held, metrics


START, EARLIER = (
    CompiledStage(lambda design, policy, scenes, floats: start_learning(design, policy), 2),
    CompiledStage(earlier, 2),
)
COLLECT, LEARN = CompiledStage(collect, 4), CompiledStage(learn, 4)


class AnnotationRounds:
    """Rounds of annotation of the policies `start`, stacked over `seeds`, under one config of configs/on_device.py.

    Raises InputError for a mixture: annotators have one game.
    """

    def __init__(self, setup: OnDevice, start: Parameters, seeds: Sequence[int], skill: float, plan: AnnotationPlan):
        if len(setup.design.parts) > 1:
            raise InputError(f"mixture.parts must be none where somebody annotates; got {len(setup.design.parts)}")
        self._setup, self._start, self._seeds, self._skill, self._plan = setup, start, seeds, skill, plan

    def rounds(self, arm: Arm, rate: float) -> Curves:
        """Held-out success [N, G + 1], before the first round and after each, and counts of each round [N, G]."""
        setup, plan, seeds = self._setup, self._plan, jnp.asarray(self._seeds, jnp.int32)
        state = setup.apply(START, self._start)
        held = setup.apply(EARLIER, seeds, sizes=(plan,))
        success, counts = [self._success(self._start)], []
        for number in range(plan.rounds):
            found = self.collect(state.parameters, arm, number)
            state, held, metrics = setup.apply(
                LEARN, state, held, found.rows, seeds, jnp.int32(number), jnp.float32(rate), sizes=(plan,)
            )
            counts.append({**found.counts, "loss": metrics["loss"][:, -1]})
            success.append(self._success(state.parameters))
        each = {name: np.stack([np.asarray(one[name]) for one in counts], 1) for name in counts[0]}
        return {"success": np.stack(success, 1), **each}

    def collect(self, policy: Parameters, arm: Arm, number: int) -> Collected:
        """Collects the annotator's decisions in round `number`; every field [N, ...]."""
        gate = np.array([_without_calibration(arm.ask), _without_calibration(arm.keep)], np.float32)
        gates = np.broadcast_to(gate, (len(self._seeds), 2))
        if arm.gated:
            # Tasks of its own: those of rounds that are never played.
            alone = self._collect(policy, np.full((len(self._seeds), 2), np.inf), Arm(1.0, 1.0), 1000 + number)
            steps = np.asarray(alone.uncertainty).reshape(len(self._seeds), -1)
            gates = np.nanquantile(steps, [arm.ask, arm.keep], axis=1).T
        return self._collect(policy, gates, arm, number)

    def _collect(self, policy: Parameters, gates: np.ndarray, arm: Arm, number: int) -> Collected:
        given = (arm.accepts, arm.afterwards)
        annotator = Annotator(jnp.float32(self._skill), jnp.float32(0), jnp.float32(0), *map(jnp.bool_, given))
        seeds = jnp.asarray(self._seeds, jnp.int32)
        found: Collected = self._setup.apply(
            COLLECT, policy, seeds, jnp.asarray(gates, jnp.float32), jnp.int32(number), annotator, sizes=(self._plan,)
        )
        return found

    def _success(self, policy: Parameters) -> np.ndarray:
        found: np.ndarray = self._setup.evaluate(policy, self._seeds, self._plan.evaluation_episodes)["success"]
        return found.mean(1)


def _without_calibration(quantile: float) -> float:
    """The bound of a gate that is always or never passed."""
    return math.inf if quantile >= 1 else -math.inf


def human_steps_to(success: np.ndarray, wanted: float, budgets: Sequence[int]) -> np.ndarray:
    """Human steps at which each curve [N, G + 1] first reaches `wanted`, straight between rounds; NaN where never.

    `budgets` [G + 1] are the human steps at the points of a curve.
    """
    found = np.full(len(success), np.nan)
    for seed, curve in enumerate(success):
        above = np.flatnonzero(curve >= wanted)
        if not above.size:
            continue
        at = int(above[0])
        if at == 0:
            found[seed] = budgets[0]
            continue
        share = (wanted - curve[at - 1]) / (curve[at] - curve[at - 1])
        found[seed] = budgets[at - 1] + share * (budgets[at] - budgets[at - 1])
    return found
