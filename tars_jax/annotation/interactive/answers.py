"""Answers as people write them on the page: a thought and calls in one notation, whatever grammar the policy has."""

from __future__ import annotations

from tars_jax import InputError
from tars_jax.agent import Response, parse_response
from tars_jax.agent.grammar import format_response
from tars_jax.agent.response import ParseError
from tars_jax.annotation.interactive.completion import Completion, complete
from tars_jax.environment import ActionSpace

_BEFORE = "Action: "


def answer_text(
    thought: str, calls: str, grammar: str, space: ActionSpace, pixel_size: tuple[int, int] | None = None
) -> str:
    """The whole answer in `grammar`; `calls` are those of the text form, which point on the grid of 0..1000.

    `pixel_size`: (width, height) of the image in whose pixels the policy points; None: it points on the grid, too.
    Raises InputError for what cannot be read.
    """
    parsed = parse_response(f"{_BEFORE}{calls}", "text", space=space)
    if isinstance(parsed, ParseError):
        raise InputError(parsed.message)
    return format_response(Response(thought, parsed.actions), grammar, space=space, pixel_size=pixel_size)


def complete_calls(calls: str, cursor: int, space: ActionSpace) -> tuple[Completion, ...]:
    """What may stand at `cursor` of calls alone."""
    return complete(f"{_BEFORE}{calls}", len(_BEFORE) + cursor, "text", space)
