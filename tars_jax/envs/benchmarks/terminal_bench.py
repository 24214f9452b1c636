"""Tasks in Harbor's form, such as Terminal-Bench's, played in computers in the place of containers.

evaluate --config.suite=terminal_bench --config.tasks=my-tasks --config.checkpoint=reference
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import FUNCTIONS as GUI_ACTIONS
from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall
from tars_jax.environment import SDK, ActionSpace, EnvironmentFailure, Function, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkVerdict
from tars_jax.envs.benchmarks.harbor_computer import (
    OpenedComputer,
    Premises,
    allowed,
    as_json,
    check_health,
    open_computer,
    put_folder,
)
from tars_jax.envs.benchmarks.harbor_oracle import ENDED, solve
from tars_jax.envs.benchmarks.harbor_verifier import APART, WAYS, StageRewards, grade_or_zero
from tars_jax.envs.benchmarks.terminal_environment import TerminalEnvironment
from tars_jax.envs.benchmarks.terminal_screen import TerminalScreen, action_space
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.computer.outbound import Outbound
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell
from tars_jax.sandbox.tools.forms import FUNCTIONS, Toolbox
from tars_jax.sandbox.tools.mcp.spec import ServerSpec, check_library
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.harbor.config import FINAL
from tars_jax.tasks.benchmarks.harbor.folder import HarborTask, TaskStage, read_task, resolved
from tars_jax.web.network import Hosts

TOOLS = ("execute_bash",)
NEXT_STEP = Function("next_step", "Says that this step of the task is done, and shows the next one.")


@dataclasses.dataclass
class _Done:
    """A stage that has ended."""

    name: str
    rewards: StageRewards | None
    seconds: float
    timed_out: bool
    why: str = ""  # there are no rewards


class TerminalBenchEnvironment(TerminalEnvironment):
    """The agent works by functions in a computer that the task's Dockerfile has made. In a task of several steps,
    `next_step` ends one and shows the next one's instruction; of steps that it leaves out by `finished`, the tests run
    on what is there. What they say is asked when a step is done.

    Args:
      tools: the functions that it has, by their names in `sandbox/tools/forms.py`.
      interface: sdk: functions; gui: a desktop on which a terminal is open, with mouse and keyboard; both.
      size: (width, height) of the desktop's screen, in pixels.
      isolation: a kind of `sandbox/computer/isolation.py` that has root: namespaces; auto is that.
      verifier: apart: tests run in a computer with the agent's files and without its programs, whose TCP ports they
        reach; live: in the agent's own, as Harbor does, where what it has left running could write the reward.
    """

    online = False
    time_limit = 4 * 3600.0  # of a call: the builds and the tests of some tasks take an hour
    reference_player = staticmethod(solve)

    def __init__(
        self, tasks: BenchmarkTasks, *, tools: Sequence[str] = TOOLS, isolation: str = "auto", verifier: str = APART,
        interface: str = SDK, size: Sequence[int] = (1280, 720), time_limit: float = 0.0,
        resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, "tasks of Harbor", tools, interface, size, time_limit=time_limit, resources=resources)
        if isolation not in ("auto", "namespaces"):
            raise InputError(f"isolation must be auto or namespaces, where programs are root; got {isolation!r}")
        if verifier not in WAYS:
            raise InputError(f"verifier must be one of {', '.join(WAYS)}; got {verifier!r}")
        self._way = verifier
        self._task: HarborTask | None = None
        self._opened: OpenedComputer | None = None
        self._outbound: Outbound | None = None
        self._foreign: Any = None
        self._at, self._turn, self._over = 0, 0, False
        self._done: list[_Done] = []
        self._stage_began = 0.0

    @property
    def action_space(self) -> ActionSpace:
        foreign = () if self._foreign is None else self._foreign.functions
        steps = (NEXT_STEP,) if self._task is not None and len(self._task.stages) > 1 else ()
        own = (FUNCTIONS[name] for name in self._tools)
        return action_space(self._interface, (*own, *foreign), steps)

    @property
    def instruction(self) -> str:
        return self._stage.instruction if self._task is not None else super().instruction

    @property
    def _stage(self) -> TaskStage:
        assert self._task is not None
        return self._task.stages[self._at]

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        assert entry.folder is not None
        self._task = read_task(entry.folder)
        self._at, self._turn, self._over, self._done = 0, 0, False, []
        asked = self._task.config.surroundings
        try:
            self._opened = await open_computer(await self._premises(), self._task.environment, asked)
        except InputError as error:  # of the task's own Dockerfile: no policy's failure
            raise EnvironmentFailure("environment", str(error)) from error
        except SandboxFailure:
            await self.discard()
            raise
        computer = self._opened.computer
        if self.online:
            self._outbound = await Outbound(computer.machine, self._hosts()).__aenter__()
            computer.machine.variables = {**self._opened.variables, **await self._outbound.variables()}
        await check_health(computer, asked.healthcheck, self._opened.workdir)
        await self._start_servers()
        if self._interface != SDK:
            self._screen = await TerminalScreen.open(computer.machine, self._screen_size, self._opened.workdir)
        await self._begin_stage()
        return await self._observed(self._welcome())

    async def _premises(self) -> Premises:
        near = self.acquired()
        return Premises(await near.entered(), near.made, self.online)

    def _hosts(self) -> Hosts:
        """That a stage's agent may reach."""
        assert self._task is not None
        return allowed(self._stage.agent.network or self._task.config.surroundings.network)

    def _welcome(self) -> str:
        assert self._task is not None and self._opened is not None
        skills = self._task.config.surroundings.skills_dir
        more = f" Skills that may help are in {skills}." if skills else ""
        return f"Commands run in {self._opened.workdir}.{more}"

    async def _start_servers(self) -> None:
        assert self._task is not None and self._opened is not None
        if servers := self._task.config.surroundings.servers:
            check_library()
            from tars_jax.sandbox.tools.mcp.functions import ForeignTools

            specs = [ServerSpec(each.name, each.command, each.args, cwd=self._opened.workdir) for each in servers]
            taken = (*GUI_ACTIONS, *FUNCTIONS)
            self._foreign = await ForeignTools(self._opened.computer.machine, specs, taken).__aenter__()

    async def _begin_stage(self) -> None:
        """The files and the shell of a step are there."""
        assert self._opened is not None
        computer, workdir, stage = self._opened.computer, self._opened.workdir, self._stage
        if self._outbound is not None:
            self._outbound.allow(self._hosts())
        if stage.workdir is not None:
            await put_folder(computer, stage.workdir, workdir)
            if (stage.workdir / "setup.sh").is_file():
                ran = await computer.machine.run(["bash", f"{workdir}/setup.sh"], cwd=workdir, timeout_s=600)
                if ran.status != 0:
                    said = ran.stderr.decode(errors="replace").strip()[-300:]
                    raise EnvironmentFailure(
                        "environment", f"step {stage.name}: setup.sh ended with {ran.status}: {said}"
                    )
        await check_health(computer, stage.healthcheck, workdir)
        if self._toolbox is not None:
            await self._toolbox.__aexit__()
        self._toolbox = Toolbox(
            computer.machine, self._tools, shell=lambda machine: Shell(machine, folder=workdir)
        )  # fmt: skip
        self._turn, self._stage_began = 0, time.monotonic()

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        assert self._task is not None
        said, ended, next_one = [], False, False
        for action in actions:
            if isinstance(action, Finished | CallUser):
                ended = True
                break
            if isinstance(action, ToolCall) and action.name == NEXT_STEP.name:
                next_one = True
                break
            if isinstance(action, ToolCall):
                said.append(await self._call(action))
            elif self._screen is not None:
                said.append(await self._screen.act(action))
        self._turn += 1
        text = "\n".join(each for each in said if each) or (
            "finished" if ended else "" if self._screen else "[no output]"
        )
        next_one |= self._is_late()
        if not next_one or ended or self._at + 1 == len(self._task.stages):
            return await self._observed(text), ended or next_one
        if not await self._go_on():
            return await self._observed(f"{text}\nThe step was not done well enough to go on."), True
        return await self._observed(f"{text}\nThe next step:\n{self._stage.instruction}"), False

    def _is_late(self) -> bool:
        """Whether the time of a stage is over; where the run itself limits episodes, its limit counts alone."""
        limit = self._stage.agent.timeout_s
        return not self._limit and limit is not None and time.monotonic() - self._stage_began > limit

    async def _go_on(self) -> bool:
        """Grades a stage and begins the next one; False: the task is over. Raises as `graded`."""
        assert self._task is not None
        await self._grade()
        last = self._at + 1 == len(self._task.stages)
        if last or not self._passes(self._done[-1]):
            self._over = True
            return False
        self._at += 1
        try:
            await self._begin_stage()
        except EnvironmentFailure as failure:  # of what the agent has left: Harbor grades no step after that
            self._done.append(_Done(self._stage.name, None, 0.0, False, str(failure)))
            self._over = True
        return not self._over

    async def _call(self, action: ToolCall) -> str:
        toolbox = self._foreign if self._foreign is not None and action.name in self._foreign else self._toolbox
        assert toolbox is not None
        return (await toolbox.call(action.name, action.parameters)).text

    def _passes(self, done: _Done) -> bool:
        values = {} if done.rewards is None else done.rewards.values
        return all(values.get(name, -math.inf) >= least for name, least in self._stage.min_reward.items())

    async def _grade(self) -> None:
        assert self._opened is not None and self._task is not None
        seconds, late = time.monotonic() - self._stage_began, self._is_late()
        try:
            rewards = await grade_or_zero(await self._premises(), self._opened, self._task, self._stage, self._way)
        except EnvironmentFailure as lost:
            about = {"step": self._stage.name, "done": self._told(), **lost.details}
            raise EnvironmentFailure(lost.kind, str(lost), about) from lost
        self._done.append(_Done(self._stage.name, rewards, seconds, late))

    async def verify(self) -> BenchmarkVerdict:
        while not self._over:
            await self._go_on()
        assert self._task is not None
        values = _together(self._done, self._task.config.strategy)
        score = values["reward"] if "reward" in values else sum(values.values()) / max(len(values), 1)
        return BenchmarkVerdict(score, score >= 1.0, {"rewards": values, "verifier": self._way, "steps": self._told()})

    def _told(self) -> list[dict[str, Any]]:
        """Results of the stages that have ended, as JSON."""
        return [
            {
                "step": done.name, "rewards": dict(done.rewards.values) if done.rewards else None,
                "seconds": round(done.seconds, 3), "timed_out": done.timed_out, "why": done.why,
                "said": done.rewards.said if done.rewards else "",
                "artifacts": as_json(done.rewards.artifacts) if done.rewards else {},
            }
            for done in self._done
        ]  # fmt: skip

    async def end(self) -> None:
        opened, self._opened = self._opened, None
        outbound, self._outbound = self._outbound, None
        toolbox, self._toolbox = self._toolbox, None
        foreign, self._foreign = self._foreign, None
        screen, self._screen = self._screen, None
        if opened is not None:
            async with contextlib.AsyncExitStack() as stack:
                stack.push_async_callback(opened.computer.close)
                if outbound is not None:
                    stack.push_async_callback(outbound.__aexit__)
                if screen is not None:
                    stack.push_async_callback(screen.close)
                if foreign is not None:
                    stack.push_async_callback(foreign.__aexit__)
                if toolbox is not None:
                    await toolbox.__aexit__()

    async def _observed(self, text: str) -> Observation:
        assert self._task is not None and self._opened is not None
        solution = self._stage.solution
        try:
            self._opened.computer.container.read(ENDED)
            ended = True
        except OSError:
            ended = False
        state = {
            "solution": None if solution is None else str(solution), "turn": self._turn, "ended": ended,
            "solution_env": resolved(self._task.config.solution.env, "solution.env:"), "step": self._stage.name,
            "more": self._at + 1 < len(self._task.stages), "screen": self._screen is not None,
        }  # fmt: skip
        if self._screen is None:
            return Observation(text=text, info={"state": state})
        return await self._screen.observed(text, {"state": state})


def _together(done: Sequence[_Done], strategy: str) -> dict[str, float]:
    """Combined rewards of a task's steps: the means of each name, 0 where a step has none of it, or those of the last
    step."""
    if strategy == FINAL:
        return {} if done[-1].rewards is None else dict(done[-1].rewards.values)
    rewards = [each.rewards.values for each in done if each.rewards is not None]
    names = sorted({name for each in rewards for name in each})
    return {name: sum(each.get(name, 0.0) for each in rewards) / len(rewards) for name in names}


class OnlineTerminalBenchEnvironment(TerminalBenchEnvironment):
    """The same, where programs reach the public hosts that each phase's policy allows, by `http_proxy` and
    `https_proxy`; builds reach all of them.
    """

    online = True
