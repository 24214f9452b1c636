"""A synthesized task with its verification and its scripted solution, and as the environment of websites plays it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.tasks.splits import EVAL, SPLITS, TRAIN
from tars_jax.tasks.websites.effect import NOTHING_CHANGES, Effect
from tars_jax.tasks.websites.task import WebsiteTask


@dataclasses.dataclass(frozen=True)
class SynthesizedTask:
    """A task, and the check that tells whether it was done.

    `effect` is all that changes in the site's state; where that cannot tell, `rubric` has the facts that a judge looks
    for and `reference` the answer. `plan` is the scripted solution; it and what follows is never shown to an agent.
    """

    id: str
    site: str
    category: str
    instruction: str
    steps: int  # of the solution: what is followed, filled in and pressed
    max_steps: int  # an agent's budget of actions
    effect: Effect = NOTHING_CHANGES
    rubric: tuple[str, ...] = ()
    reference: str = ""
    plan: tuple[PageMove, ...] = ()
    solution: tuple[str, ...] = ()  # the plan's recorded actions, in the text grammar
    functions: tuple[str, ...] = ()  # what it is made of, for statistics
    split: str = TRAIN
    mutants: int = 0  # wrong ends that were tried, all in vain
    ways: int = 1  # in which it was done, each with the same effect

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise InputError(f"split of task {self.id!r} must be {' or '.join(SPLITS)}; got {self.split!r}")

    @property
    def needs_judge(self) -> bool:
        """Whether nothing but a rubric can tell."""
        return not self.effect.changes and not self.reference

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "effect": self.effect.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SynthesizedTask:
        return cls(
            **{
                **record,
                "effect": Effect.from_json(record["effect"]),
                "rubric": tuple(record["rubric"]),
                "functions": tuple(record["functions"]),
                "solution": tuple(record["solution"]),
                "plan": tuple(map(PageMove.from_json, record["plan"])),
            }
        )

    def playable(self, content_seed: int, version: str) -> WebsiteTask:
        """The task as the environment of websites plays it. Raises InputError for one that needs a judge."""
        about = {
            "by": "website_synthesis", "category": self.category, "steps": self.steps,
            "functions": list(self.functions), "rubric": list(self.rubric), "solution": list(self.solution),
            "mutants": self.mutants, "ways": self.ways,
        }  # fmt: skip
        return WebsiteTask(
            self.id, self.site, self.instruction, self.effect, self.reference or None,
            seed=content_seed, version=version, max_steps=self.max_steps, split=self.split, about=about,
        )  # fmt: skip


def task_id(site: str, instruction: str) -> str:
    return f"{site}-{hashlib.sha256(instruction.encode()).hexdigest()[:10]}"


def split_of(site: str, held_out: Sequence[str]) -> str:
    """All tasks of a site are on one side."""
    return EVAL if site in held_out else TRAIN
