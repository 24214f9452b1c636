"""A learner's workers with no right to start containers: computers are a service's. For test_far_computers.py.

far_learner.py ADDRESS FOLDER      (the key in FOLDER/key; each episode waits at its third turn for FOLDER/go)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.window import SampledResponse
from tars_jax.environment import Task
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import Player, PrivilegedEnvironment, reference_player
from tars_jax.sandbox.address import SandboxAddress, read_address
from tars_jax.trajectory import Trajectory

WORKERS, EPISODES, SKILL = 3, 9, 0.7
NAMES = ("count_lines", "find_word", "move_file")
WRITER = PromptWriter(load_tokenizer(), image_tokens=1, max_observation_tokens=64)


def tasks() -> list[Task]:
    return [Task(f"t{n}", "computer", n, {"task": NAMES[n % 3]}, 8) for n in range(EPISODES)]


def player(go: Path | None = None) -> Player:
    """The reference player with its mistakes; it waits for the file `go` once it has acted."""
    plays = reference_player(WRITER, "text", SKILL)

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with plays(privileged, task) as inner:
            yield _Waits(inner, go)

    return session


class _Waits:
    def __init__(self, inner: PolicySession, go: Path | None) -> None:
        self._inner, self._go, self._turns = inner, go, 0

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> SampledResponse:
        self._turns += 1
        if self._turns == 2 and self._go is not None and not self._go.exists():
            print("waits", flush=True)
            while not self._go.exists():
                await asyncio.sleep(0.02)
        return await self._inner.respond(tokens, images, restart=restart)


def told(played: Sequence[Trajectory]) -> list[Any]:
    """Rewards, and all that was seen."""
    return [
        [each.task["id"], str(each.outcome), each.reward, each.success, [step.text for step in each.steps]]
        for each in played
    ]


def play(folder: Path, sandbox: SandboxAddress | None, go: Path | None = None) -> list[Trajectory]:
    with Rollouts(None, WRITER, AgentConfig(), WORKERS, sandbox=sandbox) as rollouts:
        return rollouts.play(tasks(), player(go), folder)


def main(address: str, folder: Path) -> None:
    try:
        asyncio.run(ComputerEnvironment("count_lines").reset(tasks()[0]))
        print("it has computers of its own", flush=True)
    except InputError as error:
        print(f"none of its own: {error}", flush=True)
    sandbox = read_address(address, key_file=str(folder / "key"))
    played = play(folder / "trajectories", sandbox, folder / "go")
    failures = [failure for each in played for failure in each.metadata["infrastructure_failures"]]
    (folder / "result.json").write_text(json.dumps({"played": told(played), "failures": failures}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
