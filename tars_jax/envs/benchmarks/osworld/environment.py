"""`osworld`: a task of OSWorld on a desktop of ours or on a machine elsewhere, from its steps to its score.

train --config.environment=osworld --config.environment_options='{"tasks": "OSWorld/evaluation_examples"}'
evaluate --config.suite=osworld --config.tasks=OSWorld/evaluation_examples \\
  --config.environment_options='{"servers": ["http://10.0.0.7:5000"], "revert": ["./revert.sh", "{machine}"]}'
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import GUI
from tars_jax.envs import shared_computers
from tars_jax.envs.benchmarks.osworld import programs
from tars_jax.envs.benchmarks.osworld.machine_environment import BEGUN_S, TAKES_S, MachineEnvironment
from tars_jax.envs.benchmarks.osworld.machines import Machines, ServerMachine, check_servers
from tars_jax.envs.benchmarks.osworld.near_desktop import NearDesktop
from tars_jax.envs.benchmarks.osworld.scoring import Scorer, scorer_python
from tars_jax.envs.benchmarks.osworld.session import SIZE, computer_spec
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.computer.guest_machine import Ran
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks

TOOLS = ("execute_bash", "str_replace_editor")
SETTLE_S = 20.0  # Chrome writes its preferences ten seconds after they were changed


class OSWorldEnvironment(MachineEnvironment):
    """Steps, applications and files are as the task says them; the verdict is that of desktop-env's scorers.

    Args:
      interface: gui: a screen; sdk: `tools`, without one; both. With `servers` it is gui.
      tools: the functions of sdk and both, by their names in `sandbox/tools/forms.py`.
      size: (width, height) of the screen in pixels; tasks were written for OSWorld's.
      isolation: a kind of `sandbox/computer/isolation.py`; auto: the first that works here.
      servers: addresses of OSWorld's server, or ours (`osworld`), each of a machine elsewhere, with its token as in
        http://any:TOKEN@HOST:PORT, or a file of them, which keeps tokens out of what a run writes; left out: desktops
        of this machine.
      revert: a command of this machine that sets one of `servers` back before each episode: its words, in which
        {machine} and {snapshot} are filled in. Without it an episode begins with what those before have left.
      settle: seconds that open applications have at the end to write what they keep, as OSWorld's own runner waits.
      begun: seconds that one of `servers` has behind the steps of a task.
      scorer_limit: seconds that scoring may take.

    Raises InputError for options that it cannot have, and where PyAutoGUI or the scorers are not installed.
    """

    platform = "Linux"

    def __init__(
        self, tasks: BenchmarkTasks, *, interface: str = GUI, tools: Sequence[str] = TOOLS, size: Sequence[int] = SIZE,
        isolation: str = "auto", servers: Sequence[str] = (), revert: Sequence[str] = (), settle: float = SETTLE_S,
        begun: float = BEGUN_S, scorer_limit: float = 600.0, time_limit: float = 0.0,
        resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            tasks, Scorer(scorer_python()), interface=interface, tools=tools, begun=begun, scorer_limit=scorer_limit,
            time_limit=time_limit, resources=resources,
        )  # fmt: skip
        if (at := self.resources.sandbox) is not None and (at.service or at.guests):
            raise InputError("sandbox.address and sandbox.guests must be '' for osworld, whose computers are here, or "
                             "elsewhere by option servers")  # fmt: skip
        if servers and interface != GUI:
            raise InputError(f"interface must be gui with option servers; got {interface!r}")
        if revert and not servers:
            raise InputError("revert must be left out without servers: each desktop of this machine is a new one")
        if not 0 <= settle <= 600:
            raise InputError(f"settle must be seconds, 0 to 600; got {settle!r}")
        self._kind, self._size, self._settle = isolation, (int(size[0]), int(size[1])), settle
        self._servers = Machines(check_servers(servers), ServerMachine.open, tuple(revert))
        if servers:
            self.time_limit = TAKES_S
        self._programs = Path(tempfile.mkdtemp(prefix="tars_jax-osworld-"))
        programs.fill(self._programs)
        self._computers: shared_computers.NearComputers | None = None

    async def _taken(self, entry: BenchmarkTask) -> None:
        if self._servers.names:
            self._machine = await self._servers.take(str(entry.record.get("snapshot") or ""))
            if (size := self._machine.size) != self._size:
                raise InputError(f"size must be that of the screen of servers, {list(size)}; got {list(self._size)}")
            return
        if self._computers is None:
            self._computers = shared_computers.acquire(self._kind)
        spec = computer_spec(self._programs, self._size, self._tools, entry.record)
        self._machine = await NearDesktop.open(await self._computers.entered(), spec, entry.record)

    async def _begun(self, steps: Sequence[Mapping[str, Any]]) -> None:
        await (super()._begun(steps) if self._near is None else self._near.begun(steps))

    async def _postconfig(self, steps: Sequence[Mapping[str, Any]]) -> list[str]:
        if self._settle and (self._near is None or await self._near.desktop.windows()):
            await asyncio.sleep(self._settle)
        undone = await super()._postconfig(steps)
        if self._near is not None:
            await self._near.still()
        return undone

    async def close(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            computers, self._computers = self._computers, None
            if computers is not None:
                stack.push_async_callback(shared_computers.release, computers)
            stack.callback(shutil.rmtree, self._programs, True)
            stack.push_async_callback(super().close)

    async def shell(self, script: str, timeout_s: float = 120.0) -> Ran:
        """Runs a bash script in a local machine, as the agent's user, to prepare or check a state."""
        near = self._near
        assert near is not None
        machine = near.computer.computer.machine
        return await machine.run(["bash", "-c", script], env=near.desktop.env, timeout_s=timeout_s)

    @property
    def _near(self) -> NearDesktop | None:
        return self._machine if isinstance(self._machine, NearDesktop) else None
