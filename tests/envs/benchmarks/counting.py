"""A benchmark of a few words: how many letters a word has. Its scorer can fail, and its verdict comes at the end."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, Finished, ToolCall
from tars_jax.environment import ActionSpace, EnvironmentFailure, Function, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkVerdict
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic
from tars_jax.json_fields import read_json_lines
from tars_jax.judges import JudgeUnavailable
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.games.moves import Move
from tars_jax.trajectory import Trajectory

SAY = Function(
    "say", "Says a number.", {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
)


def read(path: Path) -> list[BenchmarkTask]:
    found = []
    for _, record in read_json_lines(path, "a word"):
        why = f"{record['file']} is missing" if "file" in record else ""
        found.append(
            BenchmarkTask(
                record["word"], f"How many letters has {record['word']}?", record["kind"], record=record, left_out=why
            )
        )
    return found


class CountingEnvironment(BenchmarkEnvironment):
    def __init__(
        self,
        tasks: BenchmarkTasks,
        *,
        broken: str = "",
        time_limit: float = 0.0,
        resources: EnvironmentResources | None = None,
    ) -> None:
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        if not isinstance(broken, str):
            raise InputError(f"broken must be a word; got {broken!r}")
        self._broken, self._said = broken, 0
        self.verified = 0

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        if state["said"] == state["letters"]:
            return Move("", "finished", {"content": ""})
        return Move("", "say", {"number": state["letters"] if rng.random() < skill else 0})

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace("tools", (Finished.name,), (SAY,))

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        self._said, self.verified = 0, 0
        return self._shown_now("say it")

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        for action in actions:
            if isinstance(action, ToolCall):
                self._said = action.parameters["number"]
        return self._shown_now(f"you said {self._said}"), any(isinstance(action, Finished) for action in actions)

    async def verify(self) -> BenchmarkVerdict:
        self.verified += 1
        if self.entry.id == self._broken and not Path(self.entry.record["mended"]).exists():
            raise EnvironmentFailure("verifier", "the scorer is not installed")
        right = self._said == len(self.entry.id)
        return BenchmarkVerdict(float(right), right, {"said": self._said})

    async def end(self) -> None:
        """Nothing is held."""

    def _shown_now(self, text: str) -> Observation:
        return Observation(text=text, info={"state": {"letters": len(self.entry.id), "said": self._said}})


class SometimesAway:
    """A judge that answers while a file is there: the environment's own word."""

    def __init__(self, file: str) -> None:
        self._file = Path(file)

    def __call__(self, trajectory: Trajectory, task: Task) -> tuple[float, bool]:
        if not self._file.exists():
            raise JudgeUnavailable("the judge is away")
        return float(trajectory.succeeded), trajectory.succeeded


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    path = folder / "results.json"
    lines = {f"{each.task.id} {each.attempt}": each.trajectory.reward for each in played if each.counts}
    write_atomic(path, json.dumps({"agent": about.agent, "results": lines}).encode())
    return [path]


COUNTING = Benchmark(
    name="tests.envs.benchmarks.counting:COUNTING",
    title="Counting",
    version="version 1",
    read=read,
    environment="tests.envs.benchmarks.counting:CountingEnvironment",
    max_steps=4,
    attempts=2,
    results="tests.envs.benchmarks.counting:write_results",
)


def write_tasks(path: Path, mended: Path | None = None) -> Path:
    """Five tasks that can be played, of two kinds, and one whose file is missing."""
    words = [("plum", "short"), ("fig", "short"), ("banana", "long"), ("cherry", "long"), ("apricot", "long")]
    lines = [{"word": word, "kind": kind, "mended": str(mended or path)} for word, kind in words]
    lines.append({"word": "kiwi", "kind": "short", "file": "kiwi.txt", "mended": ""})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
