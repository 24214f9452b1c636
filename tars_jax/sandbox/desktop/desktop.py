"""A desktop inside a machine: an X server, a window manager, applications, and a user's hands and eyes."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from PIL import Image
from Xlib import error

from tars_jax import InputError
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.computer.machine import Machine
from tars_jax.sandbox.desktop.applications import APPLICATIONS, commands, menu
from tars_jax.sandbox.desktop.connection import GONE, Connection
from tars_jax.sandbox.desktop.devices import Devices
from tars_jax.sandbox.desktop.files import Inside
from tars_jax.sandbox.desktop.screen import Cursor, FrameBuffer, Screenshot
from tars_jax.sandbox.desktop.server import INSTALL, NOT_FOUND, XServer
from tars_jax.sandbox.desktop.settling import Settle, Watch
from tars_jax.sandbox.desktop.windows import Window, Windows, paint_root
from tars_jax.sandbox.failures import SandboxFailure

T = TypeVar("T")

CALL_S = 30.0  # beyond the time that a call waits by itself
POLL_S = 0.02
# Programs keep their settings in memory and ask no service of a session that a desktop does not have.
ENVIRONMENT = {
    "GSETTINGS_BACKEND": "memory", "GTK_USE_PORTAL": "0", "NO_AT_BRIDGE": "1", "GTK_IM_MODULE": "gtk-im-context-simple",
    "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "QT_QPA_PLATFORM": "xcb", "XDG_CURRENT_DESKTOP": "Openbox",
}  # fmt: skip
# A menu closes when the button is let go this long after it opened, which a busy machine takes to open one.
START_WINDOW_MANAGER = r"""
command -v openbox >/dev/null || exit 127
printf %s "$1" >"$DESKTOP_FOLDER/menu.xml"
menu=$(printf %s "$DESKTOP_FOLDER/menu.xml" | sed 's/[&|\\]/\\&/g')
sed -e 's|<hideDelay>[0-9]*</hideDelay>|<hideDelay>5000</hideDelay>|; /debian-menu/d' \
    -e "s|<file>menu.xml</file>|<file>$menu</file>|" \
    /etc/xdg/openbox/rc.xml >"$DESKTOP_FOLDER/rc.xml" || exit 1
