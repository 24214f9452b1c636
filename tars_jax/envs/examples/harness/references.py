"""Answers that the programs here are to be given, from what they ask: `reference` of the environment `harness`.

What a policy reads as one turn comes as one message, the system's words before the user's.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

DIGITS, LETTERS = "0123456789", "abcdefghijklmnopqrstuvwxyz"
WAYS = ("left", "right", "up", "down")


def kinds(messages: Sequence[Mapping[str, Any]], rng: random.Random, skill: float) -> str:
    """Reference player of openai_agents_kinds.py: one character of the kind that the row has more of; a bad one is of
    either kind."""
    row = text_of(messages[-1]).splitlines()[-1].split()
    right = DIGITS if 2 * sum(each in DIGITS for each in row) > len(row) else LETTERS
    return rng.choice(right if rng.random() < skill else rng.choice((DIGITS, LETTERS)))


def walk(messages: Sequence[Mapping[str, Any]], rng: random.Random, skill: float) -> str:
    """Reference player of mini_swe_agent_walk.py: a way that was said to lead to the place; a bad one is any."""
    said = next((ways for each in reversed(messages) if (ways := _ways(each))), WAYS)
    return rng.choice(said if rng.random() < skill else WAYS)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whether it is in parts or not."""
    content = message["content"] or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _ways(message: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(line for line in text_of(message).splitlines() if line in WAYS) if message["role"] == "user" else ()
