"""Simulated annotators: a player of given skill decides, corrects and hands over through the same episodes, no HTTP.

    annotated = await annotate(task, setting, make, annotator)
    annotated.trajectory, annotated.human_steps, annotated.switches

`setting.gate` says when it is asked: at every step, where the policy is uncertain, or where the policy calls. A player
is any of `rollout.players`: `reference_player(writer, grammar, skill)`, `own_player(...)`.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

from tars_jax.annotation.interactive.core import Candidate
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.live import LiveEpisode, no_budget
from tars_jax.annotation.interactive.playing import Setting
from tars_jax.annotation.interactive.recorded import EpisodeSoFar
from tars_jax.annotation.interactive.storage import preference_pairs
from tars_jax.environment import Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.rollout.players import Player, PrivilegedEnvironment
from tars_jax.trajectory import Trajectory

Same = Callable[[Candidate, str], bool]


def same_action(candidate: Candidate, action: str) -> bool:
    """Whether a candidate does what the player would do, to the letter."""
    return candidate.valid and candidate.action == action


@dataclasses.dataclass(frozen=True)
class SimulatedAnnotator:
    """Accepts a candidate that does what its player would do, and else writes the player's answer."""

    player: Player
    name: str = "simulated"
    seconds_to_accept: float = 1.0  # of a person's time, as it is counted
    seconds_to_write: float = 8.0
    same: Same = same_action
    edits: float = 0.0  # share of corrections that begin from the likeliest candidate, as an edit of it
    most_steps: int | None = None  # of its own; after that it leaves the rest to the policy. None: no end


@dataclasses.dataclass(frozen=True)
class SimulatedEpisode:
    """A simulated episode, and what it cost."""

    trajectory: Trajectory | None  # None: it was lost before a step was done
    record: EpisodeSoFar
    human_steps: int  # decided by the annotator: accepted, edited or written
    corrections: int  # of these, edited or written
    switches: int  # from the policy to a person
    seconds: float  # of the person, by `seconds_to_accept` and `seconds_to_write`
    success: bool | None

    @property
    def preferences(self) -> list[dict[str, object]]:
        """Pairs of prompt, chosen and rejected."""
        return [dict(pair) for pair in preference_pairs(self.record)]


async def annotate(
    task: Task,
    setting: Setting,
    make: Callable[[], CheckedEnvironment],
    annotator: SimulatedAnnotator,
    *,
    id: str | None = None,
    keep: EpisodeWriter | None = None,
) -> SimulatedEpisode:
    """Plays one episode to its end. Raises InputError for a task that the environment refuses, EnvironmentFailure."""
    writer = keep or EpisodeWriter(id or task.id)
    budget = _Steps(annotator.most_steps)
    live = await LiveEpisode.begin(setting, make, task, writer, annotator.name, budget.minutes_left)
    rng = random.Random(f"annotator {annotator.name} {task.seed}")
    privileged = PrivilegedEnvironment(_Watched(), live.record.first, live.record.space)
    try:
        async with annotator.player(privileged, task) as player:
            while (await live.settled()).phase == "deciding":
                privileged.observation = live.observation
                answer = await player.respond(live.window, [], restart=True)
                text = setting.writer.read(answer.tokens)
                _decide(live, annotator, text, rng)
                budget.used += 1
        trajectory = await live.trajectory()
    finally:
        await live.close()
    people = [done.decision for done in live.record.steps if done.decision.by_person]
    accepted = sum(decision.accepted for decision in people)
    return SimulatedEpisode(
        trajectory=trajectory,
        record=live.record,
        human_steps=len(people),
        corrections=len(people) - accepted,
        switches=live.state.switches,
        seconds=accepted * annotator.seconds_to_accept + (len(people) - accepted) * annotator.seconds_to_write,
        success=live.state.ended.success if live.state.ended else None,
    )


def _decide(live: LiveEpisode, annotator: SimulatedAnnotator, text: str, rng: random.Random) -> None:
    step, candidates = live.state.step, live.state.candidates
    _, action, _, _ = live.read(text)
    alike = [index for index, candidate in enumerate(candidates) if annotator.same(candidate, action)]
    if alike:
        live.decide(step, max(alike, key=lambda index: candidates[index].probability), None)
    elif candidates and rng.random() < annotator.edits:
        live.decide(step, max(range(len(candidates)), key=lambda index: candidates[index].probability), text)
    else:
        live.decide(step, None, text)


class _Watched:
    """An environment in which others act, as a player sees it."""

    async def step(self, actions: Sequence[Any]) -> Transition:
        raise RuntimeError("a simulated annotator acts by its decisions alone")


@dataclasses.dataclass
class _Steps:
    """A budget of steps, told to the gate as minutes: there are some, or none are left."""

    most: int | None
    used: int = 0

    def minutes_left(self) -> float | None:
        if self.most is None:
            return no_budget()
        return float(self.most - self.used)
