"""Evidence that a judge may believe: the actions and what was seen of them. What the agent says of itself is no
evidence."""

from __future__ import annotations

import dataclasses
import re
from typing import NamedTuple

from tars_jax.environment import Observation, Task
from tars_jax.judges.reference import answer_of
from tars_jax.trajectory import Step, Trajectory

NO_ACTION = "(an answer that is no action)"
ENDED = "finished()"  # whatever it told the user
# Calls of our agents and of datasets (BrowserGym, WebArena) that tell the user something.
_SPEAKS = re.compile(
    r"(?:^|[\n;])\s*(?:finished|send_msg_to_user|report_infeasible|answer|done|terminate|stop)\s*[(\[]", re.IGNORECASE
)
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_COMMENT = re.compile(r"^[ \t]*#[^\n]*\n?|[ \t]+#[^\n]*", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """An episode without its thoughts and its final answer. Observation n is what was seen before action n + 1."""

    instruction: str
    actions: tuple[str, ...]
    observations: tuple[Observation, ...]  # one for each action, and the last one where it was kept
    claim: str | None = None  # the final answer, where it is to be judged: marked as a claim

    @property
    def numbered_actions(self) -> str:
        return "\n".join(f"{number}. {action}" for number, action in enumerate(self.actions, 1)) or "(none)"


def evidence_of(trajectory: Trajectory, task: Task, *, with_claim: bool = False) -> Evidence:
    """`with_claim`: the task asks for an answer, so that there is none without what the agent said."""
    seen = [Observation(step.screenshot, step.text) for step in trajectory.steps]
    if trajectory.final_screenshot or trajectory.final_text:
        seen.append(Observation(trajectory.final_screenshot, trajectory.final_text))
    return Evidence(
        instruction=trajectory.metadata.get("instruction") or task.instruction,
        actions=tuple(_acted(step) for step in trajectory.steps),
        observations=tuple(seen),
        claim=answer_of(trajectory) if with_claim and trajectory.steps else None,
    )


def _acted(step: Step) -> str:
    """The actions of a step, up to what it tells the user, without comments."""
    if not step.valid or not step.action:
        return NO_ACTION
    bare = _QUOTED.sub(_masked, step.action)  # what looks like a comment or a call in a text is neither
    text = step.action
    for comment in reversed(list(_COMMENT.finditer(bare))):
        text, bare = (each[: comment.start()] + each[comment.end() :] for each in (text, bare))
    if speaks := _SPEAKS.search(bare):
        text = f"{text[: speaks.start()].rstrip()}\n{ENDED}"
    return text.strip() or NO_ACTION


def _masked(quoted: re.Match[str]) -> str:
    return "'" + "x" * (len(quoted[0]) - 2) + "'"


class Scored(NamedTuple):
    """Score of how much an observation tells about the key points."""

    score: int  # 1 (nothing) to 5
    reason: str


class KeptObservation(NamedTuple):
    """An observation that the verdict is told from."""

    number: int  # from 1, in the episode
    observation: Observation
    reason: str
