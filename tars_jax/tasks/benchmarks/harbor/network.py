"""Whether a script asks the internet for something, which a computer that has loopback alone cannot give."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_LOCAL = r"(?:localhost|127\.|0\.0\.0\.0|\[::1\]|\$)"
_ASKS = (
    (re.compile(r"\b(?:apk\s+add|yum\s+install|dnf\s+install|aptitude\s+install)\b"), "a package manager"),
    (re.compile(r"\bpip3?\s+(?:-\S+\s+)*(?:install|download)\b(?!.*(?:--no-index|\s\.{0,2}/|\s\.(?:\s|$)))"), "pip"),
    (re.compile(r"\buvx\b|\buv\s+(?:add|sync|tool|pip\s+install|run\s.*--with)\b"), "uv"),
    (re.compile(r"\b(?:npm\s+(?:install|ci|i)|npx|yarn\s+(?:add|install)|pnpm\s+(?:add|install))\b"), "npm"),
    (re.compile(r"\b(?:cargo\s+install|go\s+(?:install|get)|gem\s+install|conda\s+install)\b"), "a package manager"),
    (re.compile(rf"\b(?:curl|wget)\b[^|;&]*https?://(?!{_LOCAL})"), "a download"),
    (re.compile(rf"\bgit\s+(?:clone|pull|fetch)\b[^|;&]*(?:https?://(?!{_LOCAL})|git@)"), "git"),
)
# Of packages that are there already, apt asks nobody; without a network its `update` says so and ends with 0.
_APT = re.compile(r"\b(?:apt|apt-get)\s+(?:-\S+\s+)*(?:install|full-upgrade|dist-upgrade)\b([^|;&]*)")
_STATUS = Path("/var/lib/dpkg/status")


def asks_internet(text: str) -> str:
    """The line of a script that does, as "line 3, by pip"; empty: none that is known."""
    for number, line in _commands(text):
        for pattern, by in _ASKS:
            if pattern.search(line):
                return f"line {number}, by {by}"
        for words in _APT.findall(line):
            if missing := missing_packages(words.split()):
                return f"line {number}, by apt for {missing[0]}"
    return ""


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Lines with those that continue them, and the number of the first; without comments."""
    lines = iter(enumerate(text.split("\n"), 1))
    for number, line in lines:
        while line.endswith("\\"):
            line = f"{line[:-1]} {next(lines, (0, ''))[1]}"
        if not line.lstrip().startswith("#"):
            yield number, line


def missing_packages(words: Sequence[str]) -> list[str]:
    """Of an apt command's words, the packages that this machine, and so a computer, has not."""
    names = [re.split(r"[=:/]", word)[0] for word in words if not word.startswith(("-", "$", "2>", ">"))]
    return [name for name in names if name and name not in _installed()]


@functools.cache
def _installed() -> frozenset[str]:
    try:
        paragraphs = _STATUS.read_text(errors="replace").split("\n\n")
    except OSError:
        return frozenset()
    found = (re.search(r"^Package: (\S+)", each) for each in paragraphs if "\nStatus: install ok installed" in each)
    return frozenset(match[1] for match in found if match)
