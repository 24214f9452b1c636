"""Chromium's own sandbox, which keeps what a page runs away from the machine: whether it is on, and what it stands on.

Chromium makes it with user namespaces, and where a user may have none with a helper that is setuid root. Root needs
neither and gets no sandbox: a Chromium refuses to make one for root.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tars_jax import InputError

SWITCH = "TARS_JAX_CHROMIUM_SANDBOX"
HELPER = Path("/usr/lib/chromium/chrome-sandbox")  # of Debian's package chromium-sandbox
HELPER_VARIABLE = "CHROME_DEVEL_SANDBOX"  # where a Chromium that has no helper beside it looks for one


def is_sandboxed() -> bool:
    """Whether browsers are to start with it: as the switch says, else for everybody but root.

    Raises InputError for a switch that is neither 0 nor 1.
    """
    value = os.environ.get(SWITCH) or ("0" if os.geteuid() == 0 else "1")
    if value not in ("0", "1"):
        raise InputError(f"{SWITCH} must be 0 or 1; got {value!r}")
    return value == "1"


def sandbox_flags() -> list[str]:
    return [] if is_sandboxed() else ["--no-sandbox"]


def sandbox_environment() -> dict[str, str]:
    """What a Chromium from elsewhere must be told to find Debian's helper. It asks for it only without namespaces."""
    if HELPER_VARIABLE in os.environ or not _is_setuid_root(HELPER):
        return {}
    return {HELPER_VARIABLE: str(HELPER)}


def _is_setuid_root(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == 0 and bool(status.st_mode & stat.S_ISUID) and os.access(path, os.X_OK)
