"""What the embedded judge says of an answer."""

from __future__ import annotations

from tars_jax.environment import CannotSay
from tars_jax.judges.answers import says_the_same


def verdict(answer: str, reference: str, question: str = "") -> bool | None:
    """None: nobody can say."""
    try:
        return says_the_same(answer, reference, question)
    except CannotSay:
        return None
