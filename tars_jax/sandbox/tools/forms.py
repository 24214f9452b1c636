"""Functions that agents of others call, by their names and schemas: what a computer does for each.

execute_bash, str_replace_editor, JupyterCI, Search and LinkReader are those of the report's agent (protocols of its
public desktop application); bash and str_replace_based_edit_tool are Anthropic's. Whatever an agent writes has an
answer that it can read; only a failure of the sandbox is raised.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Function
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import RESTARTED, Result, Shell
from tars_jax.sandbox.shell.text import cut
from tars_jax.sandbox.tools.arguments import Arguments, ToolError, function
from tars_jax.sandbox.tools.editor import Editor
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.kernels import Kernel
from tars_jax.sandbox.tools.pages import Pages

BASH_TIMEOUT_S = 120.0
LONGEST_TIMEOUT_S = 3600.0
LIMIT = 30_000  # characters of an answer
KEYS = {"C-c": "\x03", "C-d": "\x04", "C-z": "\x1a", "C-\\": "\x1c"}

_TEXT = {"type": "string"}
_LINE = {"type": "integer"}
_RANGE = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}


@dataclasses.dataclass(frozen=True)
class ToolResult:
    text: str
    images: tuple[bytes, ...] = ()  # PNG
    failed: bool = False  # the call was none that could be done


def _editor(name: str, commands: Sequence[str], *, insert: str) -> Function:
    return function(
        name,
        "Shows, makes and changes text files; paths are absolute. `view` shows a file with line numbers or a folder "
        "two levels deep, `create` makes a file that is not there yet, `str_replace` changes the one place where "
        f"old_str stands, `insert` puts {insert} behind a line"
        + (", `undo_edit` takes the last change of a file back." if "undo_edit" in commands else "."),
        ("command", "path"),
        command={"type": "string", "enum": list(commands)}, path=_TEXT, file_text=_TEXT, old_str=_TEXT, new_str=_TEXT,
        insert_line=_LINE, view_range=_RANGE, **({insert: _TEXT} if insert != "new_str" else {}),
    )  # fmt: skip


EDITS = ("view", "create", "str_replace", "insert")
FUNCTIONS = {
    each.name: each
    for each in (
        function(
            "execute_bash",
            "Runs a command in a shell that keeps its state. A command that takes longer runs on: an empty command "
            "shows what it has written since, C-c interrupts it, other text is typed into it.",
            ("command",),
            command=_TEXT,
        ),
        _editor("str_replace_editor", (*EDITS, "undo_edit"), insert="new_str"),
        function(
            "JupyterCI",
            "Runs Python in a kernel that keeps its variables, and shows its output, the last value and figures.",
            ("code",),
            code=_TEXT,
            timeout={"type": "number", "description": "seconds"},
        ),
        function("Search", "Finds pages by words.", ("query",), query=_TEXT),
        function(
            "LinkReader",
            "Reads a page; `description` says what is looked for there.",
            ("url",),
            url=_TEXT,
            description=_TEXT,
        ),
        function(
            "bash",
            "Runs a command in a shell that keeps its state; `restart` begins a new one.",
            (),
            command=_TEXT,
            restart={"type": "boolean"},
        ),
        _editor("str_replace_based_edit_tool", EDITS, insert="insert_text"),
    )
}
NEEDS_PAGES = ("Search", "LinkReader")


class Toolbox:
    """The functions of one session, by name. Use as an async context manager; shells and kernels begin when called.

    Calls that come at once to one shell or kernel have their turns. Where one is taken back, what it runs is ended.
    """

    def __init__(
        self, machine: GuestMachine, names: Sequence[str], *, root: str = "/", pages: Pages | None = None,
        kernel: Kernel | None = None, longest_view: int = LIMIT, bash_timeout_s: float = BASH_TIMEOUT_S,
        shell: Callable[[GuestMachine], Shell] = Shell,
    ) -> None:  # fmt: skip
        """`pages`: what Search and LinkReader know. `longest_view`: Anthropic's max_characters.

        `shell`: what runs commands; another than bash on a terminal where the machine has none.

        Raises InputError for a name that is none of FUNCTIONS, and for functions of pages without any.
        """
        for name in names:
            if name not in FUNCTIONS:
                raise InputError(f"a function must be one of {', '.join(FUNCTIONS)}; got {name!r}")
            if name in NEEDS_PAGES and pages is None:
                raise InputError(f"pages must be given for {name}; got none")
        self.functions = tuple(FUNCTIONS[name] for name in names)
        self._pages, self._longest_view, self._bash_timeout_s = pages, longest_view, bash_timeout_s
        self._shells = {name: shell(machine) for name in names if name in ("execute_bash", "bash")}
        self._turns = {name: asyncio.Lock() for name in (*self._shells, "JupyterCI")}
        self._kernel, self._root = kernel or Kernel(machine), root
        self._editor = Editor(Files(machine, root))  # one, so that each form sees the other's changes
        self._calls: dict[str, Callable[[Mapping[str, Any]], Awaitable[ToolResult]]] = {
            "execute_bash": self._execute_bash, "bash": self._bash, "JupyterCI": self._jupyter,
            "Search": self._search, "LinkReader": self._read_link,
            "str_replace_editor": lambda given: self._edit(FUNCTIONS["str_replace_editor"], given),
            "str_replace_based_edit_tool": lambda given: self._edit(FUNCTIONS["str_replace_based_edit_tool"], given),
        }  # fmt: skip

    def snapshot(self) -> Any:
        """Snapshot of its shells, its kernel and its editor."""
        shells = {name: shell.snapshot() for name, shell in self._shells.items()}
        return {"shells": shells, "kernel": self._kernel.snapshot(), "editor": self._editor.snapshot()}

    def restored(self, machine: GuestMachine, snapshot: Mapping[str, Any]) -> Toolbox:
        """The same functions in a copy of the computer that has its programs, as a snapshot of these says."""
        names = [function.name for function in self.functions]
        other = Toolbox(
            machine, names, root=self._root, pages=self._pages, longest_view=self._longest_view,
            bash_timeout_s=self._bash_timeout_s,
        )  # fmt: skip
        other._shells = {name: Shell.restore(machine, each) for name, each in snapshot["shells"].items()}
        other._kernel = Kernel.restore(machine, snapshot["kernel"])
        other._editor = Editor.restore(Files(machine, self._root), snapshot["editor"])
        return other

    def own(self) -> set[int]:
        """Processes inside that are its shells and its kernel, and nothing that an agent has started."""
        shells = {process for shell in self._shells.values() if (process := shell.first_process) is not None}
        return shells | ({self._kernel.process} if self._kernel.process is not None else set())

    async def detach(self) -> None:
        """Nothing connects it with the inside until the next call. Raises InputError while a cell is running."""
        await self._kernel.detach()

    async def __aenter__(self) -> Toolbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        for shell in self._shells.values():
            await shell.close()
        await self._kernel.close()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Raises SandboxFailure and nothing else."""
        if name not in {function.name for function in self.functions}:
            known = ", ".join(function.name for function in self.functions)
            return ToolResult(f"a function must be one of {known}; got {name!r:.80}", failed=True)
        try:
            if name not in self._turns or _interrupts(name, arguments):
                return await self._calls[name](arguments)
            async with self._turns[name]:
                try:
                    return await self._calls[name](arguments)
                except asyncio.CancelledError:
                    await self._stop(name)
                    raise
        except InputError as error:
            return ToolResult(str(error), failed=True)

    async def _stop(self, name: str) -> None:
        with contextlib.suppress(InputError, SandboxFailure):
            if name in self._shells:
                await self._shells[name].stop()
            else:
                await self._kernel.interrupt()

    async def _execute_bash(self, given: Mapping[str, Any]) -> ToolResult:
        command = Arguments(given, ("command",)).text("command")
        shell = self._shells["execute_bash"]
        if shell.running and not command.strip():
            result = await shell.more(self._bash_timeout_s)
        elif command.strip() == "C-c":
            result = await shell.interrupt()
        elif shell.running:
            result = await shell.send(KEYS.get(command.strip(), command.rstrip("\n") + "\n"))
        elif not command.strip():
            return ToolResult("no command is running: there is no further output")
        else:
            result = await shell.run(command, self._bash_timeout_s)
        return ToolResult(_told(result, "an empty command shows more, C-c interrupts it, other text is typed into it"))

    async def _bash(self, given: Mapping[str, Any]) -> ToolResult:
        arguments = Arguments(given, ("command", "restart"))
        shell = self._shells["bash"]
        if arguments.flag("restart"):
            await shell.close()
            await shell.open()
            return ToolResult("the shell was restarted")
        result = await shell.run(arguments.text("command"), self._bash_timeout_s)
        return ToolResult(_told(result, "restart the shell to end it"))

    async def _jupyter(self, given: Mapping[str, Any]) -> ToolResult:
        arguments = Arguments(given, ("code", "timeout"))
        timeout_s = min(max(arguments.number("timeout", BASH_TIMEOUT_S), 0.1), LONGEST_TIMEOUT_S)
        ran = await self._kernel.run(arguments.text("code"), timeout_s)
        parts = [ran.output.rstrip("\n"), ran.result, ran.error.rstrip("\n")]
        if ran.images:
            parts.append(f"[{len(ran.images)} image{'s' * (len(ran.images) > 1)}]")
        if ran.timed_out:
            parts.append(f"[the cell was interrupted after {timeout_s:g} s]")
        if ran.restarted:
            parts.append("[the kernel has ended; the next call has a new one, without its variables]")
        return ToolResult("\n".join(part for part in parts if part) or "[no output]", ran.images)

    async def _search(self, given: Mapping[str, Any]) -> ToolResult:
        query = Arguments(given, ("query",)).text("query")
        assert self._pages is not None
        found = self._pages.search(query)
        texts = [f"{number}. {title}\n{url}\n{text}" for number, (url, title, text) in enumerate(found, 1)]
        return ToolResult("\n\n".join(texts) or f"nothing was found for {query!r}")

    async def _read_link(self, given: Mapping[str, Any]) -> ToolResult:
        arguments = Arguments(given, ("url", "description"))
        assert self._pages is not None
        arguments.text("description", "")
        if (page := self._pages.read(arguments.text("url"))) is None:
            raise ToolError(
                f"url must be that of a page that Search finds; there is none at {arguments.text('url')[:200]}"
            )
        return ToolResult(cut(f"{page[0]}\n\n{page[1]}", LIMIT))

    async def _edit(self, function: Function, given: Mapping[str, Any]) -> ToolResult:
        editor, properties = self._editor, function.parameters["properties"]
        arguments = Arguments(given, list(properties))
        command = arguments.one_of("command", properties["command"]["enum"])
        path = arguments.text("path")
        if not path.startswith("/"):
            raise ToolError(f"path must be absolute, such as /{path.lstrip('./')}; got {path!r:.200}")
        if command == "view":
            return ToolResult(await editor.view(path, arguments.range("view_range"), self._longest_view))
        if command == "create":
            return ToolResult(await editor.create(path, arguments.text("file_text")))
        if command == "str_replace":
            return ToolResult(await editor.str_replace(path, arguments.text("old_str"), arguments.text("new_str", "")))
        if command == "insert":
            text = arguments.text("insert_text" if "insert_text" in properties else "new_str")
            return ToolResult(await editor.insert(path, arguments.whole("insert_line"), text))
        return ToolResult(await editor.undo_edit(path))


def _interrupts(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a call is for the one that is under way, and must not wait for it."""
    return name == "execute_bash" and str(arguments.get("command")).strip() == "C-c"


def _told(result: Result, help: str) -> str:
    notes = [RESTARTED] if result.restarted else []
    if result.ended:
        notes.append(f"[the shell has ended, with exit code {result.exit_code}]")
    elif result.exit_code is None:
        notes.append(f"[the command is still running: {help}]")
    elif result.exit_code:
        notes.append(f"[exit code {result.exit_code}]")
    output = result.output.rstrip("\n")
    return "\n".join(([output] if output else []) + notes) or "[no output]"
