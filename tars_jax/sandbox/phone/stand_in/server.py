"""A stand-in phone that listens: `adb connect 127.0.0.1:PORT` takes it for a device."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from tars_jax import InputError
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.shell_service import serve_shell
from tars_jax.sandbox.phone.stand_in.streams import AdbConnection, Service
from tars_jax.sandbox.phone.stand_in.sync_service import serve_sync

FEATURES = "shell_v2,fixed_push_mkdir"
MOST_CONNECTIONS = 16
T = TypeVar("T")


class StandIn:
    """Serves a `StandInDevice` in a thread of its own. Use as a context manager, or end it with `close`.

    Args:
      port: 0: any that is free. Not 5555 to 5585, where adb looks for emulators by itself and lists a device twice.
      host: an address of this machine. Whoever reaches it has the phone, as with any device of ADB over TCP.
      authorized: False: a phone whose owner never allows this computer to debug it.

    Raises InputError when the address cannot be had.
    """

    def __init__(
        self, device: StandInDevice | None = None, *, host: str = "127.0.0.1", port: int = 0, authorized: bool = True
    ) -> None:  # fmt: skip
        self.device = device or StandInDevice()
        self._host, self._authorized = host, authorized
        self._connections: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stand-in phone", daemon=True)
        self._thread.start()
        try:
            self._server: asyncio.Server = self._run(asyncio.start_server(self._connected, host, port))
        except OSError as error:
            self._end_loop()
            raise InputError(
                f"host and port must be an address of this machine and a free port; got {host}:{port}: {error.strerror}"
            ) from error
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def serial(self) -> str:
        """Its serial among adb's devices, which `adb connect` takes."""
        return f"{self._host}:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, function: Callable[[StandInDevice], T]) -> T:
        """The result of a function of the device, called between two commands. For verifiers in this process."""

        async def work() -> T:
            return function(self.device)

        return self._run(work())

    def close(self) -> None:
        """Ends all connections at once, as a phone does whose battery is empty. A second call does nothing."""
        if self._loop.is_closed():
            return

        async def end() -> None:
            self._server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

        self._run(end())
        self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.close()
            return
        properties = self.device.properties
        shown = "".join(f"{name}={properties.get(name, '')};" for name in
                        ("ro.product.name", "ro.product.model", "ro.product.device"))  # fmt: skip
        banner = f"device::{shown}features={FEATURES}".encode()
        connection = AdbConnection(reader, writer, banner, self._service, authorized=self._authorized)
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await connection.run()
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    def _service(self, name: str) -> Service | None:
        kind = name.partition(":")[0].split(",")[0]
        if kind in ("shell", "exec"):
            return functools.partial(serve_shell, device=self.device, name=name)
        if name == "sync:":
            return functools.partial(serve_sync, device=self.device)
        return None  # forwarding, reboot, root: a stand-in has none of it
