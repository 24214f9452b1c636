"""A trajectory and what people said of it; and what is made of labels that contradict each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.trajectory import Trajectory

CONTRADICTIONS = ("leave_out", "failure", "first")


@dataclasses.dataclass(frozen=True)
class Labelled:
    """A trajectory with the labels of its annotators, in the file's order."""

    id: str  # of task and agent
    site: str  # the benchmark, or the website
    agent: str
    labels: tuple[bool, ...]
    trajectory: Trajectory | None = None  # None where there are labels alone
    task: Task | None = None
    rule_verdict: bool | None = None  # of the benchmark's own verifier; None: it has none
    recorded_steps: int = 0  # where there is no trajectory

    @property
    def steps(self) -> int:
        return self.recorded_steps if self.trajectory is None else len(self.trajectory.steps)


def settled(labelled: Sequence[Labelled], contradiction: str = "leave_out") -> list[tuple[Labelled, bool]]:
    """Each with one verdict. Where annotators contradict each other: it is left out; counts as a failure, as not
    all say success; or the first one is right, as AgentRewardBench's own scores have it.

    Raises InputError for another rule.
    """
    if contradiction not in CONTRADICTIONS:
        raise InputError(f"contradiction must be one of {', '.join(CONTRADICTIONS)}; got {contradiction!r}")
    found: list[tuple[Labelled, bool]] = []
    for each in labelled:
        agreed = len(set(each.labels)) == 1
        if each.labels and (agreed or contradiction != "leave_out"):
            found.append((each, all(each.labels) if contradiction == "failure" else each.labels[0]))
    return found


def agreement(labelled: Sequence[Labelled]) -> tuple[int, int]:
    """(agreed, of so many) trajectories with two labels or more: what a judge can be expected to reach."""
    several = [each for each in labelled if len(each.labels) > 1]
    return sum(len(set(each.labels)) == 1 for each in several), len(several)


class LabelSet(NamedTuple):
    name: str
    made_by: str


SETS: Mapping[str, LabelSet] = {
    "agent_reward_bench": LabelSet(
        "AgentRewardBench: trajectories of web agents (arXiv 2504.08942)", "its authors' annotators, who judged by hand"
    ),
    "online_mind2web": LabelSet(
        "Online-Mind2Web: what agents did on live websites (arXiv 2504.01382)", "its authors' annotators, by hand"
    ),
    "recorded": LabelSet("episodes of runs", "their environments, whose verdicts no judge has seen"),
    "answers": LabelSet(
        "answers to questions, tars_jax/judges/labels/answers_*.jsonl", "somebody who had not seen the rules, by hand"
    ),
    "traces": LabelSet(
        "traces of the recipe in configs/judge_traces.py", "their environments' hidden state, by the recipe's seed"
    ),
}
