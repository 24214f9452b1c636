"""Commands of OSWorld's guest server inside: programs run to their end, files and folders read and written."""

from __future__ import annotations

import posixpath
import shlex
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError, naming
from tars_jax.sandbox.computer.guest_machine import GuestMachine, Ran
from tars_jax.sandbox.desktop.desktop import Desktop
from tars_jax.sandbox.tools.files import Files

MOST_OUTPUT = 16 << 20  # bytes of stdout, and of stderr
MOST_FILE = 256 << 20
DEEPEST, MOST_ENTRIES = 64, 20_000  # of a folder that is listed


class CommandFailed(Exception):
    """A command could not be run at all, or not to its end. A client of OSWorld's may ask again."""


class Commands:
    """Programs on a desktop, with its display in their environment."""

    def __init__(self, desktop: Desktop, machine: GuestMachine) -> None:
        self._desktop, self._machine, self.files = desktop, machine, Files(machine)

    def argv(self, command: Any, shell: bool) -> list[str]:
        """A request's command as a list. Raises InputError for what is none."""
        if isinstance(command, str) and command.strip():
            if shell:
                return ["sh", "-c", command]
            try:
                command = shlex.split(command)
            except ValueError as error:
                raise InputError(f"command must have closed quotes; got {command[:200]!r}") from error
        if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
            raise InputError(f"command must be a text or a list of texts; got {str(command)[:200]!r}")
        words = [self.expanded(word) for word in command]
        return ["sh", "-c", words[0], "sh", *words[1:]] if shell else words

    async def run(self, argv: list[str], *, timeout_s: float, cwd: str | None = None) -> Ran:
        """Raises CommandFailed for a program that cannot be started, or is still running after `timeout_s`."""
        try:
            with naming(argv="command", cwd="working_dir"):
                ran = await self._machine.run(
                    argv, env=self._desktop.env, cwd=cwd, timeout_s=timeout_s, limit=MOST_OUTPUT
                )  # fmt: skip
        except GuestError as error:
            if error.is_no_program:
                raise CommandFailed(str(error)) from error
            raise
        if ran.timed_out:
            raise CommandFailed(f"the command was still running after {timeout_s:g} seconds")
        return ran

    async def start(self, argv: list[str]) -> None:
        """Raises InputError for a program that cannot be started."""
        with naming(argv="command"):
            await self._desktop.launch(argv, window_s=None)

    async def read_file(self, path: str) -> bytes | None:
        """None: there is no such file, or it cannot be read."""
        try:
            found = await self.files.stat(self.expanded(path))
            if found.size > MOST_FILE:
                raise CommandFailed(f"the file is larger than {MOST_FILE} bytes, which is the most that is sent")
            return await self.files.read(self.expanded(path), 0, MOST_FILE) if found.kind == "file" else None
        except GuestError:
            return None

    async def write_file(self, path: str, data: bytes) -> None:
        """Writes a file and the folders that it lies in. Raises CommandFailed where that cannot be."""
        try:
            await self.files.write(self.expanded(path), data, folders=True)
        except GuestError as error:
            raise CommandFailed(f"{path} cannot be written: {error}") from error

    async def tree(self, path: str) -> dict[str, Any] | None:
        """A folder and what lies below it as OSWorld nests it; None where there is no such folder."""
        path = self.expanded(path)
        try:
            entries, _ = await self.files.list(path, DEEPEST, MOST_ENTRIES)
        except GuestError:
            return None
        top: dict[str, Any] = {"type": "directory", "name": posixpath.basename(path.rstrip("/")) or "/", "children": []}
        folders = {"": top}
        for entry in entries:
            parent, _, name = entry.path.rpartition("/")
            node: dict[str, Any] = {"type": "directory" if entry.kind == "folder" else "file"}
            node["name"] = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            if entry.kind == "folder":
                node["children"] = []
                folders[entry.path] = node
            folders[parent]["children"].append(node)
        return top

    def expanded(self, word: str) -> str:
        """A path that may begin with ~, the home of the inside."""
        return self._machine.home + word[1:] if word == "~" or word.startswith("~/") else word
