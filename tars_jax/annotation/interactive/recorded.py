"""The recorded steps of an episode, and the trajectory that results: the same loop once more, over what was recorded.

The agent loop reads the recorded observations and hears the recorded answers, so windows, memory and outcome are those
of a rollout; accepted answers keep the policy's tokens, log-probabilities and versions. Steps that the policy decided
alone are context: their tokens are read, not learned from.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tars_jax.agent.loop import AgentConfig, TurnDeclined, episode_success, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.annotation.interactive.core import Candidate, Decision, Ending
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.inference.sampling import Sampled
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS, as_context


@dataclasses.dataclass(frozen=True)
class DoneStep:
    """A step that is done."""

    decision: Decision
    candidates: tuple[Candidate, ...]  # what the policy would have done; none where it was not asked or is away
    transition: Transition | None  # what it led to; None: the answer could not be read, and nothing was done
    reason: str | None = None  # why a person was asked


@dataclasses.dataclass(frozen=True)
class EpisodeSoFar:
    """An episode so far."""

    id: str
    task: Task
    instruction: str
    space: ActionSpace
    first: Observation
    steps: tuple[DoneStep, ...]

    def observation(self, step: int) -> Observation:
        """Observation that is answered at a step."""
        shown = [done.transition.observation for done in self.steps[:step] if done.transition is not None]
        return shown[-1] if shown else self.first

    @property
    def verdict(self) -> tuple[bool | None, float]:
        """The environment's verdict so far (None: nothing, or nobody verifies), and the rewards' sum."""
        led_to = [done.transition for done in self.steps if done.transition is not None]
        reward = float(sum(each.reward for each in led_to))
        return episode_success(self.task.verification, reward, [each.success for each in led_to]), reward


class Replay:
    """Environment and policy of recorded steps: both say what they said. After the last one the policy is silent."""

    def __init__(self, steps: Sequence[DoneStep]) -> None:
        self._answers = collections.deque(done.decision for done in steps)
        self._transitions = collections.deque(done.transition for done in steps if done.transition is not None)

    async def step(self, actions: Sequence[Any]) -> Transition:
        return self._transitions.popleft()

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        if not self._answers:
            raise TurnDeclined("the episode ended here")
        return sampled_of(self._answers.popleft())


def sampled_of(decision: Decision) -> Sampled:
    return Sampled(decision.tokens, decision.log_probs, decision.versions)


def unsampled_columns(writer: PromptWriter, text: str) -> dict[str, Any]:
    """The token columns of an answer that no policy sampled."""
    tokens = tuple(map(int, writer.response(text)))
    return {"tokens": tokens, "log_probs": (0.0,) * len(tokens), "versions": (-1,) * len(tokens)}


async def trajectory_of(
    record: EpisodeSoFar, writer: PromptWriter, agent: AgentConfig, ending: Ending | None, about: dict[str, Any]
) -> Trajectory:
    """The episode as the flywheel, CT and SFT read it. There is one step at least.

    `ending`: None for an episode that was cut off. What a person says of success counts where no environment verifies;
    it stays in `metadata["claimed_success"]`. `about` joins the metadata.
    """
    replay = Replay([_with_tokens(done, writer) for done in record.steps])
    played = await play_episode(
        replay, record.first, replay, writer, dataclasses.replace(agent, max_prompt=None), id=record.id,
        task=record.task, instruction=record.instruction, space=record.space,
    )  # fmt: skip
    own = played.success
    outcome = played.outcome
    success = own
    if ending is None:
        outcome, success = Outcome.TRUNCATED, own or None
    else:
        success = ending.success if own is None else own
        outcome = Outcome.FINISHED if success else outcome
    context = [number for number, done in enumerate(record.steps) if not done.decision.learned]
    metadata = {
        **played.metadata,
        "environment_success": own,
        "claimed_success": None if ending is None else ending.claimed_success,
        CONTEXT_STEPS: context,
        "annotation": about | {"steps": [step_metadata(done) for done in record.steps]},
    }
    return as_context(dataclasses.replace(played, outcome=outcome, success=success, metadata=metadata), context)


def _with_tokens(done: DoneStep, writer: PromptWriter) -> DoneStep:
    """The step with a token where a secret has none in the journal: a step must have one to carry its reward."""
    if not done.decision.hidden or done.decision.tokens:
        return done
    tokens = unsampled_columns(writer, done.decision.text)
    return dataclasses.replace(done, decision=dataclasses.replace(done.decision, **tokens))


def step_metadata(done: DoneStep) -> dict[str, Any]:
    """Metadata of a step: who decided it, and what the policy would have done."""
    decision = done.decision
    return {
        "decided_by": decision.decided_by,
        "accepted": decision.accepted,
        "candidate": decision.candidate,
        "learned": decision.learned,
        "annotator": decision.annotator,
        "seconds": decision.seconds,
        "keystrokes": decision.keystrokes,
        "reason": done.reason,
        "live": decision.live,
        "hidden": decision.hidden,
        "candidates": [
            {
                "text": each.text, "action": each.action, "valid": each.valid, "probability": each.probability,
                "log_probability": each.log_probability, "version": max(each.versions, default=-1),
            }
            for each in done.candidates
        ],
    }  # fmt: skip
