"""Searches files inside a computer: a program of its own, so that no pattern of a client holds anybody else up.

    python3 -I -S -c PROGRAM ARGUMENTS     (JSON: kind and what it takes)

Writes a JSON object a line, and at last {"searched", "more"}: how many files were read, and whether there is more than
was asked for. Links are not followed; a file that has a zero byte in its beginning is no text.
"""

import fnmatch
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

LONGEST_LINE = 2000  # characters that are shown
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def walk(start: str, hidden: bool, deep: bool) -> Iterator[tuple[str, bool]]:
    """Paths below a folder and whether they are folders, in order; of a file, itself."""
    if not os.path.isdir(start):
        yield start, False
        return
    for folder, folders, files in os.walk(start):
        folders[:] = sorted(each for each in folders if hidden or not each.startswith("."))
        for name in sorted(folders + files):
            if hidden or not name.startswith("."):
                path = os.path.join(folder, name)
                yield path, name in folders and not os.path.islink(path)
        if not deep:
            return


def excluded(path: str, start: str, patterns: list[str]) -> bool:
    parts = os.path.relpath(path, start).split(os.sep)
    whole = "/".join(parts)
    return any(fnmatch.fnmatch(part, each) for each in patterns for part in (*parts, whole))


def globbed(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    start = given["path"]
    if not os.path.isdir(start):
        raise OSError(f"{start}: it is no folder")
    matches = re.compile(translated(given["pattern"])).fullmatch
    for path, folder in walk(start, given.get("hidden", False), True):
        relative = os.path.relpath(path, start)
        if not matches(relative) or excluded(path, start, given.get("exclude") or []):
            continue
        if folder and given.get("files_only", True):
            continue
        found = os.lstat(path)
        yield {
            "path": path, "name": os.path.basename(path), "is_directory": folder, "size": found.st_size,
            "modified": found.st_mtime,
        }  # fmt: skip


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


def grepped(given: dict[str, Any], counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    text = re.escape(given["pattern"]) if given.get("fixed") else given["pattern"]
    flags = (re.IGNORECASE if given.get("ignore_case") else 0) | (re.MULTILINE | re.DOTALL) * bool(
        given.get("multiline")
    )
    pattern = re.compile(text, flags)
    start, include = given["path"], given.get("include") or []
    os.stat(start)
    most = size(given.get("max_file_size") or "64M")
    for path, folder in walk(start, True, given.get("recursive", True)):
        if folder or excluded(path, start, given.get("exclude") or []):
            continue
        if include and not any(fnmatch.fnmatch(os.path.basename(path), each) for each in include):
            continue
        if (read := text_of(path, most)) is not None:
            counts["searched"] += 1
            yield from matches(path, read, pattern, given)


def matches(path: str, text: str, pattern: "re.Pattern[str]", given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    lines = text.split("\n")
    if given.get("multiline"):
        numbers = [text.count("\n", 0, found.start()) for found in pattern.finditer(text)]
    else:
        numbers = [number for number, line in enumerate(lines) if pattern.search(line)]
    before, after = given.get("before") or 0, given.get("after") or 0
    for number in numbers:
        cut = [line[:LONGEST_LINE] for line in lines[max(number - before, 0) : number + 1 + after]]
        here = min(number, before)
        yield {
            "file": path, "line_number": number + 1, "line_content": cut[here], "context_before": cut[:here],
            "context_after": cut[here + 1 :],
        }  # fmt: skip


def text_of(path: str, most: int) -> "str | None":
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(opened, "rb") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return None
        data = file.read(most)
    return None if b"\0" in data[:8192] else data.decode(errors="replace")


def size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)B?", text.strip().upper())
    if not match:
        raise ValueError(f"max_file_size must be as 500K or 1M; got {text!r:.40}")
    return int(match[1]) * UNITS[match[2]]


def main(given: dict[str, Any]) -> None:
    counts = {"searched": 0}
    found = globbed(given) if given["kind"] == "glob" else grepped(given, counts)
    more = False
    try:
        for number, each in enumerate(found):
            if number < given.get("offset", 0):
                continue
            if number >= given.get("offset", 0) + given["limit"]:
                more = True
                break
            print(json.dumps(each))
    except (OSError, ValueError, re.error) as error:
        print(json.dumps({"error": str(error)}))
        return
    print(json.dumps({"searched": counts["searched"], "more": more}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
