"""What is kept of a try at an episode that was lost: enough to find out why, and nothing to learn from."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.agent.grammar_text import format_call
from tars_jax.environment import Observation

MOST_TURNS, MOST_TEXT = 200, 4000  # the last turns; characters of each text


@dataclasses.dataclass
class Remains:
    """Counted while the try goes on."""

    first: str = ""
    steps: int = 0
    tokens_read: int = 0
    tokens_written: int = 0
    turns: deque[dict[str, str]] = dataclasses.field(default_factory=lambda: deque(maxlen=MOST_TURNS))

    def began(self, observation: Observation) -> None:
        self.first = observation.text[:MOST_TEXT]

    def sampled(self, read: Sequence[int], written: Sequence[int]) -> None:
        self.tokens_read += len(read)
        self.tokens_written += len(written)

    def acts(self, actions: Sequence[Any]) -> None:
        self.steps += 1
        self.turns.append({"action": "\n\n".join(map(format_call, actions))[:MOST_TEXT], "observation": ""})

    def seen(self, observation: Observation) -> None:
        self.turns[-1]["observation"] = observation.text[:MOST_TEXT]

    def to_json(self, seconds: float, details: Mapping[str, Any]) -> dict[str, Any]:
        """`details`: the failure's own."""
        return {
            "first": self.first, "steps": self.steps, "tokens_read": self.tokens_read,
            "tokens_written": self.tokens_written, "seconds": round(seconds, 3), "turns": list(self.turns),
            "details": dict(details),
        }  # fmt: skip
