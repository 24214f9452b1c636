"""Calls of one device through an ADB server, by adbutils: asynchronous, in bounded time, with typed failures."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shlex
from collections.abc import Callable
from typing import Any, TypeVar

from tars_jax import InputError
from tars_jax.rules import at_least, between, check_fields, field, more_than
from tars_jax.sandbox.phone.adb_server import answers
from tars_jax.sandbox.phone.failures import (
    ADB_SERVER,
    NO_DEVICE,
    OFFLINE,
    SEVERAL_DEVICES,
    TIMEOUT,
    SandboxFailure,
    kind_of_state,
)  # fmt: skip

DEFAULT_PORT = 5037
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class PhoneConfig:
    """Config of a phone: the device, and how long to wait for it. Raises InputError for an impossible value."""

    serial: str | None = None  # as `adb devices` lists it; HOST:PORT is connected to; None: the only one
    adb_host: str = "127.0.0.1"
    adb_port: int = field(0, "port of the ADB server; 0: $ANDROID_ADB_SERVER_PORT, or 5037", between(0, 65535))
    call_timeout_s: float = field(20.0, "time limit of one call, in seconds", more_than(0))
    screenshot_tries: int = field(3, "tries for a screenshot", at_least(1))
    settle_s: float = field(3.0, "most seconds until a screen comes to rest", more_than(0))

    def __post_init__(self) -> None:
        check_fields(self, "phone")

    @property
    def port(self) -> int:
        """Port of the ADB server; raises InputError where the environment has no number."""
        given = os.environ.get("ANDROID_ADB_SERVER_PORT", "")
        if self.adb_port or not given:
            return self.adb_port or DEFAULT_PORT
        if not given.isdigit() or not 0 < int(given) < 65536:
            raise InputError(f"ANDROID_ADB_SERVER_PORT must be a port; got {given!r}")
        return int(given)


@dataclasses.dataclass(frozen=True)
class ShellResult:
    """Output of a command on the phone, and its status."""

    stdout: bytes
    stderr: bytes
    status: int

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


def load_adbutils() -> Any:
    """The library; raises InputError that says how to get it."""
    try:
        import adbutils
    except ImportError as error:
        raise InputError(
            "a phone needs adbutils, which the extra phone brings: pip install 'tars_jax[phone]'"
        ) from error
    return adbutils


class Adb:
    """One device behind an ADB server. Calls run one after another, in threads."""

    def __init__(self, config: PhoneConfig) -> None:
        self._library = load_adbutils()
        self._config = config
        self._client = self._library.AdbClient(config.adb_host, config.port, socket_timeout=config.call_timeout_s)
        self._device: Any = None
        self._lock = asyncio.Lock()
        self.serial = config.serial or ""

    async def connect(self) -> None:
        """Finds the device. Raises SandboxFailure."""
        self._device = await self._call(self._find)
        self.serial = self._device.serial

    async def shell(self, *argv: str, timeout_s: float | None = None) -> ShellResult:
        """Runs a program on the phone; each word reaches it as it is. Raises SandboxFailure."""
        return await self.run(shlex.join(argv), timeout_s=timeout_s)

    async def run(self, line: str, *, timeout_s: float | None = None) -> ShellResult:
        """Like `shell`, for a line that the phone's shell reads."""
        seconds = timeout_s or self._config.call_timeout_s
        got = await self._call(lambda: self._device.shell2(line, timeout=seconds, encoding=None, v2=True), seconds)
        # A device of before Android 7 does not tell stdout and stderr apart.
        return ShellResult(got.stdout or (b"" if got.stderr else got.output), got.stderr, got.returncode)

    async def push(self, content: bytes, path: str) -> None:
        """Writes a file on the phone. Raises SandboxFailure, InputError for a path that the phone refuses."""

        def work() -> None:
            try:
                self._device.sync.push(content, path, 0o644, check=True)
            except self._library.AdbError as error:
                if "not found" in str(error) or "offline" in str(error):
                    raise
                raise InputError(f"path must be one that the phone can write; got {path!r}: {error}") from error

        await self._call(work, None)

    async def pull(self, path: str) -> bytes:
        """A file of the phone. Raises SandboxFailure, InputError for one that is not there."""

        def work() -> bytes:
            if not self._device.sync.stat(path).mode:
                raise InputError(f"path must be a file of the phone; got {path!r}")
            content: bytes = self._device.sync.read_bytes(path)
            return content

        return await self._call(work, None)

    def _find(self) -> Any:
        serial = self._config.serial
        known = {info.serial: info.state for info in self._client.list()}
        if serial is None:
            if len(known) != 1:
                kind = SEVERAL_DEVICES if known else NO_DEVICE
                raise SandboxFailure(
                    kind, f"the ADB server has {len(known)} devices; name one of {sorted(known)} as serial"
                )
            serial = next(iter(known))
        elif ":" in serial and known.get(serial) != "device":
            if known.get(serial) == "offline":  # a server keeps a line that is dead, and opens no second one
                self._client.disconnect(serial)
            answer = self._client.connect(serial, timeout=self._config.call_timeout_s)
            known = {info.serial: info.state for info in self._client.list()}
            if serial not in known:
                raise SandboxFailure(NO_DEVICE, answer.strip())
        if serial not in known:
            raise SandboxFailure(NO_DEVICE, f"the ADB server does not know {serial!r}; it has {sorted(known)}")
        if known[serial] != "device":
            raise SandboxFailure(kind_of_state(known[serial]), f"{serial} is {known[serial]}")
        return self._client.device(serial=serial)

    async def _call(self, work: Callable[[], T], seconds: float | None = -1.0) -> T:
        """Runs `work` in a thread; `seconds` None: as long as bytes come."""
        bound = self._config.call_timeout_s if seconds == -1.0 else seconds
        async with self._lock:
            try:
                return await asyncio.wait_for(asyncio.to_thread(self._typed, work), bound and bound + 1.0)
            except TimeoutError as error:
                raise SandboxFailure(
                    TIMEOUT, f"{self.serial or 'the phone'} did not answer within {bound:g} s"
                ) from error

    def _typed(self, work: Callable[[], T]) -> T:
        # adbutils starts a server on the default port where none answers; whoever wants one starts it by name.
        host, port = self._config.adb_host, self._config.port
        if not answers(host, port):
            raise SandboxFailure(ADB_SERVER, f"no ADB server answers at {host}:{port}; `adb start-server` starts one")
        try:
            return work()
        except (self._library.AdbError, EOFError, OSError, ValueError, AssertionError) as error:
            if isinstance(error, InputError):
                raise
            raise self._failure(error, host, port) from error

    def _failure(self, error: Exception, host: str, port: int) -> SandboxFailure:
        """The failure behind the error of a call: of the server, of the device, or of its slowness."""
        if not answers(host, port):
            return SandboxFailure(ADB_SERVER, f"the ADB server at {host}:{port} ended during a call: {error}")
        try:
            known: dict[str, str] = {info.serial: info.state for info in self._client.list()}
        except (self._library.AdbError, OSError, EOFError, ValueError):
            return SandboxFailure(ADB_SERVER, f"the ADB server at {host}:{port} does not list its devices: {error}")
        state = known.get(self.serial)
        if state is not None and state != "device":
            return SandboxFailure(kind_of_state(state), f"{self.serial} is {state}")
        if state is None and self._device is not None:
            return SandboxFailure(OFFLINE, f"{self.serial} has left: {error}")
        if isinstance(error, self._library.AdbTimeout | TimeoutError):
            return SandboxFailure(TIMEOUT, f"{self.serial or 'the ADB server'}: {error}")
        return SandboxFailure(OFFLINE, f"{self.serial}: {error or type(error).__name__}")
