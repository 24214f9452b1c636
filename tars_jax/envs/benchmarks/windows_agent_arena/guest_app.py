"""WindowsAgentArena's guest server in front of a bare guest (launch/windows_guest.py): its routes, as far as they go.

Answers have that server's shapes. On a guest that is not Windows, which is there to try things, paths of the
benchmark's user (C:\\Users\\Docker) are below the guest's home folder.
"""

from __future__ import annotations

import asyncio
import io
import posixpath
import shlex
from collections.abc import Awaitable, Callable
from typing import Any

from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tars_jax import InputError
from tars_jax.sandbox.computer.equipped.remote_guest import RemoteGuest
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.desktop.osworld.bodies import form_of, object_of, refusal, text_of
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.files import Files

COMMAND_S = 120.0
USER_HOME = "c:/users/docker"
WINDOWS = "win32"
# $0 of each is a path. Not run on Windows yet.
OPEN = "Start-Process -FilePath $args[0]"
RECYCLE = (
    "Add-Type -AssemblyName Microsoft.VisualBasic; [Microsoft.VisualBasic.FileIO.FileSystem]::DeleteFile($args[0], "
    "'OnlyErrorDialogs', 'SendToRecycleBin')"
)
ACTIVATE = "if (-not (New-Object -ComObject WScript.Shell).AppActivate($args[0])) { exit 1 }"
CLOSE = (
    "$found = Get-Process | Where-Object { $_.MainWindowTitle -like ('*' + $args[0] + '*') }; "
    "if (-not $found) { exit 1 }; $found | ForEach-Object { [void]$_.CloseMainWindow() }"
)
MINIMIZE = "(New-Object -ComObject Shell.Application).MinimizeAll()"
Work = Callable[[Request], Awaitable[Response]]


