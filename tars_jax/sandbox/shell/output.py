"""Output of programs, as text with a mark where it was cut."""

from __future__ import annotations

from tars_jax.sandbox.computer.guest_client import Ran
from tars_jax.sandbox.shell.text import cut, joined

MOST_OUTPUT = 2 << 20  # bytes of stdout, and of stderr, that most APIs give back of a program


def outputs(ran: Ran, limit: int = MOST_OUTPUT, errors: str = "backslashreplace") -> tuple[str, str]:
    """stdout and stderr of what ran with that limit."""
    return _text(ran.stdout, ran.stdout_cut, limit, errors), _text(ran.stderr, ran.stderr_cut, limit, errors)


def _text(data: bytes, missing: int, limit: int, errors: str) -> str:
    half = limit - limit // 2
    head, missing, tail = joined(data[:half], missing, data[half:], errors)
    return cut(head + tail, 8 * limit, missing, len(head))
