"""Task folders in Harbor's form, written for one test each, and episodes in them without an agent loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from tars_jax.agent import action_from_call
from tars_jax.agent.actions import Finished, ToolCall
from tars_jax.environment import Task
from tars_jax.envs.benchmarks.terminal_bench import OnlineTerminalBenchEnvironment, TerminalBenchEnvironment
from tars_jax.tasks.benchmarks.catalog import read_benchmark

SHIPPED = Path(__file__).parents[2] / "sandbox" / "compat" / "harbor_tasks"
TOML = """schema_version = "1.4"

[agent]
timeout_sec = 60.0

[verifier]
timeout_sec = 30.0

[environment]
memory_mb = 512
network_mode = "no-network"
"""


def folder(
    parent: Path, test: str, *, name: str = "task", toml: str = TOML, dockerfile: str = "FROM debian\nWORKDIR /app\n",
    **files: str,
) -> Path:  # fmt: skip
    """`test`: the text of tests/test.sh; `files`: by paths, with two underscores for each slash."""
    task = parent / name
    written = {"instruction.md": "Do it.\n", "task.toml": toml, "environment/Dockerfile": dockerfile}
    written |= {"tests/test.sh": f"#!/bin/bash\n{test}\n"} if test else {}
    written |= {path.replace("__", "/").replace("_sh", ".sh"): text for path, text in files.items()}
    for path, text in written.items():
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).write_text(text)
    return task


def bash(command: str) -> ToolCall:
    return ToolCall("execute_bash", {"command": command})


Steps = Callable[[TerminalBenchEnvironment], Awaitable[Any]]


def play(
    path: Path, *episodes: Steps, names: Sequence[str] = ("",), suite: str = "terminal_bench", **options: Any
) -> Any:  # fmt: skip
    """What each of `episodes` returns of an episode that has begun, for each of the tasks, in one environment; of one
    alone, its own.
    """

    async def run() -> list[Any]:
        made_by = OnlineTerminalBenchEnvironment if suite.endswith("online") else TerminalBenchEnvironment
        environment = made_by(read_benchmark(suite, str(path)), **options)
        ended = []
        try:
            for name in names:
                for steps in episodes:
                    named = {"task": name} if name else {}
                    await environment.reset(Task("an episode", "terminal_bench", 0, named, 100))
                    ended.append(await steps(environment))
        finally:
            await environment.close()
        return ended

    ended = asyncio.run(run())
    return ended if len(ended) > 1 else ended[0]


def done_by(*commands: str) -> Callable[[TerminalBenchEnvironment], Awaitable[Any]]:
    """Runs commands one after another, and says that it is finished: the last transition."""

    async def steps(environment: TerminalBenchEnvironment) -> Any:
        for command in commands:
            await environment.step([bash(command)])
        return await environment.step([Finished()])

    return steps


async def by_oracle(environment: TerminalBenchEnvironment) -> Any:
    """The last transition of the reference player's episode."""
    observation, rng = environment._shown, random.Random(0)
    for _ in range(50):
        move = environment.reference_player(observation.info["state"], rng)
        transition = await environment.step(
            [action_from_call(move.function, move.parameters, space=environment.action_space)]
        )
        if transition.terminated or transition.truncated:
            return transition
        observation = transition.observation
    raise AssertionError("it came to no end")


def names(path: Path = SHIPPED) -> Sequence[str]:
    return sorted(each.parent.name for each in path.glob("*/task.toml"))