class _Guest:
    def __init__(self, remote: RemoteGuest, system: str) -> None:
        self._remote, self._system = remote, system
        self._machine, self._files = remote.machine, Files(remote.machine)

    def routes(self) -> list[Route]:
        gets: dict[str, Work] = {"probe": self.probe, "platform": self.platform, "screenshot": self.screenshot}
        posts: dict[str, Work] = {
            "execute": self.execute, "setup/execute": self.execute, "setup/launch": self.launch, "file": self.file,
            "setup/upload": self.upload, "setup/create_folder": self.create_folder, "setup/recycle": self.recycle,
            "setup/open_file": self.open_file, "setup/activate_window": self.activate_window,
            "setup/close_window": self.close_window, "setup/close_all": self.close_all,
            "desktop_path": self.desktop_path, "documents_path": self.documents_path,
            "file_exists": self.file_exists, "folder_exists": self.folder_exists,
            "list_directory": self.list_directory, "screen_size": self.screen_size,
        }  # fmt: skip
        return [
            *(Route(f"/{path}", _answering(work), methods=["GET"]) for path, work in gets.items()),
            *(Route(f"/{path}", _answering(work), methods=["POST"]) for path, work in posts.items()),
        ]

    async def probe(self, request: Request) -> Response:
        return JSONResponse({"status": "Probe successful", "message": "Service is operational"})

    async def platform(self, request: Request) -> Response:
        return PlainTextResponse("Windows" if self._system == WINDOWS else "Linux")

    async def screenshot(self, request: Request) -> Response:
        shown = await self._remote.screenshot()
        buffer = io.BytesIO()
        await asyncio.to_thread(Image.fromarray(shown.pixels).save, buffer, "PNG", compress_level=1)
        return Response(buffer.getvalue(), media_type="image/png")

    async def screen_size(self, request: Request) -> Response:
        width, height = (await self._remote.screenshot()).size
        return JSONResponse({"width": width, "height": height})

    # ---- programs

    async def execute(self, request: Request) -> Response:
        body = await object_of(request)
        ran = await self._machine.run(self._argv(body), timeout_s=COMMAND_S)
        if ran.timed_out:
            return refusal(f"the command was still running after {COMMAND_S:g} seconds", 500)
        said = {"output": ran.stdout, "error": ran.stderr}
        return JSONResponse(
            {"status": "success", "returncode": ran.status}
            | {name: data.decode("utf-8", "replace") for name, data in said.items()}
        )

    async def launch(self, request: Request) -> Response:
        await self._machine.start(self._argv(await object_of(request)))
        return PlainTextResponse("launched successfully")

    def _argv(self, body: dict[str, Any]) -> list[str]:
        command, shell = body.get("command"), bool(body.get("shell"))
        windows = self._system == WINDOWS
        if isinstance(command, str) and command.strip():
            if shell:
                return ["cmd", "/c", command] if windows else ["sh", "-c", command]
            command = shlex.split(command, posix=not windows)
        if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
            raise InputError(f"command must be a text or a list of texts; got {str(command)[:200]!r}")
        if command[0] in ("python", "python3"):
            return [self._machine.python, *command[1:]]
        if windows and (shell or command[0] == "start"):  # which is a word of the shell's
            return ["cmd", "/c", *command]
        return command

    async def _powershell(self, script: str, argument: str = "") -> int | None:
        """Its exit status. Raises InputError where there is none."""
        if self._system != WINDOWS:
            raise InputError("the guest must be Windows for this")
        argv = ["powershell", "-NoProfile", "-Command", f"& {{ {script} }}", argument]
        return (await self._machine.run(argv, timeout_s=60.0)).status

    async def open_file(self, request: Request) -> Response:
        path = self._path(text_of(await object_of(request), "path"))
        if self._system == WINDOWS:
            return await self._by(OPEN, path, 500)
        await self._machine.start(["start", path])
        return PlainTextResponse("File opened successfully")

    async def recycle(self, request: Request) -> Response:
        return await self._by(RECYCLE, self._path(text_of(await object_of(request), "path")), 500)

    async def activate_window(self, request: Request) -> Response:
        return await self._by(ACTIVATE, text_of(await object_of(request), "window_name"), 404)

    async def close_window(self, request: Request) -> Response:
        return await self._by(CLOSE, text_of(await object_of(request), "window_name"), 404)

    async def close_all(self, request: Request) -> Response:
        return await self._by(MINIMIZE, "", 500)

    async def _by(self, script: str, argument: str, failed: int) -> Response:
        status = await self._powershell(script, argument)
        return PlainTextResponse("done") if status == 0 else refusal(f"it ended with {status}", failed)

    # ---- files

    async def file(self, request: Request) -> Response:
        path = self._path((await form_of(request)).get("file_path", b"").decode("utf-8", "replace"))
        if not await self._files.exists(path):
            return refusal(f"there is no file {path!r}", 404)
        return Response(await self._files.read(path), media_type="application/octet-stream")

    async def upload(self, request: Request) -> Response:
        form = await form_of(request)
        if not form.get("file_path") or "file_data" not in form:
            raise InputError("file_path and file_data must be there")
        path = self._path(form["file_path"].decode("utf-8", "replace"))
        await self._files.make_folder(_parent(path))
        await self._files.write(path, form["file_data"])
        return PlainTextResponse("File Uploaded")

    async def create_folder(self, request: Request) -> Response:
        await self._files.make_folder(self._path(text_of(await object_of(request), "path")))
        return PlainTextResponse("Folder created")

    async def desktop_path(self, request: Request) -> Response:
        return JSONResponse({"desktop_path": self._of_user("Desktop")})

    async def documents_path(self, request: Request) -> Response:
        return JSONResponse({"documents_path": self._of_user("Documents")})

    async def file_exists(self, request: Request) -> Response:
        return await self._is_there(await object_of(request), "file_name", "file")

    async def folder_exists(self, request: Request) -> Response:
        return await self._is_there(await object_of(request), "folder_name", "folder")

    async def _is_there(self, body: dict[str, Any], name: str, kind: str) -> Response:
        path = self._path(f"{text_of(body, 'path')}/{text_of(body, name)}")
        there = await self._files.exists(path) and (await self._files.stat(path)).kind == kind
        return JSONResponse({"status": "success"}) if there else refusal(f"there is no {kind} {path!r}", 404)

    async def list_directory(self, request: Request) -> Response:
        path = self._path(text_of(await object_of(request), "path"))
        if not await self._files.exists(path):
            return refusal(f"there is no folder {path!r}", 404)
        entries, _ = await self._files.list(path, 8, 20_000)
        top: dict[str, Any] = {"type": "directory", "name": posixpath.basename(path), "children": []}
        folders = {"": top}
        for entry in sorted(entries, key=lambda each: each.path):
            parent, _, last = entry.path.replace("\\", "/").rpartition("/")
            node: dict[str, Any] = {"type": "directory" if entry.kind == "folder" else "file", "name": last}
            if entry.kind == "folder":
                folders[entry.path] = node | {"children": []}
                node = folders[entry.path]
            folders.get(parent, top)["children"].append(node)
        return JSONResponse({"directory_tree": top})

    def _of_user(self, folder: str) -> str:
        return f"C:\\Users\\Docker\\{folder}" if self._system == WINDOWS else f"{self._machine.home}/{folder}"

    def _path(self, path: str) -> str:
        """As the guest has it. Raises InputError for none."""
        if not path:
            raise InputError("a path must be there")
        if self._system == WINDOWS:
            return path
        plain = path.replace("\\", "/")
        if plain.lower().startswith(USER_HOME):
            return posixpath.normpath(self._machine.home + plain[len(USER_HOME) :])
        return plain


def guest_app(remote: RemoteGuest, system: str) -> Starlette:
    """`system`: of the guest, as its hello says it."""
    return Starlette(routes=_Guest(remote, system).routes())


def _answering(work: Work) -> Work:
    async def answer(request: Request) -> Response:
        try:
            return await work(request)
        except SandboxFailure as failure:
            return refusal(f"infrastructure: {failure}", 503)
        except (InputError, GuestError) as error:
            return refusal(str(error), 500)

    return answer


def _parent(path: str) -> str:
    return path[: max(path.rfind("/"), path.rfind("\\"), 1)]
