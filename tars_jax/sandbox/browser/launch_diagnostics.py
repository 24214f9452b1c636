"""Why a browser failed to start: what it wrote to its standard error, in one sentence that says what helps."""

from __future__ import annotations

import re

from tars_jax.sandbox.browser.chromium_sandbox import SWITCH
from tars_jax.sandbox.browser.relay import ENDED

LONGEST = 400
WRITTEN = re.compile(r"\[pid=\d+\]\[err\] ?(.*)")  # in Playwright's log of a launch
# Chromium's log: [1125/123403.726862:ERROR:content/browser/zygote_host.cc:130] No usable sandbox!
LOGGED = re.compile(r"\[[\d/:.]+:(?P<severity>[A-Z]+)\d*:(?P<source>[^\]]*)\] ?")
# The stack of what crashed, registers included. Its first line names the signal, which may be all that there is.
STACK = re.compile(r"\s*(#\d+ |\[end of stack trace\]|Calling _exit|(?:[a-z]{2,3}|r\d+): [0-9a-f]{8,})")
# What can be done about it. The browser's words end where these begin.
REMEDIES = {
    "No usable sandbox": "allow user namespaces, or install the package chromium-sandbox (as root), or set "
    f"{SWITCH}=0, and pages run without Chromium's sandbox",
    "Running as root without --no-sandbox": f"unset {SWITCH}, or set it to 0",
    "error while loading shared libraries": "install what it needs, as root: `playwright install-deps chromium`, or "
    "`apt-get install chromium-headless-shell` for one that comes with all of it",
    "Exec format error": "take a Chromium that was built for this processor",
    "No space left on device": "free some space, or set TMPDIR to a folder that has some",
}


def launch_failure(error: Exception) -> str | None:
    """The reason that a browser gave on a failed launch, and what serves against it; None where it gave none."""
    found = [WRITTEN.search(line) for line in str(error).splitlines()]
    lines = [match[1].rstrip() for match in found if match and match[1].strip()]
    for key, remedy in REMEDIES.items():
        for line in lines:
            if key in line:
                reason = _message(line)
                return f"{reason[: reason.index(key) + len(key)] + _rest_of(reason, key)}; {remedy}"
    reasons = [line for line in lines if not _is_chatter(line) and not line.startswith(ENDED)]
    fatal = [line for line in reasons if (logged := LOGGED.match(line)) and logged["severity"] == "FATAL"]
    told = fatal[:1] or reasons[-1:] or lines[-1:]
    return _message(told[0])[:LONGEST] if told else None


def _message(line: str) -> str:
    return LOGGED.sub("", line, count=1)


def _rest_of(reason: str, key: str) -> str:
    """What follows the key in the same sentence, as the name of a library does."""
    rest = reason[reason.index(key) + len(key) :]
    return rest.split("! ")[0].split(". ")[0].rstrip(".!")[:LONGEST]


def _is_chatter(line: str) -> bool:
    """Whether a line says nothing about an end: browsers that live write such, too."""
    logged = LOGGED.match(line)
    quiet = logged and (logged["severity"] in ("INFO", "WARNING", "VERBOSE") or "dbus" in logged["source"])
    return bool(quiet or STACK.match(line))
