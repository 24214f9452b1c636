"""The way out of a computer, for programs that heed the usual variables: to hosts of an allow-list and nowhere else.

    async with Outbound(computer.machine, Hosts(["pypi.org", "*.pythonhosted.org"])) as outbound:
        await computer.machine.run(["pip", "download", "six"], env=await outbound.variables())

The computer keeps its own network, loopback. A port of it leads to a proxy out here (web/network.py), which resolves
names itself and refuses what is of this machine or its network.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Self

from tars_jax.sandbox.computer.forwarding import PortForward
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.web.network import Hosts, Proxy

OWN = "localhost,127.0.0.1,::1"


class Outbound:
    """An async context manager."""

    def __init__(self, machine: GuestMachine, hosts: Hosts) -> None:
        self._machine, self._proxy = machine, Proxy(hosts)
        self._outside = 0
        self._forward: PortForward | None = None

    async def __aenter__(self) -> Self:
        """Opens the proxy. Raises SandboxFailure."""
        self._outside = await self._proxy.open()
        try:
            await self._open()
        except BaseException:
            self._proxy.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._end()
        finally:
            self._proxy.close()

    def allow(self, hosts: Hosts) -> None:
        """Other hosts from now on; open connections end."""
        self._proxy.allow(hosts)

    async def variables(self) -> Mapping[str, str]:
        """Environment variables of programs that are to find the way. Where programs inside have closed it, it is
        opened anew.

        Raises SandboxFailure.
        """
        if self._forward is None or not self._forward.is_open:
            await self._end()
            await self._open()
        assert self._forward is not None
        address = f"http://127.0.0.1:{self._forward.port}"
        names = ("http_proxy", "https_proxy", "all_proxy")
        return {
            **{name: address for each in names for name in (each, each.upper())}, "no_proxy": OWN, "NO_PROXY": OWN
        }  # fmt: skip

    async def _open(self) -> None:
        self._forward = await PortForward(self._machine, "127.0.0.1", self._outside).__aenter__()

    async def _end(self) -> None:
        forward, self._forward = self._forward, None
        if forward is not None:
            with contextlib.suppress(OSError):  # the computer is gone
                await forward.__aexit__()
