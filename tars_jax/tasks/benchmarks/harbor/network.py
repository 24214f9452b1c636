"""Whether a script asks the internet for something, which a computer that has loopback alone cannot give."""

from __future__ import annotations

import re

_LOCAL = r"(?:localhost|127\.|0\.0\.0\.0|\[::1\]|\$)"
_ASKS = (
    (re.compile(r"\b(?:apt|apt-get|aptitude)\s+(?:-\S+\s+)*(?:update|install|upgrade)\b"), "apt"),
    (re.compile(r"\b(?:apk\s+add|yum\s+install|dnf\s+install)\b"), "a package manager"),
    (re.compile(r"\bpip3?\s+(?:-\S+\s+)*(?:install|download)\b(?!.*(?:--no-index|\s\.{0,2}/|\s\.(?:\s|$)))"), "pip"),
    (re.compile(r"\buvx\b|\buv\s+(?:add|sync|tool|pip\s+install|run\s.*--with)\b"), "uv"),
    (re.compile(r"\b(?:npm\s+(?:install|ci|i)|npx|yarn\s+(?:add|install)|pnpm\s+(?:add|install))\b"), "npm"),
    (re.compile(r"\b(?:cargo\s+install|go\s+(?:install|get)|gem\s+install|conda\s+install)\b"), "a package manager"),
    (re.compile(rf"\b(?:curl|wget)\b[^|;&]*https?://(?!{_LOCAL})"), "a download"),
    (re.compile(rf"\bgit\s+(?:clone|pull|fetch)\b[^|;&]*(?:https?://(?!{_LOCAL})|git@)"), "git"),
)  # fmt: skip


def asks_internet(text: str) -> str:
    """The line of a script that does, as "line 3, by pip"; empty: none that is known."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for pattern, by in _ASKS:
            if pattern.search(line):
                return f"line {number}, by {by}"
    return ""
