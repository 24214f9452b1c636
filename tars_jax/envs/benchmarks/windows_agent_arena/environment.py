"""`windows_agent_arena`: a task of WindowsAgentArena on a machine of the user's, from its steps to its score.

evaluate --config.suite=windows_agent_arena --config.tasks=waa_cube-0.1.2-py3-none-any.whl \\
  --config.environment_options='{"servers": ["http://10.0.0.7:5000"], "revert": ["./revert.sh", "{snapshot}"]}'
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from starlette.applications import Starlette

from tars_jax import InputError
from tars_jax.environment import GUI, SDK, EnvironmentFailure
from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol, message, served
from tars_jax.envs.benchmarks.osworld.machine_environment import BEGUN_S, TAKES_S, MachineEnvironment
from tars_jax.envs.benchmarks.osworld.machines import Machines, ScreenMachine, ServerMachine, check_servers
from tars_jax.envs.benchmarks.osworld.scoring import Scorer, scorer_python
from tars_jax.envs.benchmarks.osworld.steps import STEPS, Step, StepPlace, Undone, post_setup, visits_in
from tars_jax.envs.benchmarks.windows_agent_arena.guest_app import WINDOWS, guest_app
from tars_jax.envs.computer_screen import DesktopScreen
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.address import host_and_port
from tars_jax.sandbox.computer.equipped.bare import BareComputer, LeasedGuest
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.windows_agent_arena import needs_of, package_of

SCORER = Path(__file__).with_name("waa_scorer.py")
TOOLS = ("execute_bash",)


async def _create_folder(place: StepPlace, parameters: dict[str, Any]) -> None:
    await post_setup(place, "create_folder", {"path": str(parameters["path"])})


async def _create_file(place: StepPlace, parameters: dict[str, Any]) -> None:
    answer = await place.guest.upload(str(parameters["path"]), str(parameters.get("content", "")).encode())
    if answer.status_code != 200:
        raise Undone(message(answer))


async def _recycle(place: StepPlace, parameters: dict[str, Any]) -> None:
    await post_setup(place, "recycle", {"path": str(parameters["path"])})


async def _close_all(place: StepPlace, parameters: dict[str, Any]) -> None:
    await place.guest.post("/setup/close_all", json={})  # a window that stays is no failure


# Steps that WindowsAgentArena has beyond OSWorld's, and those that are others with Windows.
WINDOWS_STEPS: dict[str, Step] = {
    **STEPS, "create_folder": _create_folder, "create_file": _create_file, "recycle_file": _recycle,
    "close_all": _close_all, "tidy_desktop": _close_all,
    "update_browse_history": visits_in("$LOCALAPPDATA/Google/Chrome/User Data/Default", "python"),
    "update_browse_history_edge": visits_in("$LOCALAPPDATA/Microsoft/Edge/User Data/Default", "python"),
}  # fmt: skip


class WindowsAgentArenaEnvironment(MachineEnvironment):
    """Steps and files are as the task says them; the verdict is that of waa-cube's scorers.

    Args:
      interface: gui: a screen; sdk: `tools` without one; both. Machines with WindowsAgentArena's own server have gui.
      servers: addresses of that server, each of a machine of its own, or a file of them; left out: the guests of
        `sandbox.guests`.
      revert: a command of this machine that sets one back before each episode: its words, in which {machine} and
        {snapshot} are filled in. Without it an episode begins with what those before have left.
      scorers: waa-cube's wheel, or its package's folder; empty: `tasks`, where that is one.
      begun: seconds that a machine has behind the steps of a task, as WindowsAgentArena waits.
      scorer_limit: seconds that scoring may take.
      stand_ins: play what needs Windows on another system, too, where stand-ins of its programs are on the guest's
        path: to try things, and never to report.

    Raises InputError for options that it cannot have, and where the scorers are not installed.
    """

    time_limit = TAKES_S
    platform, steps, strict = "Windows", WINDOWS_STEPS, True

    def __init__(
        self, tasks: BenchmarkTasks, *, interface: str = GUI, servers: Sequence[str] = (), revert: Sequence[str] = (),
        scorers: str = "", begun: float = BEGUN_S, scorer_limit: float = 600.0, stand_ins: bool = False,
        time_limit: float = 0.0, resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        scorer = Scorer(scorer_python(package=""), SCORER, package_of(Path(scorers or tasks.path).resolve()))
        super().__init__(
            tasks, scorer, interface=interface, tools=TOOLS, begun=begun, scorer_limit=scorer_limit,
            time_limit=time_limit, resources=resources,
        )  # fmt: skip
        sandbox = self.resources.sandbox
        guests = sandbox.guests if sandbox else ()
        if not servers and not guests:
            raise InputError("windows_agent_arena must have option servers, or config.sandbox.guests; got neither")
        if servers and interface != GUI:
            raise InputError(f"interface must be gui with WindowsAgentArena's own servers; got {interface!r}")
        bare = functools.partial(
            BareGuest.open, token=sandbox.key if sandbox else "", tools=self._tools, screen=interface != SDK
        )
        self._machines = Machines(
            check_servers(servers) or guests, ServerMachine.open if servers else bare, tuple(revert)
        )  # fmt: skip
        self._stand_ins = stand_ins

    async def _taken(self, entry: BenchmarkTask) -> None:
        self._machine = machine = await self._machines.take(str(entry.record.get("snapshot") or ""))
        own_server = isinstance(machine, ServerMachine)
        system = machine.system if isinstance(machine, BareGuest) and not self._stand_ins else WINDOWS
        if why := needs_of(entry.record, system, own_server=own_server):
            raise EnvironmentFailure("guest", f"{entry.id} cannot be played on this machine: {why}")


@dataclasses.dataclass(eq=False)
class BareGuest(ScreenMachine):
    """A guest by its own screen and hands."""

    app: Starlette  # its routes
    lock: TextIO
    system: str  # as Python calls it: win32, linux

    @classmethod
    async def open(cls, name: str, lock: TextIO, *, token: str, tools: tuple[str, ...], screen: bool) -> BareGuest:
        """Raises SandboxFailure: "held" where another has it; InputError for a guest of another version or token."""
        lease = await LeasedGuest.take(*host_and_port(name), token)
        try:
            await lease.remote.client.call("reset")
            hello, _ = await lease.remote.client.call("hello")
        except BaseException:
            await lease.close()
            raise
        parts = (*(("shell",) if tools else ()), *(("desktop",) if screen else ()))
        computer = await BareComputer.open(lease, ComputerSpec(parts, tools))  # which closes the lease where it fails
        system = str(hello["system"])
        app, desktop = guest_app(lease.remote, system), computer.desktop
        return cls(computer, GuestProtocol.of(app), DesktopScreen(desktop) if desktop else None, app, lock, system)

    @contextlib.asynccontextmanager
    async def scored_at(self) -> AsyncIterator[tuple[str, Mapping[str, int]]]:
        async with served(self.app) as (host, port):
            yield host, {"server": port}

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            self.lock.close()
