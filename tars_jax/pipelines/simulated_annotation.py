"""A reference player as the annotator of any policy, until a budget of human steps is spent."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tars_jax.annotation.interactive.asking_gate import EVERY_STEP, GATED, AskingGate
from tars_jax.annotation.interactive.core import Candidate
from tars_jax.annotation.interactive.playing import Setting
from tars_jax.annotation.interactive.simulated import SimulatedAnnotator, SimulatedEpisode, annotate, same_action
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.pipelines.annotating import AnnotatedPolicy
from tars_jax.rollout.players import reference_player

CORRECTIONS, DEMONSTRATIONS = "corrections", "demonstrations"


class Spent(NamedTuple):
    """Costs of the annotation of some tasks."""

    episodes: int
    solved: int
    human_steps: int
    corrections: int
    switches: int
    lost: int  # episodes that their environment failed


def setting_of(opened: AnnotatedPolicy, kind: str, gate: AskingGate) -> Setting:
    """Setting of who is asked when: corrections and demonstrations ask at every step, else the gate decides."""
    asks = gate if kind == GATED else AskingGate(EVERY_STEP)
    return Setting(opened.writer, opened.agent, opened.policy, asks, opened.value)


def annotator_of(opened: AnnotatedPolicy, kind: str, skill: float) -> SimulatedAnnotator:
    """A reference player that errs at a share 1 - `skill` of its steps; of demonstrations it heeds no proposal."""
    player = reference_player(opened.writer, opened.agent.grammar, skill)
    return SimulatedAnnotator(player, same=_nothing_is_alike if kind == DEMONSTRATIONS else same_action)


def _nothing_is_alike(candidate: Candidate, action: str) -> bool:
    return False


async def annotate_until(
    tasks: Sequence[Task],
    setting: Setting,
    make: Callable[[Task], CheckedEnvironment],
    annotator: SimulatedAnnotator,
    human_steps: int,
) -> tuple[list[SimulatedEpisode], int]:
    """Annotates one episode after another, until as many steps are decided by the annotator, or the tasks are used up;
    and how many episodes were lost to their environment.

    The last one is played to its end, so the budget may be overspent by less than an episode's steps. Raises
    InputError for a task that its environment refuses.
    """
    found: list[SimulatedEpisode] = []
    lost = 0
    for task in tasks:
        if sum(each.human_steps for each in found) >= human_steps:
            break
        try:
            found.append(await annotate(task, setting, functools.partial(make, task), annotator))
        except EnvironmentFailure as error:
            print(f"annotate_simulated: {task.id} is lost: {error}", flush=True)
            lost += 1
    return found, lost


def spent_on(found: Sequence[SimulatedEpisode], lost: int) -> Spent:
    """Sums the costs of episodes."""
    return Spent(
        episodes=len(found),
        solved=sum(bool(each.success) for each in found),
        human_steps=sum(each.human_steps for each in found),
        corrections=sum(each.corrections for each in found),
        switches=sum(each.switches for each in found),
        lost=lost,
    )
