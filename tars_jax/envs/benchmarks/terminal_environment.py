"""Common base of benchmarks whose tasks are done by commands, as root, in computers of this machine."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.envs import shared_computers
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment
from tars_jax.envs.benchmarks.terminal_screen import TerminalScreen
from tars_jax.envs.interfaces import check_interface
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.desktop import DesktopConfig
from tars_jax.sandbox.tools.forms import FUNCTIONS, NEEDS_PAGES, Toolbox
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks


class TerminalEnvironment(BenchmarkEnvironment):
    """Functions, a desktop with a terminal, or both; its computers are acquired with the first episode.

    Args:
      named: what its tasks are called in an error.
      tools: the functions that an agent has, by their names in `sandbox/tools/forms.py`.
      interface: sdk: functions; gui: a desktop on which a terminal is open, with mouse and keyboard; both.
      size: (width, height) of the desktop's screen, in pixels.

    Raises InputError for tools that there are not, and for computers elsewhere.
    """

    def __init__(
        self, tasks: BenchmarkTasks, named: str, tools: Sequence[str], interface: str, size: Sequence[int], *,
        time_limit: float, resources: EnvironmentResources | None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        usable = [name for name in FUNCTIONS if name not in NEEDS_PAGES]
        if not tools or (unknown := [name for name in tools if name not in usable]):
            raise InputError(f"tools must be of {', '.join(usable)}; got {unknown[0] if tools else 'none'!r}")
        address = self.resources.sandbox
        if address is not None and (address.service or address.guests):
            raise InputError(f"sandbox must be this machine for {named}; got a service or guests")
        self._tools = tuple(tools)
        self._interface, self._screen_size = check_interface(interface), DesktopConfig(size[0], size[1])
        self._screen: TerminalScreen | None = None
        self._toolbox: Toolbox | None = None
        self._near: shared_computers.NearComputers | None = None

    def acquired(self) -> shared_computers.NearComputers:
        """Acquires this machine's computers, in which tasks are opened."""
        if self._near is None:
            self._near = shared_computers.acquire("namespaces", "files")
        return self._near

    async def discard(self) -> None:
        """Discards the computers after a failure: whoever asks again gets other ones."""
        near, self._near = self._near, None
        if near is not None:
            shared_computers.discard(near)
            await shared_computers.release(near)

    async def close(self) -> None:
        await self.end()
        near, self._near = self._near, None
        if near is not None:
            await shared_computers.release(near)
