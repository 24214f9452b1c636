"""Common base of tasks in OSWorld's form: steps, files, a machine's screen, a scorer, and an action for giving up."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.environment import BOTH, SDK, ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkVerdict
from tars_jax.envs.benchmarks.osworld.machines import OSWorldMachine
from tars_jax.envs.benchmarks.osworld.scoring import Scorer
from tars_jax.envs.benchmarks.osworld.steps import STEPS, Step, StepPlace, carry_out
from tars_jax.envs.interfaces import check_interface, space_of
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.failures import Broken
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.osworld_files import CloudFile, cache_folders, cloud_files, local_copy

BEGUN_S = 10.0  # that a machine elsewhere has behind the steps of a task
TAKES_S = 9000.0  # of a reset, which waits for a machine elsewhere first
TURN_S = 60.0  # after that, no further action of a turn begins
FAIL = "FAIL"
# What OSWorld's own prompts say, in our words.
INFEASIBLE = "If the task cannot be done, end with call_user() or finished(content='FAIL')."
INFEASIBLE_BY_WORDS = "If the task cannot be done, end with finished(content='FAIL')."


class MachineEnvironment(BenchmarkEnvironment):
    """An agent says that a task cannot be done by `call_user()`, or by `finished` with a content that begins with FAIL.

    Args:
      interface: gui: a screen; sdk: `tools`, without one; both.
      tools: the functions of sdk and both, by their names in `sandbox/tools/forms.py`.
      scorer: what tells the score.
      begun: seconds that a machine elsewhere has behind the steps of a task.
      scorer_limit: seconds that scoring may take.

    Raises InputError for options that it cannot have.
    """

    platform = ""  # as the scorers call the system of its machines
    steps: Mapping[str, Step] = STEPS
    strict = False  # whether a step of postconfig that cannot be done is a failure; otherwise the metric tells

    def __init__(
        self, tasks: BenchmarkTasks, scorer: Scorer, *, interface: str, tools: Sequence[str], begun: float,
        scorer_limit: float, time_limit: float, resources: EnvironmentResources | None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        self._interface = check_interface(interface)
        if unknown := [name for name in tools if name not in FUNCTIONS]:
            raise InputError(f"tools must be of {', '.join(FUNCTIONS)}; got {unknown[0]!r}")
        if not 0 <= begun <= 600:
            raise InputError(f"begun must be seconds, 0 to 600; got {begun!r}")
        if scorer_limit <= 0:
            raise InputError(f"scorer_limit must be more than 0 seconds; got {scorer_limit!r}")
        self._tools = tuple(tools) if interface in (SDK, BOTH) else ()
        self._scorer, self._begun_s, self._scorer_s = scorer, begun, scorer_limit
        self._machine: OSWorldMachine | None = None
        self._cache: Path | None = None
        self._last = ""  # FAIL, DONE, or nothing: how the agent ended it
        self._broken = ""  # how it has broken its screen

    @abc.abstractmethod
    async def _taken(self, entry: BenchmarkTask) -> None:
        """Puts a machine for the task into `_machine`. Raises EnvironmentFailure, SandboxFailure."""

    async def _begun(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Waits until a machine shows what the steps of a task have begun."""
        if steps:
            await asyncio.sleep(self._begun_s)

    async def _postconfig(self, steps: Sequence[Mapping[str, Any]]) -> list[str]:
        """Carries out the steps before scoring; returns what could not be done."""
        return await self._carry_out(steps, strict=self.strict)

    @property
    def action_space(self) -> ActionSpace:
        functions = [FUNCTIONS[name] for name in self._tools]
        return space_of(self._interface, "computer", PLATFORM_ACTIONS["computer"], functions)

    @property
    def instruction(self) -> str:
        said = super().instruction
        return f"{said}\n\n{self.said_of_ends}" if said else ""

    @property
    def said_of_ends(self) -> str:
        """Tells an agent by which of its actions it says that a task cannot be done."""
        return INFEASIBLE if CallUser.name in self.action_space.actions else INFEASIBLE_BY_WORDS

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        self._last = self._broken = ""
        self._scorer.start()
        await self._taken(entry)
        self._cache = await asyncio.to_thread(self._filled_cache, entry)
        steps = entry.record.get("config") or []
        await self._carry_out(steps)
        await self._begun(steps)
        return await self._observed("")

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        said: list[str] = []
        end = asyncio.get_running_loop().time() + TURN_S
        self._last = ""
        try:
            for action in actions:
                if isinstance(action, Finished | CallUser):
                    self._last = FAIL if isinstance(action, CallUser) or _says_fail(action.content) else "DONE"
                    break
                if asyncio.get_running_loop().time() > end:
                    said.append(f"{action.name}: not done, as the turn has taken {TURN_S:g} s already")
                else:
                    said.append(await self._held.act(action))
            return await self._observed("\n".join(each for each in said if each)), bool(self._last)
        except Broken as broken:  # by what the agent did
            self._broken = str(broken)
            return Observation(text="\n".join(filter(None, (*said, f"the screen was broken inside: {broken}")))), True

    async def verify(self) -> BenchmarkVerdict:
        """Postconfig comes first; what the machine or the scorer lacks is a failure, and never a score.

        What the agent has broken is its own: without a screen the state is scored as it is, and a step of postconfig
        that cannot be done is 0 if the metric says so, as is a state of which nothing can be told any more.
        """
        evaluator, machine, cache = self.entry.record["evaluator"], self._held, self._cache
        assert cache is not None
        details: dict[str, Any] = {"last": self._last}
        played, steps = self._last != FAIL and evaluator["func"] != "infeasible", evaluator.get("postconfig") or []
        undone: list[str] = []
        try:
            if played and not self._broken:
                undone = await self._postconfig(steps)
        except Broken as broken:
            self._broken = str(broken)
        if self._broken:
            details["broken"] = self._broken
            undone = await self._carry_out(steps, strict=False) if played else []
        if undone:
            details["undone"] = undone
        async with machine.scored_at() as (host, ports):
            request = {
                "evaluator": evaluator, "cache": str(cache), "host": host, "ports": ports, "last": self._last,
                "size": list(machine.size), "platform": self.platform,
            }  # fmt: skip
            try:
                score, found = await self._scorer.score(request, self._scorer_s)
            except EnvironmentFailure as lost:
                if not self._broken:
                    raise
                score, found = 0.0, {"wrong": str(lost)}
        await self.end()  # others may wait for the machine
        return BenchmarkVerdict(score, score >= 1.0, {**found, **details})

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

    async def look(self) -> Observation | None:
        """The screen as it is now."""
        machine = self._machine
        return await machine.shown() if machine is not None and machine.size[0] else None

    @property
    def _held(self) -> OSWorldMachine:
        assert self._machine is not None  # reset has taken it
        return self._machine

    async def _carry_out(self, steps: Sequence[Any], *, strict: bool = True) -> list[str]:
        assert self._cache is not None
        machine = self._held
        place = StepPlace(machine.guest, self._cache, machine.size, self._copy_of, self.entry.folder)
        return await carry_out(steps, place, self.steps, strict=strict)

    def _copy_of(self, file: CloudFile) -> Path | None:
        folder = self.entry.folder or self.tasks.path
        caches = [cache for above in (folder, *folder.parents[:3]) for cache in cache_folders(above)]
        return local_copy(file, self.entry.record["id"], self.entry.group, caches)

    def _filled_cache(self, entry: BenchmarkTask) -> Path:
        """A folder of this episode's with what the scorer would fetch."""
        cache = Path(tempfile.mkdtemp(prefix=f"tars_jax-{self.tasks.benchmark.name}-cache-"))
        for file in cloud_files(entry.record):
            if not file.path and (copy := self._copy_of(file)) is not None:
                shutil.copyfile(copy, cache / Path(file.name).name)
        return cache

    async def _observed(self, text: str) -> Observation:
        if self._interface == SDK:
            return Observation(text=text or "(ready)")
        shown = await self._held.shown()
        return Observation.decoded(shown.screenshot, shown.pixels, text) if shown.pixels is not None else shown


def _says_fail(content: str) -> bool:
    return content.strip().upper().startswith((FAIL, "INFEASIBLE"))
