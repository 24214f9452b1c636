"""Judges: what tells the reward and success of a finished episode where its environment does not."""

from tars_jax.environment import CannotSay
from tars_jax.judges.judge import (
    Judge,
    JudgeFailure,
    Judgement,
    JudgeUnavailable,
    UnreadableVerdict,
    as_played,
    mark_unjudged,
)
from tars_jax.judges.reference import reference_answer
from tars_jax.judges.registry import judge_of, load_judge

__all__ = [
    "CannotSay",
    "Judge",
    "JudgeFailure",
    "JudgeUnavailable",
    "Judgement",
    "UnreadableVerdict",
    "as_played",
    "judge_of",
    "load_judge",
    "mark_unjudged",
    "reference_answer",
]
