"""Reach of a trial's programs beside their computer: hosts of its network policy, and ports of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from tars_jax.sandbox.computer.forwarding import PortForward
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.computer.outbound import Outbound
from tars_jax.web.network import Hosts


class Reach:
    """Hosts and ports that a computer's programs can reach; none at first. Calls raise SandboxFailure."""

    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._outbound: Outbound | None = None
        self._forwards: list[PortForward] = []

    async def show(self, ports: Sequence[int]) -> None:
        """Shows ports of this machine's loopback at the same numbers inside."""
        for port in ports:
            self._forwards.append(await PortForward(self._machine, "127.0.0.1", port, at=port).__aenter__())

    async def allow(self, hosts: Sequence[str]) -> None:
        """These and no others from now on (web/network.py has the form); connections that are open end."""
        if self._outbound is not None:
            self._outbound.allow(Hosts(hosts, public=True))
        elif hosts:
            self._outbound = await Outbound(self._machine, Hosts(hosts, public=True)).__aenter__()

    async def variables(self) -> Mapping[str, str]:
        """Environment variables of programs that are to find the hosts. What programs inside have ended is opened
        anew."""
        if closed := [forward for forward in self._forwards if not forward.is_open]:
            self._forwards = [forward for forward in self._forwards if forward.is_open]
            await _end(closed)
            await self.show([forward.port for forward in closed])
        return {} if self._outbound is None else await self._outbound.variables()

    async def close(self) -> None:
        forwards, self._forwards = self._forwards, []
        outbound, self._outbound = self._outbound, None
        await _end(forwards)
        if outbound is not None:
            await outbound.__aexit__()


async def _end(forwards: Sequence[PortForward]) -> None:
    for forward in forwards:
        with contextlib.suppress(OSError):  # the computer is gone
            await forward.__aexit__()
