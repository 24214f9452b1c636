"""A desktop inside a machine: an X server, a window manager, applications, and a user's hands and eyes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from PIL import Image
from Xlib import error

from tars_jax import InputError
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.computer.connection_tracker import connections_of
from tars_jax.sandbox.computer.machine import Machine
from tars_jax.sandbox.desktop.applications import INSTALL, commands
from tars_jax.sandbox.desktop.attachment import Attachment
from tars_jax.sandbox.desktop.clipboard import Clipboard
from tars_jax.sandbox.desktop.config import DesktopConfig, Settle
from tars_jax.sandbox.desktop.connection import GONE
from tars_jax.sandbox.desktop.devices import Devices
from tars_jax.sandbox.desktop.files import Inside
from tars_jax.sandbox.desktop.screenshot import Screenshot
from tars_jax.sandbox.desktop.server import XServer
from tars_jax.sandbox.desktop.session import ENVIRONMENT, find_applications, start_window_manager
from tars_jax.sandbox.desktop.windows import WindowInfo, paint_root
from tars_jax.sandbox.failures import Broken, SandboxFailure

T = TypeVar("T")

CALL_S = 30.0  # beyond the time that a call waits by itself
POLL_S = 0.02
ENDS_IN_S = 0.5  # behind the end of its connections


class Desktop:
    """Made by `start`. Calls may come from several tasks; they are carried out one after the other.

    Every call raises SandboxFailure of the kind "desktop" once the X server has died or does not answer, and Broken
    where programs of the inside have ended it, let it stand still, or write another screen than its own. One that has
    not answered once is asked no more: what came of it then comes of each call, at once.
    """

    def __init__(self, machine: Machine, config: DesktopConfig, server: XServer, inside: Inside) -> None:
        self.machine, self.config, self.inside, self._server = machine, config, inside, server
        self._thread = ThreadPoolExecutor(1, "desktop")
        self._attachment: Attachment | None = None
        self._devices: Devices | None = None  # as they were left, while nothing is attached
        self._links = connections_of(machine)
        self._started: list[int] = []
        self._closed, self._lost = False, ""  # what programs of the inside have done to the server
        self.applications: dict[str, Sequence[str]] = {}  # those that are installed: name -> command

    @classmethod
    async def start(
        cls, machine: Machine, config: DesktopConfig | None = None, *, folder: str | None = None
    ) -> Desktop:
        """Starts an X server and a window manager, and connects to them.

        Args:
          folder: inside, for the server's files; None: one of the session's own below `home`.

        Raises InputError where a program is not installed, SandboxFailure for one that does not come up.
        """
        config = config or DesktopConfig()
        folder = folder or f"{machine.home}/.cache/desktop-{secrets.token_hex(4)}"
        inside = Inside(machine)
        try:
            server = await XServer.start(machine, inside, folder, (config.width, config.height))
        except BaseException:
            inside.close()
            raise
        desktop = cls(machine, config, server, inside)
        try:
            await desktop._attach()
            desktop.applications = await find_applications(machine, inside, folder)
            await desktop._call(lambda here: paint_root(here.connection, config.background))
            if config.window_manager:
                process = await start_window_manager(machine, inside, folder, desktop.env, desktop.applications)
                desktop._started.append(process)
        except BaseException:
            await desktop.close()
            raise
        return desktop

    async def detach(self) -> None:
        """Ends what connects this process with the desktop, which goes on by itself. Not while a call is on its way."""
        self._links.remove(self)
        attachment, self._attachment = self._attachment, None
        if attachment is not None:
            self._devices = attachment.devices
            await asyncio.get_running_loop().run_in_executor(self._thread, attachment.close)
        self.inside.close()

    async def attach(self) -> None:
        """Attaches again after `detach`; twice is once. Where that fails, calls say why."""
        if self._closed or self._lost or self._attachment is not None:
            return
        self.inside.open_root(self.machine)
        await self._attach()

    async def _attach(self) -> None:
        attach = self._thread.submit(Attachment, self._server, self.inside, self.size, self._devices)
        try:
            self._attachment = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(attach)), CALL_S)
        except TimeoutError as late:
            raise SandboxFailure("desktop", f"the X server has not answered within {CALL_S:g} s") from late
        except (*GONE, error.XError) as gone:
            raise SandboxFailure("desktop", f"no connection to the X server: {gone}") from gone
        self._links.add(self)

    def snapshot(self) -> dict[str, Any]:
        """Snapshot with which another process goes on, as JSON; the cookie in it is for nobody else."""
        return {
            "config": dataclasses.asdict(self.config), "server": self._server.snapshot(), "started": self._started,
            "applications": {name: list(command) for name, command in self.applications.items()},
        }  # fmt: skip

    @classmethod
    async def restore(cls, machine: Machine, snapshot: Mapping[str, Any]) -> Desktop:
        """The desktop that another process has left in the same computer, or a copy of it, with all that it shows.

        Raises SandboxFailure where it has ended; KeyError, TypeError for what is no snapshot.
        """
        config = DesktopConfig(**{**snapshot["config"], "settle": Settle(**snapshot["config"]["settle"])})
        inside = Inside(machine)
        desktop = cls(machine, config, XServer.restore(machine, inside, snapshot["server"]), inside)
        desktop._started, desktop.applications = list(snapshot["started"]), dict(snapshot["applications"])
        try:
            await desktop._attach()
        except BaseException:
            desktop._closed = True
            desktop._thread.shutdown(wait=False, cancel_futures=True)
            inside.close()
            raise
        return desktop

    @property
    def env(self) -> dict[str, str]:
        """The variables of programs that shall run on this desktop; shells of the session need them, too."""
        return {**ENVIRONMENT, **self.config.environment, **self._server.environment}

    @property
    def folder(self) -> str:
        """Inside, for files of the desktop's own."""
        return self._server.folder

    @property
    def processes(self) -> list[int]:
        """Processes that were started here, inside: each the first of a session of processes."""
        return [self._server.process, *self._started]

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.config.width, self.config.height

    async def screenshot(self, *, settle: Settle | None = None) -> Screenshot:
        """Screenshot with the cursor; with `settle`, once the screen has settled."""
        return await self._call(lambda here: here.see(settle), wait_ms=settle.bound_ms if settle else 0)

    async def act(self, events: Sequence[InputEvent], *, settle: Settle | None = None) -> Screenshot:
        """Does what a hand does, waits until the screen has settled, and looks.

        Raises InputError for an event that cannot be; then none was sent.
        """
        settle = settle or self.config.settle
        return await self._call(lambda here: here.act(events, settle), wait_ms=settle.bound_ms)

    async def pointer(self) -> tuple[int, int]:
        """Position of the mouse, in pixels."""
        return await self._call(lambda here: here.pointer())

    async def release_all(self) -> None:
        """Lets go of the keys and buttons that are held down."""
        await self._call(lambda here: here.devices.at_rest())

    async def windows(self) -> list[WindowInfo]:
        """The top-level windows; state for verifiers, not for policies."""
        return await self._call(lambda here: here.windows.list())

    async def activate_window(self, number: int) -> None:
        await self._call(lambda here: here.windows.activate(number))

    async def close_window(self, number: int) -> None:
        """Asks a window to close; its program may first ask the user."""
        await self._call(lambda here: here.windows.close(number))

    async def clipboard(self, copied: Callable[[str], object]) -> Clipboard:
        """The clipboard, until it is closed. `copied`: hears, in another thread, of each text that a program copies."""
        return await Clipboard(self._server.connect, self._links, copied).open()

    async def set_wallpaper(self, image: Image.Image) -> None:
        """Shows a picture behind all windows; it must have the size of the screen."""
        if image.size != self.size:
            raise InputError(f"wallpaper must have the size of the screen, {self.size}; got {image.size}")
        await self._call(lambda here: paint_root(here.connection, image))

    async def launch(
        self, application: str | Sequence[str], *arguments: str, window_s: float | None = 20.0, cwd: str | None = None
    ) -> int:
        """Starts an application and waits for its first window; its process inside.

        Args:
          application: a name of APPLICATIONS, or a command.
          window_s: how long the window may take; None: nothing is waited for.

        Raises InputError for an application that is not installed, or ends or shows nothing within the time; its last
        words are in the message.
        """
        if isinstance(application, str):
            named = commands(application)
            if application not in self.applications:
                names = " or ".join(command[0] for command in named)
                raise InputError(f"application {application!r} must be installed ({names}) and is not; {INSTALL}")
            argv = [*self.applications[application], *arguments]
        else:
            argv = [*application, *arguments]
        known = {window.id for window in await self.windows()}
        log = f"{self._server.folder}/application-{len(self._started)}.log"
        process = await self.machine.start(argv, env=self.env, cwd=cwd, output=log)
        self._started.append(process)
        if window_s is None:
            return process
        end = asyncio.get_running_loop().time() + window_s
        while not any(window.id not in known for window in await self.windows()):
            status = await self.machine.wait(process, POLL_S)
            if status is not None or asyncio.get_running_loop().time() > end:
                what = f"ended with status {status}" if status is not None else f"opened none within {window_s:g} s"
                said = self.inside.text(log).strip()[-400:] or "it said nothing"
                raise InputError(f"application must open a window; {argv[0]!r} {what}: {said}")
        return process

    async def close(self) -> None:
        """Ends the applications that were started here, and the X server with all that is connected to it."""
        if self._closed:
            return
        self._closed = True
        self._links.remove(self)
        with contextlib.suppress(InputError):  # a computer that is away takes its programs with it
            for process in self._started:
                await self.machine.kill(process)
        if self._attachment is not None:
            self._attachment.cut()
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        with contextlib.suppress(InputError):
            await self._server.close()
        if self._attachment is not None:
            self._attachment.close()
        self._attachment = None
        self.inside.close()

    async def _raise_if_lost(self) -> None:
        """Raises Broken where the X server, which does not answer any more, has ended, or where somebody inside has
        stopped it or keeps it to himself: it is a program of the agent's own user.
        """
        status = await self.machine.wait(self._server.process, ENDS_IN_S)
        if status is not None:
            by = f"by signal {-status}" if status < 0 else f"with status {status}"
            self._lost = f"the X server was ended inside, {by}"
        elif self._server.is_stopped():
            self._lost = "the X server was stopped inside"
        elif await self._server.is_held():
            self._lost = "the X server is held inside, by a program that grabbed it"
        if self._lost:
            raise Broken(self._lost)

    async def _call(self, work: Callable[[Attachment], T], *, wait_ms: float = 0.0) -> T:
        async with self._links.in_use("a desktop"):
            attachment = self._attachment
            if self._lost and not self._closed:
                raise Broken(self._lost)
            if attachment is None and not self._closed:
                await self._raise_if_lost()
            if self._closed or attachment is None:
                raise SandboxFailure("desktop", "it is closed" if self._closed else "the X server is gone")
            running = asyncio.get_running_loop().run_in_executor(self._thread, work, attachment)
            try:
                return await asyncio.wait_for(asyncio.shield(running), CALL_S + wait_ms / 1000)
            except TimeoutError as late:
                attachment.cut()
                running.add_done_callback(lambda done: done.cancelled() or done.exception())
                await self._raise_if_lost()
                raise SandboxFailure("desktop", f"the X server has not answered within {CALL_S:g} s") from late
            except GONE as gone:
                if self._closed:
                    raise SandboxFailure("desktop", "it is closed") from gone
                await self._raise_if_lost()  # by a signal that it catches it ends late, or not at all
                self._lost = f"the X server was ended inside, as its connection says: {gone}"
                raise Broken(self._lost) from gone
            except error.XError as refused:
                raise SandboxFailure("desktop", f"the X server refused a request: {refused}") from refused
