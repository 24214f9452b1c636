"""`harness`: somebody's program plays whole episodes, and asks a policy for its answers by chat completions.

    load_environment("harness", {"command": ["python", "agent.py"], "files": {"agent.py": "agent.py"}})

The program keeps its prompts, its tools and its loop. It finds in its environment

    OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL   where it asks; OPENAI_API_BASE is the same, as some call it
    TASK                                            the task, an object: `id`, `seed`, `split`, and what its file says
    REWARD_FILE, REWARD_URL                         where it says how well it did

and runs in a computer of its own, which has no network: the policy's address is reached through it, and nothing else.
How it is played, and becomes a trajectory: `tars_jax/rollout/harness_episode.py`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import posixpath
import urllib.parse
from typing import TYPE_CHECKING, Any

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.harness_options import EXIT_CODE, FILE, HarnessOptions, TaskRows
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.computer.home import File
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.sampling import split_of_seed

if TYPE_CHECKING:
    from tars_jax.envs.shared_computers import NearComputers
    from tars_jax.sandbox.computer.computer import Computer

NAME = "harness"
MOST_OUTPUT = 16 << 10  # bytes of what a program says that are kept
LARGEST_REWARD_FILE = 4096
REWARD_PATH = "/v1/rl/reward"


@dataclasses.dataclass(frozen=True)
class PolicyAccess:
    """Address at which a program asks for answers, and its key: that of one episode."""

    address: str  # of the policy server, without /v1
    model: str
    key: str = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class ProgramEnd:
    """The way in which a program ended."""

    status: int | None  # its exit status; None: its time was over
    output: str  # what it said, from its beginning and its end
    reward: float | None = None  # that it left here; what it has told the policy server is not known here
    success: bool | None = None

    @property
    def how(self) -> str:
        """The end in words, for a failure."""
        said = self.output.strip()[-500:]
        ended = "had to be ended, as its time was over" if self.status is None else f"ended with {self.status}"
        return f"it {ended}" + (f"; its last words: {said}" if said else "; it said nothing")


class Harness:
    """Runs the command for one episode after another, each in a computer of its own."""

    def __init__(self, options: HarnessOptions, rows: TaskRows | None, sandbox: SandboxAddress | None) -> None:
        """Raises InputError where computers are far away."""
        if sandbox is not None and (sandbox.service or sandbox.guests):
            raise InputError("sandbox.address and sandbox.guests must be '' for a harness, whose computers are here")
        self.options, self._rows = options, rows
        self._computers: NearComputers | None = None
        self._files: dict[str, File] = {}  # what every episode begins with

    async def play(self, task: Task, policy: PolicyAccess) -> ProgramEnd:
        """Plays one episode to its end. Raises InputError for an isolation that does not work here, SandboxFailure, and
        EnvironmentFailure for a command that cannot be started, or a reward that is none."""
        from tars_jax.envs import shared_computers  # here, as the registry knows this file whatever is played
        from tars_jax.sandbox.computer.forwarding import PortForward

        if self._computers is None:
            self._files = await asyncio.to_thread(self.options.given_files)
            self._computers = shared_computers.acquire(self.options.isolation)
        shared = self._computers
        computer = await (await shared.entered()).open(self.options.container)
        try:
            await computer.put(self._files)
            parts = urllib.parse.urlsplit(policy.address)
            async with PortForward(computer.machine, parts.hostname or "", parts.port or 80) as forward:
                return await self._run(computer, task, policy, f"http://127.0.0.1:{forward.port}")
        finally:
            await computer.close()

    async def _run(self, computer: Computer, task: Task, policy: PolicyAccess, address: str) -> ProgramEnd:
        options, machine = self.options, computer.machine
        reward_file = posixpath.join(machine.home, options.reward_file)
        variables = {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_BASE": f"{address}/v1",
            "OPENAI_API_KEY": policy.key,
            "OPENAI_MODEL": policy.model,
            "TASK": json.dumps(self.task_fields(task)),
            "REWARD_FILE": reward_file,
            "REWARD_URL": address + REWARD_PATH,
            **options.environment,
        }
        try:
            ran = await machine.run(
                options.command,
                env=variables,
                cwd=machine.home,
                timeout_s=options.time_limit,
                limit=MOST_OUTPUT,
                merge=True,
            )
        except SandboxFailure:
            raise
        except InputError as error:
            raise EnvironmentFailure("program", f"the command could not be started: {error}") from error
        status = None if ran.timed_out else ran.status
        ended = ProgramEnd(status, ran.stdout.decode(errors="replace"))
        if options.reward == EXIT_CODE and status is not None:
            return dataclasses.replace(ended, reward=float(status == 0), success=status == 0)
        if options.reward == FILE:
            try:
                said = await asyncio.to_thread(computer.container.read, reward_file, LARGEST_REWARD_FILE)
            except FileNotFoundError:
                return ended
            except OSError as error:
                raise EnvironmentFailure("reward", f"the reward's file must be a file; {error}") from error
            reward, success = read_reward(said)
            return dataclasses.replace(ended, reward=reward, success=success)
        return ended

    def task_fields(self, task: Task) -> dict[str, Any]:
        """Fields of the task that the program is told."""
        row = {} if self._rows is None else self._rows.row(task.seed)
        own = {"id": task.id, "seed": task.seed, "split": split_of_seed(task.seed)}
        return {**own, **({"instruction": task.instruction} if task.instruction else {}), **row}

    async def close(self) -> None:
        """Closes the harness; a second call does nothing."""
        computers, self._computers = self._computers, None
        if computers is not None:
            from tars_jax.envs import shared_computers

            await shared_computers.release(computers)


def read_reward(said: bytes) -> tuple[float, bool | None]:
    """Reward and success of a file's bytes: a number, or an object. Raises EnvironmentFailure for anything else."""
    try:
        found = json.loads(said)
        reward, success = (found["reward"], found.get("success")) if isinstance(found, dict) else (found, None)
        number = isinstance(reward, int | float) and not isinstance(reward, bool) and math.isfinite(reward)
        if not number or not isinstance(success, bool | None):
            raise ValueError
        return float(reward), success
    except (ValueError, KeyError, RecursionError):
        wanted = 'a number, or an object such as {"reward": 0.5, "success": false}'
        raise EnvironmentFailure("reward", f"the reward's file must hold {wanted}; got {said[:80]!r}") from None
