"""Searches files by name or by content: a program of its own, so that no pattern holds up the guest.

    python3 -I -S search.py FOLDER ARGUMENTS     (JSON: name, pattern, literal, limit)

Writes a JSON object a line: {"path", "kind", "size"} by name, {"path", "line", "text"} by content. Links are not
followed; files that hold a zero byte at their beginning are no text.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys
from collections.abc import Iterator

LONGEST_LINE = 500  # characters that are shown
LARGEST_FILE = 64 << 20  # bytes; the rest of a larger one is not searched


def found(start: str, name: str, pattern: re.Pattern[bytes] | None) -> Iterator[dict[str, object]]:
    for folder, folders, files, descriptor in os.fwalk(start):
        folders.sort()
        for each in sorted(files if pattern else files + folders):
            if name and not fnmatch.fnmatchcase(each, name):
                continue
            path = os.path.relpath(os.path.join(folder, each), start)
            try:
                facts = os.stat(each, dir_fd=descriptor, follow_symlinks=False)
                if pattern is None:
                    kind = (
                        "folder" if stat.S_ISDIR(facts.st_mode) else "link" if stat.S_ISLNK(facts.st_mode) else "file"
                    )
                    yield {"path": path, "kind": kind, "size": facts.st_size}
                elif stat.S_ISREG(facts.st_mode):
                    opened = os.open(each, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
                    for number, text in lines(opened, pattern):
                        yield {"path": path, "line": number, "text": text}
            except OSError:
                continue  # it is gone, or nothing for us


def lines(opened: int, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
    with open(opened, "rb") as file:
        if b"\0" in file.read(8192):
            return
        file.seek(0)
        read = 0
        for number, line in enumerate(iter(lambda: file.readline(1 << 20), b""), 1):
            read += len(line)
            if pattern.search(line):
                yield number, line.rstrip(b"\r\n").decode(errors="replace")[:LONGEST_LINE]
            if read > LARGEST_FILE:
                return


def main(start: str, arguments: dict[str, object]) -> None:
    pattern = None
    if wanted := str(arguments.get("pattern") or ""):
        text = os.fsencode(wanted)
        pattern = re.compile(re.escape(text) if arguments.get("literal") else text)
    limit = int(str(arguments["limit"]))
    for count, each in enumerate(found(start, str(arguments.get("name") or ""), pattern), 1):
        print(json.dumps(each))
        if count >= limit:
            break


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
