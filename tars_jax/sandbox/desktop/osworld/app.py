"""The HTTP server of OSWorld's guests as a Starlette application over one desktop.

Whoever reaches it can do everything inside; put it behind what asks for the session's token, or on the loopback of the
session alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from PIL import Image, UnidentifiedImageError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_machine import GuestMachine, Ran
from tars_jax.sandbox.desktop.applications import opener
from tars_jax.sandbox.desktop.desktop import Desktop
from tars_jax.sandbox.desktop.osworld.bodies import form_of, object_of, refusal, text_of
from tars_jax.sandbox.desktop.osworld.commands import MOST_OUTPUT, CommandFailed, Commands
from tars_jax.sandbox.desktop.osworld.recording import ScreenRecording
from tars_jax.sandbox.desktop.windows import WindowInfo
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell.text import outputs

COMMAND_S = 120.0  # of a command without a time of its own, as in OSWorld
LONGEST_S = 3600.0
WINDOW_S = 30.0  # for the window of a file that is opened
POLL_S = 0.2


class Guest:
    """The routes. Answers have OSWorld's shapes; an error is {"status": "error", "message": ...}."""

    def __init__(self, desktop: Desktop, machine: GuestMachine) -> None:
        self._desktop, self._commands = desktop, Commands(desktop, machine)
        self._recording: ScreenRecording | None = None
        self._wallpaper = b""

    def routes(self) -> list[Route]:
        gets: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "screenshot": self.screenshot, "accessibility": self.accessibility, "terminal": self.terminal,
            "platform": self.platform, "cursor_position": self.cursor_position,
        }  # fmt: skip
        posts = {
            "execute": self.execute, "setup/execute": self.execute, "run_python": self.run_python,
            "run_python_script": self.run_python, "run_bash_script": self.run_bash_script, "file": self.file,
            "list_directory": self.list_directory, "desktop_path": self.desktop_path, "wallpaper": self.wallpaper,
            "screen_size": self.screen_size, "window_size": self.window_size,
            "start_recording": self.start_recording, "end_recording": self.end_recording,
            "setup/upload": self.upload, "setup/launch": self.launch, "setup/open_file": self.open_file,
            "setup/activate_window": self.activate_window, "setup/close_window": self.close_window,
            "setup/change_wallpaper": self.change_wallpaper, "setup/download_file": self.download_file,
            "setup/execute_with_verification": self.execute_with_verification,
        }  # fmt: skip
        return [
            *(Route(f"/{path}", _answering(work), methods=["GET"]) for path, work in gets.items()),
            *(Route(f"/{path}", _answering(work), methods=["POST"]) for path, work in posts.items()),
        ]

    def stop(self) -> None:
        if self._recording is not None:
            self._recording.cancel()

    # ---- what the screen shows

    async def screenshot(self, request: Request) -> Response:
        shown = await self._desktop.screenshot(settle=self._desktop.config.settle)
        return Response(await asyncio.to_thread(lambda: shown.png), media_type="image/png")

    async def accessibility(self, request: Request) -> Response:
        return refusal("there is no accessibility tree here: agents see the screen, verifiers read the state", 501)

    async def terminal(self, request: Request) -> Response:
        return JSONResponse({"output": None, "status": "success"})  # no terminal that tells its text is open

    async def platform(self, request: Request) -> Response:
        return PlainTextResponse("Linux")

    async def cursor_position(self, request: Request) -> Response:
        return JSONResponse(list(await self._desktop.pointer()))

    async def screen_size(self, request: Request) -> Response:
        width, height = self._desktop.size
        return JSONResponse({"width": width, "height": height})

    async def window_size(self, request: Request) -> Response:
        name = (await form_of(request)).get("app_class_name", b"").decode()
        for window in reversed(await self._desktop.windows()):
            if name.lower() in (part.lower() for part in window.app):
                return JSONResponse({"width": window.width, "height": window.height})
        return refusal(f"there is no window of the class {name!r}", 404)

    async def start_recording(self, request: Request) -> Response:
        if self._recording is not None:
            return refusal("a recording is under way", 400)
        self._recording = ScreenRecording(self._desktop)
        return JSONResponse({"status": "success", "message": "the recording has begun"})

    async def end_recording(self, request: Request) -> Response:
        recording, self._recording = self._recording, None
        if recording is None:
            return refusal("no recording is under way", 400)
        return Response(await recording.end(), media_type="image/gif")

    async def wallpaper(self, request: Request) -> Response:
        return Response(self._wallpaper, media_type="image/png") if self._wallpaper else refusal("there is none", 404)

    async def change_wallpaper(self, request: Request) -> Response:
        path = text_of(await object_of(request), "path")
        data = await self._commands.read_file(path)
        if data is None:
            return refusal(f"there is no file {path!r}", 404)
        try:
            image = await asyncio.to_thread(_picture, data, self._desktop.size)
        except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
            raise InputError(f"path must be of a picture; got {path[:200]!r}: {error}") from error
        await self._desktop.set_wallpaper(image)
        buffer = io.BytesIO()
        await asyncio.to_thread(image.save, buffer, "PNG", compress_level=1)
        self._wallpaper = buffer.getvalue()
        return PlainTextResponse("Wallpaper changed successfully")

    # ---- programs

    async def execute(self, request: Request) -> Response:
        body = await object_of(request)
        ran = await self._commands.run(
            self._commands.argv(body.get("command"), bool(body.get("shell", False))), timeout_s=COMMAND_S
        )
        return JSONResponse({"status": "success", **_outcome(ran)})

    async def run_python(self, request: Request) -> Response:
        code = text_of(await object_of(request), "code")
        ran = await self._commands.run(["python3", "-c", code], timeout_s=COMMAND_S)
        failed = ran.status != 0
        answer = {**_outcome(ran), "return_code": ran.status, "need_more": False}
        answer |= {"status": "error" if failed else "success", "message": "it failed" if failed else "it ended"}
        return JSONResponse(answer)

    async def run_bash_script(self, request: Request) -> Response:
        body = await object_of(request)
        timeout_s = body.get("timeout") or 100
        if not isinstance(timeout_s, int | float) or not 0 < timeout_s <= LONGEST_S:
            raise InputError(f"timeout must be seconds, above 0 and at most {LONGEST_S:g}; got {timeout_s!r}")
        folder = body.get("working_dir")
        argv = ["bash", "-c", text_of(body, "script")]
        try:
            ran = await self._commands.run(argv, timeout_s=timeout_s, cwd=None if folder is None else str(folder))
        except CommandFailed as failed:
            return JSONResponse({"status": "error", "output": "", "error": str(failed), "returncode": -1})
        return JSONResponse({"status": "error" if ran.status else "success", **_outcome(ran)})

    async def launch(self, request: Request) -> Response:
        body = await object_of(request)
        await self._commands.start(self._commands.argv(body.get("command"), bool(body.get("shell", False))))
        return PlainTextResponse("launched successfully")

    async def execute_with_verification(self, request: Request) -> Response:
        body = await object_of(request)
        wanted = body.get("verification") or {}
        if not isinstance(wanted, dict):
            raise InputError(f"verification must be an object; got {str(wanted)[:80]!r}")
        ran = await self._commands.run(
            self._commands.argv(body.get("command"), bool(body.get("shell", False))), timeout_s=COMMAND_S
        )
        limit_s = min(float(body.get("max_wait_time", 10)), LONGEST_S)
        if await self._until(lambda: self._verified(wanted), limit_s, max(float(body.get("check_interval", 1)), 0.05)):
            return JSONResponse({"status": "success", "verification": "passed", **_outcome(ran)})
        return refusal(f"what the command was to bring about was not so after {limit_s:g} seconds", 500)

    async def _verified(self, wanted: dict[str, Any]) -> bool:
        name, command = wanted.get("window_exists"), wanted.get("command_success")
        if name is not None and await self._window(str(name), strict=False, by_class=False) is None:
            return False
        if command is None:
            return True
        return (
            await self._commands.run(self._commands.argv(command, isinstance(command, str)), timeout_s=30)
        ).status == 0

    # ---- files

    async def file(self, request: Request) -> Response:
        path = (await form_of(request)).get("file_path", b"").decode("utf-8", "replace")
        if not path:
            raise InputError("file_path must be there")
        data = await self._commands.read_file(path)
        if data is None:
            return refusal(f"there is no file {path!r}", 404)
        return Response(data, media_type="application/octet-stream")

    async def upload(self, request: Request) -> Response:
        form = await form_of(request)
        if not form.get("file_path") or "file_data" not in form:
            raise InputError("file_path and file_data must be there")
        await self._commands.write_file(form["file_path"].decode("utf-8", "replace"), form["file_data"])
        return PlainTextResponse("File Uploaded")

    async def download_file(self, request: Request) -> Response:
        return refusal("a computer reaches no internet; upload the file by /setup/upload", 501)

    async def list_directory(self, request: Request) -> Response:
        path = text_of(await object_of(request), "path")
        tree = await self._commands.tree(path)
        return JSONResponse({"directory_tree": tree}) if tree else refusal(f"there is no folder {path!r}", 400)

    async def desktop_path(self, request: Request) -> Response:
        path = f"{self._desktop.machine.home}/Desktop"
        await self._commands.files.make_folder(path)
        return JSONResponse({"desktop_path": path})

    # ---- windows

    async def open_file(self, request: Request) -> Response:
        path = text_of(await object_of(request), "path")
        known = {window.id for window in await self._desktop.windows()}
        path = self._commands.expanded(path)
        if (await self._commands.run(["test", "-d", path], timeout_s=30)).status == 0:
            path = path.rstrip("/") + "/"
        await self._commands.start(list(opener(path, self._desktop.applications)))

        async def opened() -> bool:
            return any(window.id not in known for window in await self._desktop.windows())

        if await self._until(opened, WINDOW_S, POLL_S):
            return PlainTextResponse("File opened successfully")
        return refusal(f"no window of {path!r} opened within {WINDOW_S:g} seconds", 500)

    async def activate_window(self, request: Request) -> Response:
        return await self._with_window(request, self._desktop.activate_window)

    async def close_window(self, request: Request) -> Response:
        return await self._with_window(request, self._desktop.close_window)

    async def _with_window(self, request: Request, work: Callable[[int], Awaitable[None]]) -> Response:
        body = await object_of(request)
        name = text_of(body, "window_name")
        found = await self._window(name, strict=bool(body.get("strict")), by_class=bool(body.get("by_class")))
        if found is None:
            return refusal(f"there is no window {name!r}", 404)
        await work(found.id)
        return PlainTextResponse("done")

    async def _window(self, name: str, *, strict: bool, by_class: bool) -> WindowInfo | None:
        for window in await self._desktop.windows():
            words = window.app if by_class else (window.title,)
            if any(name == word if strict else name.lower() in word.lower() for word in words):
                return window
        return None

    async def _until(self, holds: Callable[[], Awaitable[bool]], limit_s: float, interval_s: float) -> bool:
        end = asyncio.get_running_loop().time() + limit_s
        while not await holds():
            if asyncio.get_running_loop().time() > end:
                return False
            await asyncio.sleep(interval_s)
        return True


def osworld_app(desktop: Desktop, machine: GuestMachine) -> Starlette:
    """The application; the desktop and the machine that it is on stay their owner's to close."""
    guest = Guest(desktop, machine)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        guest.stop()

    return Starlette(routes=guest.routes(), lifespan=lifespan)


def _answering(work: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return await work(request)
        except InputError as error:
            return refusal(str(error), 400)
        except CommandFailed as error:
            return refusal(str(error), 500)
        except SandboxFailure as failure:
            return refusal(f"infrastructure: {failure}", 503)

    return answer


def _outcome(ran: Ran) -> dict[str, Any]:
    output, error = outputs(ran, MOST_OUTPUT, "replace")
    return {"output": output, "error": error, "returncode": ran.status}


def _picture(data: bytes, size: tuple[int, int]) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB").resize(size)
