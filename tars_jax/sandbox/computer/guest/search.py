"""Searches files by name or by content: a program of its own, so that no pattern holds up the guest.

    python3 -I -S search.py QUERY     (JSON: the fields of `FileQuery` in ../../tools/search.py; `only`: one file)

Begins in the folder that it runs in, and writes a JSON object a line: {"path", "kind", "size", "modified"} by name,
{"path", "line", "text", "before", "after"} by content, and at last {"searched": files that were read, "more": whether
there is more than was asked for}. Links are not followed; a file with a zero byte in its beginning is no text.
"""

from __future__ import annotations

import fnmatch
import io
import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

LONGEST_LINE = 2000  # characters that are shown
LONGEST_READ = 1 << 20  # bytes of a line that are searched at once
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


def walk(query: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Paths from the folder on, in order, with their names and a descriptor of the folder that they are in."""
    if only := query.get("only"):
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        yield only, only, here
        os.close(here)
        return
    for folder, folders, files, descriptor in os.fwalk("."):
        folders[:] = sorted(each for each in folders if query["hidden"] or not each.startswith("."))
        for name in sorted(folders + files):
            path = os.path.relpath(os.path.join(folder, name), ".")
            if (query["hidden"] or not name.startswith(".")) and not excluded(path, query["exclude"]):
                yield path, name, descriptor
        if not query["deep"]:
            return


def excluded(path: str, patterns: list[str]) -> bool:
    parts = (*path.split(os.sep), path)
    return any(fnmatch.fnmatchcase(part, each) for each in patterns for part in parts)


def found(query: dict[str, Any], counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    matches = re.compile(translated(query["glob"])).fullmatch if query["glob"] else None
    pattern = compiled(query) if query["pattern"] else None
    for path, name, folder in walk(query):
        if (query["name"] and not fnmatch.fnmatchcase(name, query["name"])) or (matches and not matches(path)):
            continue
        if query["include"] and not any(fnmatch.fnmatchcase(name, each) for each in query["include"]):
            continue
        try:
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
            kind = KINDS.get(stat.S_IFMT(facts.st_mode), "other")
            if pattern is None:
                if kind != "folder" or not query["files_only"]:
                    yield {"path": path, "kind": kind, "size": facts.st_size, "modified": facts.st_mtime}
            elif kind == "file" and (not query["largest"] or facts.st_size <= query["largest"]):
                opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
                with open(opened, "rb") as file:
                    if b"\0" in file.read(8192):
                        continue
                    file.seek(0)
                    counts["searched"] += 1
                    look = across_lines if query["multiline"] else by_line
                    for each in look(file, pattern, query["before"], query["after"]):
                        yield {"path": path, **each}
        except OSError:
            continue  # it is gone, or nothing for us


def compiled(query: dict[str, Any]) -> re.Pattern[str]:
    text = re.escape(query["pattern"]) if query["literal"] else query["pattern"]
    across = re.MULTILINE | re.DOTALL if query["multiline"] else 0
    return re.compile(text, across | (re.IGNORECASE if query["ignore_case"] else 0))


def translated(pattern: str) -> str:
    """A glob in which ** stands for any number of folders."""
    out = ""
    for piece in re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern):
        if piece == "**/":
            out += r"(?:[^/]+/)*"
        elif piece == "**":
            out += ".*"
        elif piece == "*":
            out += "[^/]*"
        elif piece == "?":
            out += "[^/]"
        elif piece.startswith("[") and piece.endswith("]"):
            out += "[^" + piece[2:] if piece[1] in "!^" else piece
        else:
            out += re.escape(piece)
    return out


def by_line(file: io.BufferedIOBase, pattern: re.Pattern[str], before: int, after: int) -> Iterator[dict[str, Any]]:
    """Line by line, so that a file may be of any size."""
    number, earlier, waiting = 1, deque[str](maxlen=before), deque[dict[str, Any]]()
    for piece in iter(lambda: file.readline(LONGEST_READ), b""):
        text = piece.rstrip(b"\r\n").decode(errors="replace")
        shown = text[:LONGEST_LINE]
        for match in waiting:
            match["after"].append(shown)
        while waiting and len(waiting[0]["after"]) == after:
            yield waiting.popleft()
        if pattern.search(text):
            waiting.append({"line": number, "text": shown, "before": list(earlier), "after": []})
            if not after:
                yield waiting.popleft()
        earlier.append(shown)
        number += piece.endswith(b"\n")
    yield from waiting


def across_lines(
    file: io.BufferedIOBase, pattern: re.Pattern[str], before: int, after: int
) -> Iterator[dict[str, Any]]:
    """The whole text at once; a match is told by the line that it begins in."""
    text = file.read().decode(errors="replace")
    lines = [line[:LONGEST_LINE] for line in text.split("\n")]
    for match in pattern.finditer(text):
        at = text.count("\n", 0, match.start())
        yield {
            "line": at + 1, "text": lines[at], "before": lines[max(at - before, 0) : at],
            "after": lines[at + 1 : at + 1 + after],
        }  # fmt: skip


def main(query: dict[str, Any]) -> None:
    counts, more = {"searched": 0}, False
    first, behind = query["offset"], query["offset"] + query["limit"]
    for number, each in enumerate(found(query, counts)):
        if number >= behind:
            more = True
            break
        if number >= first:
            print(json.dumps(each))
    print(json.dumps({"searched": counts["searched"], "more": more}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
