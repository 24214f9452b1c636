"""Episodes for judges, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.environment import Task, Verification
from tars_jax.trajectory import Outcome, Step, Trajectory


def episode(
    steps: Sequence[tuple[str, str]], final: str = "", *, instruction: str = "", thought: str = "", success: bool = True
) -> Trajectory:
    """Of pairs (what was seen, the action)."""
    made = tuple(
        Step(b"", f"Thought: {thought}\nAction: {action}", thought, action, None, 0.0, 0, bool(action), {}, text)
        for text, action in steps
    )
    metadata = {"instruction": instruction} if instruction else {}
    return Trajectory("made", {}, (), made, Outcome.FINISHED, float(success), metadata, b"", final, success)


def task(instruction: str = "", reference: str = "") -> Task:
    return Task("t", "made", 0, {}, 8, instruction, Verification("judge", reference))