exec openbox --config-file "$DESKTOP_FOLDER/rc.xml" --startup "sh -c 'touch \"\$DESKTOP_FOLDER/ready\"'"
"""
SHELL_FIND = 'for name in "$@"; do command -v "$name" >/dev/null 2>&1 && printf "%s\\n" "$name"; done; true'


@dataclasses.dataclass(frozen=True)
class DesktopConfig:
    width: int = 1280
    height: int = 720
    background: int = 0x2C3E50  # of the screen, 0xRRGGBB
    window_manager: bool = True
    settle: Settle = dataclasses.field(default_factory=Settle)

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            if not 64 <= getattr(self, name) <= 8192:
                raise InputError(f"desktop.{name} must be 64 to 8192 pixels; got {getattr(self, name)!r}")


@dataclasses.dataclass
class _Parts:
    """What belongs to one connection with the X server."""

    connection: Connection
    frames: FrameBuffer
    cursor: Cursor
    devices: Devices
    watch: Watch
    windows: Windows


class Desktop:
    """Made by `start`. Calls may come from several tasks; they are carried out one after the other.

    Every call raises SandboxFailure of the kind "desktop" once the X server has died or does not answer.
    """

    def __init__(self, machine: Machine, config: DesktopConfig, server: XServer, inside: Inside) -> None:
        self.machine, self.config, self.inside, self._server = machine, config, inside, server
        self._thread = ThreadPoolExecutor(1, "desktop")
        self._parts: _Parts | None = None
        self._started: list[int] = []
        self._closed = False
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
            desktop._parts = await desktop._call(desktop._connect, needs_parts=False)
            await desktop._find_applications()
            await desktop._call(lambda: paint_root(desktop._here.connection, config.background))
            if config.window_manager:
                await desktop._start_window_manager(folder)
        except BaseException:
            await desktop.close()
            raise
        return desktop

    @property
    def env(self) -> dict[str, str]:
        """The variables of programs that shall run on this desktop; shells of the session need them, too."""
        return {**ENVIRONMENT, **self._server.environment}

    @property
    def folder(self) -> str:
        """Inside, for files of the desktop's own."""
        return self._server.folder

    @property
    def processes(self) -> list[int]:
        """Those that were started here, inside: each the first of a session of processes."""
        return [self._server.process, *self._started]

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.config.width, self.config.height

    async def screenshot(self, *, settle: Settle | None = None) -> Screenshot:
        """What the screen shows now, the cursor included; with `settle`, once it has settled."""
        return await self._call(lambda: self._see(settle), wait_ms=settle.bound_ms if settle else 0)

    async def act(self, events: Sequence[InputEvent], *, settle: Settle | None = None) -> Screenshot:
        """Does what a hand does, waits until the screen has settled, and looks.

        Raises InputError for an event that cannot be; then none was sent.
        """
        settle = settle or self.config.settle

        def act() -> Screenshot:
            parts = self._here
            parts.devices.check(events)
            parts.watch.drain()
            parts.devices.send(events)
            return self._see(settle)

        return await self._call(act, wait_ms=settle.bound_ms)

    async def pointer(self) -> tuple[int, int]:
        """Where the mouse is, in pixels."""

        def where() -> tuple[int, int]:
            found = self._here.connection.root.query_pointer()
            return found.root_x, found.root_y

        return await self._call(where)

    async def release_all(self) -> None:
        """Lets go of the keys and buttons that are held down."""
        await self._call(lambda: self._here.devices.at_rest())

    async def windows(self) -> list[Window]:
        """The top-level windows; state for verifiers, not for policies."""
        return await self._call(lambda: self._here.windows.list())

    async def activate_window(self, number: int) -> None:
        await self._call(lambda: self._here.windows.activate(number))

    async def close_window(self, number: int) -> None:
        """Asks a window to close; its program may first ask the user."""
        await self._call(lambda: self._here.windows.close(number))

    async def set_wallpaper(self, image: Image.Image) -> None:
        """Shows a picture behind all windows; it must have the size of the screen."""
        if image.size != self.size:
            raise InputError(f"wallpaper must have the size of the screen, {self.size}; got {image.size}")
        await self._call(lambda: paint_root(self._here.connection, image))

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
        for process in self._started:
            await self.machine.kill(process)
        if self._parts is not None:
            self._parts.connection.cut()
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        await self._server.close()
        if self._parts is not None:
            self._parts.connection.close()
            self._parts.frames.close()
        self._parts = None
        self.inside.close()

    @property
    def _here(self) -> _Parts:
        assert self._parts is not None
        return self._parts

    def _connect(self) -> _Parts:
        connection = self._server.connect()
        frames = FrameBuffer(self._server.frame_buffer())
        cursor = Cursor(connection)
        return _Parts(
            connection, frames, cursor, Devices(connection), Watch(connection, frames, cursor), Windows(connection)
        )

    def _see(self, settle: Settle | None) -> Screenshot:
        parts = self._here
        if settle is None:
            parts.watch.drain()
        else:
            parts.watch.settle(settle)
        frame = parts.frames.frame()
        parts.cursor.draw(frame)
        return Screenshot(frame)

    async def _call(self, work: Callable[[], T], *, wait_ms: float = 0.0, needs_parts: bool = True) -> T:
        if self._closed or (needs_parts and self._parts is None):
            raise SandboxFailure("desktop", "it is closed")
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.wait_for(asyncio.shield(running), CALL_S + wait_ms / 1000)
        except TimeoutError as late:
            if self._parts is not None:
                self._parts.connection.cut()
            running.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise SandboxFailure("desktop", f"the X server has not answered within {CALL_S:g} s") from late
        except GONE as gone:
            raise SandboxFailure("desktop", f"the X server is gone: {gone}") from gone
        except error.XError as refused:
            raise SandboxFailure("desktop", f"the X server refused a request: {refused}") from refused

    async def _find_applications(self) -> None:
        programs = {command[0] for options in APPLICATIONS.values() for command in options}
        found = (await self._output(["sh", "-c", SHELL_FIND, "sh", *sorted(programs)])).split()
        for name, options in APPLICATIONS.items():
            installed = [command for command in options if command[0] in found]
            if installed:
                self.applications[name] = installed[0]

    async def _start_window_manager(self, folder: str) -> None:
        env = {**self.env, "DESKTOP_FOLDER": folder}
        script = ["sh", "-c", START_WINDOW_MANAGER, "sh", menu(self.applications)]
        process = await self.machine.start(script, env=env)
        self._started.append(process)
        end = asyncio.get_running_loop().time() + CALL_S
        # It says so itself: its properties are there before it takes a click.
        while not self._exists(f"{folder}/ready"):
            status = await self.machine.wait(process, POLL_S / 4)
            if status == NOT_FOUND:
                raise InputError(f"desktop must have a window manager, and openbox is not installed; {INSTALL}")
            if status is not None or asyncio.get_running_loop().time() > end:
                raise SandboxFailure("desktop", f"the window manager did not come up; status {status}")

    def _exists(self, path: str) -> bool:
        try:
            os.close(self.inside.open(path))
        except OSError:
            return False
        return True

    async def _output(self, argv: Sequence[str]) -> str:
        log = f"{self._server.folder}/output-{secrets.token_hex(4)}"
        process = await self.machine.start(argv, output=log)
        if await self.machine.wait(process, CALL_S) is None:
            await self.machine.kill(process)
            raise SandboxFailure("desktop", f"{argv[0]} did not end within {CALL_S:g} s")
        return self.inside.text(log)
