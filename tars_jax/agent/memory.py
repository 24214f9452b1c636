"""Hierarchical memory (UI-TARS-2, eq. 2): recent steps in full, older ones as a compressed text.

Working memory holds at most `max_steps` completed steps. When one more would not fit, the oldest are folded into
episodic memory until `min_steps` are left, and a new context window begins with them. A wide gap makes long windows
whose turns cost only their new tokens; `min_steps == max_steps` is the strict last-N window of the report.

Who writes that text the report does not say. Here it is a rule (`summarize`) or, with `line_tokens`, which is ours, the
policy: at the end of a window that will not go on it is asked for a line, which takes the place of all that was there.
"""

from __future__ import annotations

import dataclasses

from tars_jax import InputError
from tars_jax.agent.observations import ShownObservation
from tars_jax.rules import at_least, check_fields, field

MAX_INTENTION = 40  # characters of a summary: a policy that rambles must not fill its windows with memories


@dataclasses.dataclass(frozen=True)
class RememberedStep:
    """One completed step as it stands in a window."""

    step: int
    response: tuple[int, ...]  # the tokens as sampled
    shown: ShownObservation  # the observation that it answers
    steps_left: int
    summary: str


@dataclasses.dataclass(frozen=True)
class MemoryConfig:
    """The history of an episode that stands in a context window beside the current step."""

    min_steps: int = field(1, "recent steps kept in full when a new context window begins", at_least(0))
    max_steps: int = field(
        4, "recent steps kept in full in a context window (a window's size, not an episode's limit)", at_least(0)
    )
    max_summaries: int = field(12, "older steps kept as one-line summaries; still older ones are dropped", at_least(0))
    line_tokens: int = field(
        0,
        "token limit of the line that the policy writes to sum up a finished window; 0: a rule sums up each step",
        at_least(0),
    )

    def __post_init__(self) -> None:
        if not 0 <= self.min_steps <= self.max_steps:
            raise InputError(
                f"memory.min_steps must be 0 to {self.max_steps}, which is memory.max_steps; got {self.min_steps}"
            )
        check_fields(self, "memory")
        if self.line_tokens and not self.max_summaries:
            raise InputError("memory.max_summaries must be 1 or more with memory.line_tokens; got 0")


@dataclasses.dataclass(frozen=True)
class Memory:
    """The memory M_t = (W_t, E_t): recent steps in full, and the text of older ones."""

    config: MemoryConfig
    working: tuple[RememberedStep, ...] = ()
    episodic: tuple[str, ...] = ()

    def add(self, turn: RememberedStep) -> tuple[Memory, bool]:
        """The memory after one more step, and whether it was folded, so that a new window must begin."""
        working = (*self.working, turn)
        if len(working) <= self.config.max_steps:
            return dataclasses.replace(self, working=working), False
        folded = len(working) - self.config.min_steps
        summaries = (*self.episodic, *(old.summary for old in working[:folded]))
        episodic = summaries[max(0, len(summaries) - self.config.max_summaries) :]
        return dataclasses.replace(self, working=working[folded:], episodic=episodic), True

    def rewritten(self, line: str) -> Memory:
        """The memory with the policy's own text in the place of all that was remembered."""
        return dataclasses.replace(self, episodic=(line,) if line else ())

    def text(self) -> str:
        """Episodic memory as the policy reads it."""
        return "; ".join(self.episodic)


def summarize(thought: str, changed: bool, valid: bool) -> str:
    """A step in a few words: the intention (the last clause of its thought) and the outcome."""
    if not valid:
        return "unreadable"
    intention = thought.rsplit(",", 1)[-1].strip()[:MAX_INTENTION] or "acted"
    return intention if changed else f"{intention}: nothing"
