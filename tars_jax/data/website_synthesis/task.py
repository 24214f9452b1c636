"""A task of a website with its verification and its scripted solution, as plain data."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.data.website_synthesis.moves import Move
from tars_jax.data.website_synthesis.state import Check, Expectation

SPLITS = ("train", "held_out")


@dataclasses.dataclass(frozen=True)
class WebsiteTask:
    """What is asked of whom, and how it is told whether it was done.

    `check` is by the site's state; where that cannot tell, `rubric` has the facts that a judge looks for and
    `reference` the answer. `plan` is the scripted solution; it and what follows is never shown to an agent.
    """

    id: str
    site: str
    category: str
    instruction: str
    steps: int  # of the solution: what is followed, filled in and pressed
    max_steps: int  # an agent's budget of actions
    check: Check = ()
    rubric: tuple[str, ...] = ()
    reference: str = ""
    plan: tuple[Move, ...] = ()
    solution: tuple[str, ...] = ()  # the plan's recorded actions, in the text grammar
    functions: tuple[str, ...] = ()  # what it is made of, for statistics
    split: str = SPLITS[0]

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> WebsiteTask:
        return cls(
            **{
                **record,
                "check": tuple(map(Expectation.from_json, record["check"])),
                "rubric": tuple(record["rubric"]),
                "functions": tuple(record["functions"]),
                "solution": tuple(record["solution"]),
                "plan": tuple(map(Move.from_json, record["plan"])),
            }
        )


def task_id(site: str, instruction: str) -> str:
    return f"{site}-{hashlib.sha256(instruction.encode()).hexdigest()[:10]}"


def split_of(site: str, held_out: Sequence[str]) -> str:
    """All tasks of a site are on one side."""
    return SPLITS[1] if site in held_out else SPLITS[0]
