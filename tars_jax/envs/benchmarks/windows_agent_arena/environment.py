"""`windows_agent_arena`: a task of WindowsAgentArena on a machine of the user's, from its steps to its score.

evaluate --config.suite=windows_agent_arena --config.tasks=waa_cube-0.1.2-py3-none-any.whl \\
  --config.environment_options='{"servers": ["http://10.0.0.7:5000"], "revert": ["./revert.sh", "{snapshot}"]}'
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished
from tars_jax.agent.platforms import PLATFORM_ACTIONS
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkTasks, Verdict
from tars_jax.envs.benchmarks.osworld.environment import FAIL, INFEASIBLE, INFEASIBLE_BY_WORDS
from tars_jax.envs.benchmarks.osworld.scoring import Scorer, scorer_python
from tars_jax.envs.benchmarks.osworld.steps import Place, carry_out
from tars_jax.envs.benchmarks.windows_agent_arena.guest_app import WINDOWS
from tars_jax.envs.benchmarks.windows_agent_arena.machines import Machine, Machines, check_servers
from tars_jax.envs.benchmarks.windows_agent_arena.steps import WINDOWS_STEPS
from tars_jax.envs.interfaces import BOTH, GUI, SDK, check_interface, space_of
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask
from tars_jax.tasks.benchmarks.osworld_files import CloudFile, cache_folders, cloud_files, local_copy
from tars_jax.tasks.benchmarks.windows_agent_arena import package_of
from tars_jax.tasks.benchmarks.windows_agent_arena_needs import needs_of

SCORER = Path(__file__).with_name("waa_scorer.py")
TOOLS = ("execute_bash",)
BEGUN_S = 10.0  # that a machine has behind the steps of a task, as WindowsAgentArena waits
TURN_S = 60.0


class WindowsAgentArenaEnvironment(BenchmarkEnvironment):
    """Steps and files are as the task says them; the verdict is that of waa-cube's scorers.

    An agent says that a task cannot be done by `call_user()`, or by `finished` with a content that begins with FAIL.

    Args:
      interface: gui: a screen; sdk: `tools` without one; both. Machines with WindowsAgentArena's own server have gui.
      servers: addresses of that server, each of a machine of its own; left out: the guests of `sandbox.guests`.
      revert: a command of this machine that sets one back before each episode: its words, in which {machine} and
        {snapshot} are filled in. Without it an episode begins with what those before have left.
      scorers: waa-cube's wheel, or its package's folder; empty: `tasks`, where that is one.
      begun: seconds that a machine has behind the steps of a task.
      scorer_limit: seconds that scoring may take.
      stand_ins: play what needs Windows on another system, too, where stand-ins of its programs are on the guest's
        path: to try things, and never to report.

    Raises InputError for options that it cannot have, and where the scorers are not installed.
    """

    time_limit = 9000.0  # of a reset, which waits for a machine first

    def __init__(
        self, tasks: BenchmarkTasks, *, interface: str = GUI, servers: Sequence[str] = (), revert: Sequence[str] = (),
        scorers: str = "", begun: float = BEGUN_S, scorer_limit: float = 600.0, stand_ins: bool = False,
        time_limit: float = 0.0, resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        self._interface, sandbox = check_interface(interface), self.resources.sandbox
        if not servers and not (sandbox and sandbox.guests):
            raise InputError("windows_agent_arena must have option servers, or config.sandbox.guests; got neither")
        if servers and interface != GUI:
            raise InputError(f"interface must be gui with WindowsAgentArena's own servers; got {interface!r}")
        if not all(isinstance(word, str) for word in revert):
            raise InputError(f"revert must be the words of a command; got {revert!r:.100}")
        if not (0 <= begun <= 600 and scorer_limit > 0):
            raise InputError(f"begun must be 0 to 600 seconds, scorer_limit above 0; got {begun!r}, {scorer_limit!r}")
        self._tools = TOOLS if interface in (SDK, BOTH) else ()
        self._machines = Machines(
            check_servers(servers), sandbox, self._tools, interface in (GUI, BOTH), tuple(revert)
        )  # fmt: skip
        self._begun_s, self._scorer_s, self._stand_ins = begun, scorer_limit, stand_ins
        package = package_of(Path(scorers or tasks.path).resolve())
        self._scorer = Scorer(scorer_python(), SCORER, package)
        self._machine: Machine | None = None
        self._cache: Path | None = None
        self._last = ""  # FAIL, DONE, or nothing: how the agent ended it

    @property
    def action_space(self) -> ActionSpace:
        functions = [FUNCTIONS[name] for name in self._tools]
        return space_of(self._interface, "computer", PLATFORM_ACTIONS["computer"], functions)

    @property
    def instruction(self) -> str:
        said = super().instruction
        return f"{said}\n\n{INFEASIBLE_BY_WORDS if self._interface == SDK else INFEASIBLE}" if said else ""

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        self._last = ""
        self._scorer.start()
        self._machine = machine = await self._machines.take(str(entry.record.get("snapshot") or ""))
        system = WINDOWS if self._stand_ins else machine.system
        if why := needs_of(entry.record, system, own_server=machine.own_server):
            raise EnvironmentFailure("guest", f"{entry.id} cannot be played on this machine: {why}")
        self._cache = await asyncio.to_thread(self._filled_cache, entry)
        steps = entry.record.get("config") or []
        await self._carry_out(steps)
        if steps:
            await asyncio.sleep(self._begun_s)
        return await self._observed("")

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        said: list[str] = []
        end = asyncio.get_running_loop().time() + TURN_S
        self._last = ""
        for action in actions:
            if isinstance(action, Finished | CallUser):
                gave_up = isinstance(action, CallUser) or action.content.strip().upper().startswith(
                    (FAIL, "INFEASIBLE")
                )
                self._last = FAIL if gave_up else "DONE"
                break
            if asyncio.get_running_loop().time() > end:
                said.append(f"{action.name}: not done, as the turn has taken {TURN_S:g} s already")
            else:
                said.append(await self._held.act(action))
        return await self._observed("\n".join(each for each in said if each)), bool(self._last)

    async def verify(self) -> Verdict:
        """Postconfig comes first; what the machine or the scorer lacks is a failure, and never a score."""
        evaluator, machine, cache = self.entry.record["evaluator"], self._held, self._cache
        assert cache is not None
        if self._last != FAIL and evaluator["func"] != "infeasible":
            await self._carry_out(evaluator.get("postconfig") or [])
        async with machine.scored_at() as (host, port):
            request = {
                "evaluator": evaluator, "cache": str(cache), "host": host, "ports": {"server": port},
                "last": self._last, "size": [0, 0], "platform": "Windows",
            }  # fmt: skip
            score, details = await self._scorer.score(request, self._scorer_s)
        await self.end()  # others wait for the machine
        return Verdict(score, score >= 1.0, {**details, "last": self._last})

    async def end(self) -> None:
        machine, self._machine = self._machine, None
        cache, self._cache = self._cache, None
        try:
            if machine is not None:
                await machine.close()
        finally:
            if cache is not None:
                await asyncio.to_thread(shutil.rmtree, cache, True)

    async def close(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._scorer.close)
            await self.end()

    @property
    def _held(self) -> Machine:
        assert self._machine is not None  # the base class begins before it acts
        return self._machine

    async def _carry_out(self, steps: Sequence[Any]) -> None:
        assert self._cache is not None
        place = Place(self._held.guest, self._cache, (0, 0), self._copy_of, self.entry.folder)
        await carry_out(steps, place, WINDOWS_STEPS)

    def _copy_of(self, file: CloudFile) -> Path | None:
        folder = self.entry.folder or self.tasks.path
        caches = [cache for above in (folder, *folder.parents[:3]) for cache in cache_folders(above)]
        return local_copy(file, self.entry.record["id"], self.entry.group, caches)

    def _filled_cache(self, entry: BenchmarkTask) -> Path:
        """A folder of this episode's with what the scorer would fetch."""
        cache = Path(tempfile.mkdtemp(prefix="tars_jax-waa-cache-"))
        for file in cloud_files(entry.record):
            if not file.path and (copy := self._copy_of(file)) is not None:
                shutil.copyfile(copy, cache / Path(file.name).name)
        return cache

    async def _observed(self, text: str) -> Observation:
        if self._interface == SDK:
            return Observation(text=text or "(ready)")
        shown = await self._held.shown()
        return Observation.decoded(shown.screenshot, shown.pixels, text) if shown.pixels is not None else shown
