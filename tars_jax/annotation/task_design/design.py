"""Task graphs and scored applications become tasks with their difficulty and track.

Queries are drawn without repetition, by importance times the score of their applications, so that the levels of
difficulty are as many each as there are queries for, and a share goes across two applications. The same seed gives the
same tasks.

Two tracks: **experts** show how complex tasks are done; **novices** solve what they have not done before, by exploring,
by trial and error and by looking things up. So an expert's task goes to people who know its applications, a novice's to
people who do not.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.task_design.applications import Application
from tars_jax.annotation.task_design.difficulty import LEVELS
from tars_jax.annotation.task_design.graph import TaskGraph
from tars_jax.annotation.task_design.queries import TaskQuery, queries_of
from tars_jax.annotation.task_design.wording import InstructionWriter, reworded, word_query

TRACKS = ("expert", "novice")
LOOKING_UP = ("web search", "the application's own help")


@dataclasses.dataclass(frozen=True)
class DesignedTask:
    id: str
    instruction: str
    query: TaskQuery
    importance: float  # the mean of its functions', 0 to 1
    score: float  # the mean of its applications', 0 to 1
    worded_by: str  # templates, or a model

    @property
    def track(self) -> str:
        return track_of(self.query)

    def to_json(self) -> dict[str, Any]:
        query = self.query
        who = "know" if self.track == "expert" else "have not used"
        return {
            "id": self.id,
            "instruction": self.instruction,
            "applications": list(query.applications),
            "skill": query.skill,
            "track": self.track,
            "for": f"people who {who} {' and '.join(query.applications)}",
            "may_look_up": [] if self.track == "expert" else list(LOOKING_UP),
            "difficulty": query.difficulty.to_json(),
            "functions": list(query.functions),
            "done_before": [f"{part.application}: {part.goal}" for part in query.given],
            "importance": round(self.importance, 4),
            "application_score": round(self.score, 4),
            "worded_by": self.worded_by,
        }


def track_of(query: TaskQuery) -> str:
    """Complex tasks are an expert's: hard ones, and those of which only the goal is told."""
    return "expert" if query.difficulty.level == "hard" or query.skill == "expert" else "novice"


def design_tasks(
    graphs: Sequence[TaskGraph],
    applications: Sequence[Application],
    count: int,
    seed: int,
    *,
    across: float = 0.25,
    weights: Mapping[str, float],
    writer: InstructionWriter | None = None,
) -> tuple[tuple[DesignedTask, ...], Counter[str]]:
    """Designs at most `count` tasks; returns what became of the writer's words, too.

    Args:
      across: the share of tasks that go across two applications.
      weights: of frequency, benefit and transfer in a function's importance.

    Raises InputError for an application without a score, two graphs of one application, and weights of nothing.
    """
    scores = {each.name: each.score for each in applications}
    names = [graph.application for graph in graphs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"graphs must be of different applications; got two of {twice[0]!r}")
    if unknown := [name for name in names if name not in scores]:
        raise InputError(f"applications must have a row for each graph's; got none for {unknown[0]!r}")
    if sum(weights.values()) <= 0:
        raise InputError(f"weights must have one above 0; got {dict(weights)}")
    rng = random.Random(f"task design {seed}")
    importance = {
        f"{graph.application}/{id}": value for graph in graphs for id, value in graph.importance(weights).items()
    }
    drawn: dict[tuple[object, ...], tuple[float, str, TaskQuery]] = {}
    for query in queries_of(graphs, rng):
        weight = _mean([importance[each] for each in query.functions]) * _mean([scores[x] for x in query.applications])
        # Efraimidis and Spirakis: the largest keys are a weighted draw without replacement.
        key = rng.random() ** (1 / weight) if weight > 0 else -rng.random()
        drawn.setdefault(query.plan, (key, word_query(query, rng), query))
    counts = Counter[str]()
    tasks = []
    for text, query in _balanced(list(drawn.values()), count, across):
        said = text if writer is None else reworded(text, query, writer, counts)
        tasks.append(
            DesignedTask(
                id=hashlib.sha256(text.encode()).hexdigest()[:12],
                instruction=said,
                query=query,
                importance=_mean([importance[each] for each in query.functions]),
                score=_mean([scores[each] for each in query.applications]),
                worded_by="templates" if writer is None or said == text else writer.name,
            )
        )
    return tuple(tasks), counts


def _balanced(drawn: Sequence[tuple[float, str, TaskQuery]], count: int, across: float) -> list[tuple[str, TaskQuery]]:
    """The next one is always of the kind (level, across) that has the most left of its share."""
    waiting: dict[tuple[str, bool], list[tuple[float, str, TaskQuery]]] = {}
    for each in sorted(drawn, key=lambda each: each[:2]):  # the largest key last
        waiting.setdefault((each[2].difficulty.level, len(each[2].applications) > 1), []).append(each)
    levels = Counter(several for _, several in waiting)
    kinds = {kind: (across if kind[1] else 1 - across) / levels[kind[1]] for kind in sorted(waiting)}
    taken = Counter[tuple[str, bool]]()
    found: list[tuple[str, TaskQuery]] = []
    while len(found) < count and (rest := [kind for kind in kinds if waiting[kind]]):
        kind = max(rest, key=lambda kind: kinds[kind] * (len(found) + 1) - taken[kind])
        _, text, query = waiting[kind].pop()
        taken[kind] += 1
        found.append((text, query))
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def summary(tasks: Sequence[DesignedTask], applications: Sequence[Application]) -> list[tuple[str, ...]]:
    """Rows of a table: each application with its score and how many tasks it has, by difficulty and by track."""
    rows = []
    for each in applications:
        own = [task for task in tasks if each.name in task.query.applications]
        levels = Counter(task.query.difficulty.level for task in own)
        tracks = Counter(task.track for task in own)
        several = sum(len(task.query.applications) > 1 for task in own)
        figures = (len(own), *(levels[level] for level in LEVELS), *(tracks[track] for track in TRACKS), several)
        rows.append((each.name, f"{each.score:.3f}", *map(str, figures)))
    return rows


SUMMARY_HEAD = ("application", "score", "tasks", *LEVELS, *TRACKS, "with another")
