"""The editor that agents of others know: `str_replace_editor`, and Anthropic's `str_replace_based_edit_tool`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.sandbox.tools.arguments import ToolError
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.replacing import Which, with_ends

CONTEXT = 4  # lines around a change that are shown
LONGEST_VIEW = 30_000  # characters
MOST_UNDO = 20  # changes of one file that can be taken back
CUT = "\n[... cut here: name the lines by view_range ...]"


class Editor:
    """Its answers are text. Raises ToolError, and GuestError for what the files do not allow."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._undo: dict[str, list[str | None]] = {}  # texts before each change; None: there was no file

    def snapshot(self) -> Any:
        """What can be taken back."""
        return {path: list(texts) for path, texts in self._undo.items()}

    @classmethod
    def restore(cls, files: Files, snapshot: Mapping[str, Sequence[str | None]]) -> Editor:
        editor = cls(files)
        editor._undo = {path: list(texts) for path, texts in snapshot.items()}
        return editor

    async def view(self, path: str, view_range: list[int] | None = None, longest: int = LONGEST_VIEW) -> str:
        """A file with the numbers of its lines, or the two upper levels of a folder."""
        if (await self._files.stat(path)).kind == "folder":
            if view_range:
                raise ToolError(f"view_range must be left out for a folder; {path} is one")
            return await self._folder(path)
        first, last = view_range or (1, -1)
        shown = await self._files.lines(path, first, last, limit=4 * longest)
        if view_range:
            if not 1 <= first <= max(shown.lines, 1):
                raise ToolError(f"view_range must begin at 1 to {shown.lines}, the lines of {path}; got {view_range}")
            if last != -1 and (last < first or last > shown.lines):
                raise ToolError(f"view_range must end at {first} to {shown.lines}, or at -1; got {view_range}")
        if "\0" in shown.text:
            return f"{path} is no text: it has {shown.size:,} bytes"
        return f"The lines of {path} with their numbers:\n{_numbered(shown.text, first, longest, shown.whole)}"

    async def _folder(self, path: str) -> str:
        entries, whole = await self._files.list(path, depth=2)
        shown = [each for each in entries if not any(name.startswith(".") for name in each.path.split("/"))]
        lines = [f"{path.rstrip('/')}/{each.path}{'/' if each.kind == 'folder' else ''}" for each in shown]
        hidden = len([each for each in entries if "/" not in each.path]) - len([x for x in shown if "/" not in x.path])
        text = "\n".join([f"Files and folders in {path}, two levels deep, without hidden ones:", path, *lines])
        text = text if len(text) <= LONGEST_VIEW else text[: text.rfind("\n", 0, LONGEST_VIEW)] + "\n[... cut here ...]"
        text += "" if whole else "\n[... and more ...]"
        return text + (f"\n{hidden} hidden entries are not shown." if hidden else "")

    async def create(self, path: str, text: str, *, replace: bool = False) -> str:
        """With the folders above it. Where a file is, it is refused, but for `replace`."""
        before = None
        if await self._files.exists(path):
            if (await self._files.stat(path)).kind == "folder":
                raise ToolError(f"{path} is a folder")
            if not replace:
                raise ToolError(f"there is a file at {path} already: create makes new ones only")
            before = (await self._files.read(path)).decode(errors="replace")
        await self._files.write(path, _encoded(text), new=not replace, folders=True)
        self._remember(path, before)
        return f"{path} was written"

    async def str_replace(self, path: str, old: str, new: str, which: Which = "one") -> str:
        if old == new:
            raise ToolError("new_str must differ from old_str; both are the same")
        edit, replacement = await self._files.replace(path, old, new, which, name="old_str")
        self._remember(path, edit.before)
        return self._shown(path, edit.after, replacement.line, new.count("\n"))

    async def insert(self, path: str, line: int, text: str) -> str:
        """Behind a line; behind line 0, at the beginning."""

        def change(before: str) -> str:
            lines = _kept_ends(before)
            if not 0 <= line <= len(lines):
                raise ToolError(f"insert_line must be 0 to {len(lines)}, the lines of {path}; got {line}")
            added = text if text.endswith("\n") or line == len(lines) else text + "\n"
            if line and line == len(lines) and not lines[-1].endswith("\n"):
                added = "\n" + added
            added = with_ends(added, before, sum(map(len, lines[: max(line - 1, 0)])))
            return "".join([*lines[:line], added, *lines[line:]])

        edit = await self._files.edit(path, change)
        self._remember(path, edit.before)
        return self._shown(path, edit.after, line + 1, text.count("\n"))

    async def undo_edit(self, path: str) -> str:
        """The last change that was made here is taken back."""
        if not (before := self._undo.get(path)):
            raise ToolError(f"there is no change of {path} to be undone")
        text = before[-1]
        if text is None:
            await self._files.remove(path)
        else:
            await self._files.write(path, text.encode())
        before.pop()
        return f"the last change of {path} was undone" + (": there is no such file now" if text is None else "")

    def _remember(self, path: str, before: str | None) -> None:
        texts = self._undo.setdefault(path, [])
        texts.append(before)
        del texts[:-MOST_UNDO]

    @staticmethod
    def _shown(path: str, text: str, line: int, lines: int) -> str:
        first = max(line - CONTEXT, 1)
        around = "\n".join(text.split("\n")[first - 1 : line + lines + CONTEXT])
        return f"{path} was changed. It reads there:\n{_numbered(around, first, LONGEST_VIEW, True)}"


def _numbered(text: str, first: int, longest: int, whole: bool) -> str:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    shown = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))
    if len(shown) <= longest and whole:
        return shown
    return shown[: shown.rfind("\n", 0, longest) if "\n" in shown[:longest] else longest] + CUT


def _kept_ends(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError("file_text must have a UTF-8 form; it has half of a surrogate pair") from None
