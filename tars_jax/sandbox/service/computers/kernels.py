"""Kernels of a session by their names."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.service.computers.part import SessionPart, Work, name_of, seconds
from tars_jax.sandbox.tools.kernels import KINDS, Kernel
from tars_jax.sandbox.tools.named_sessions import NamedSessions
from tars_jax.web.protocol import RequestFields

MOST_KERNELS = 16


class KernelCalls(SessionPart):
    """A kernel begins with its first cell."""

    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._kernels = NamedSessions[Kernel]("kernel", MOST_KERNELS)
        self.calls = {
            "run_cell": self._run, "interrupt_kernel": self._interrupt, "close_kernel": self._close,
            "kernels": self._list,
        }  # fmt: skip

    @classmethod
    def restore(cls, machine: GuestMachine, snapshot: Mapping[str, Any]) -> KernelCalls:
        """Raises KeyError, TypeError, ValueError for what is none."""
        kernels = cls(machine)
        for name, each in snapshot.items():
            kernels._kernels.add(name, kernels._kept(Kernel.restore(machine, each)))
        return kernels

    def snapshot(self) -> Any:
        named = self._kernels.named.items()
        return {name: kernel.snapshot() for name, kernel in named if kernel.process is not None}

    async def detach(self) -> None:
        for kernel in self._kernels.named.values():
            await kernel.detach()

    def _kept(self, kernel: Kernel) -> Kernel:
        kernel.kept = lambda: self.kept()
        return kernel

    def own(self) -> set[int]:
        return {process for kernel in self._kernels.named.values() if (process := kernel.process) is not None}

    async def close(self) -> None:
        await self._kernels.close()

    def _run(self, fields: RequestFields) -> Work:
        """{kernel?, kind?, code, timeout_s?} -> {output, result, error, images, timed_out, restarted}"""
        name, code, timeout_s = name_of(fields, "kernel"), fields.text("code"), seconds(fields, 120.0)
        kind = fields.text("kind", "auto")
        if kind not in KINDS:
            raise fields.error("kind", f"one of {', '.join(KINDS)}")

        async def work() -> Any:
            async def make() -> Kernel:
                return self._kept(Kernel(self._machine, kind=kind))

            kernel = await self._kernels.open(name, make)
            kernel.require_kind(kind)
            cell = await kernel.run(code, timeout_s)
            return {
                "output": cell.output, "result": cell.result, "error": cell.error,
                "images": [base64.b64encode(image).decode() for image in cell.images], "timed_out": cell.timed_out,
                "restarted": cell.restarted, "kind": kernel.kind,
            }  # fmt: skip

        return work

    def _interrupt(self, fields: RequestFields) -> Work:
        name = name_of(fields, "kernel")

        async def work() -> Any:
            if (kernel := self._kernels.named.get(name)) is not None:
                await kernel.interrupt()
            return {}

        return work

    def _close(self, fields: RequestFields) -> Work:
        name = name_of(fields, "kernel")

        async def work() -> Any:
            if name in self._kernels.named:
                await self._kernels.close_one(name)
                self.kept()
            return {}

        return work

    def _list(self, fields: RequestFields) -> Work:
        async def work() -> Any:
            return {"kernels": [{"kernel": name, "kind": kernel.kind} for name, kernel in self._kernels.named.items()]}

        return work
