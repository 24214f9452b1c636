"""`windows_agent_arena`: a task of WindowsAgentArena on a machine of the user's, from its steps to its score.

evaluate --config.suite=windows_agent_arena --config.tasks=waa_cube-0.1.2-py3-none-any.whl \\
  --config.environment_options='{"servers": ["http://10.0.0.7:5000"], "revert": ["./revert.sh", "{snapshot}"]}'
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.environment import GUI, SDK, EnvironmentFailure
from tars_jax.envs.benchmarks.osworld.machines import Machines, ServerMachine, check_servers
from tars_jax.envs.benchmarks.osworld.played import BEGUN_S, TAKES_S, PlayedOnMachines
from tars_jax.envs.benchmarks.osworld.scoring import Scorer, scorer_python
from tars_jax.envs.benchmarks.windows_agent_arena.guest_app import WINDOWS
from tars_jax.envs.benchmarks.windows_agent_arena.machines import BareGuest
from tars_jax.envs.benchmarks.windows_agent_arena.steps import WINDOWS_STEPS
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.windows_agent_arena import package_of
from tars_jax.tasks.benchmarks.windows_agent_arena_needs import needs_of

SCORER = Path(__file__).with_name("waa_scorer.py")
TOOLS = ("execute_bash",)


class WindowsAgentArenaEnvironment(PlayedOnMachines):
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
