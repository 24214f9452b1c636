"""Images that a Dockerfile may begin with here: those that are this machine's own Debian and Python by another name.

`near`: also those that these can stand in for as long as nobody asks for versions: other versions of both, and Ubuntu.
"""

from __future__ import annotations

import functools
import platform
import re
import subprocess
from collections.abc import Mapping

from tars_jax.sandbox.computer.contained_guest import guest_python

_NAME = re.compile(r"(?:docker\.io/)?(?:library/)?(debian|python)(?::([\w.-]+))?(?:@sha256:[0-9a-f]{64})?")
_NEAR = re.compile(
    r"(?:docker\.io/)?(?:library/)?(debian|python|ubuntu|buildpack-deps)(?::(?!alpine|.*-alpine|.*windows)[\w.-]+)?(?:@.*)?"
)
_VARIANTS = frozenset(("slim", "backports"))


@functools.cache
def machine() -> tuple[str, str, str]:
    """Debian's version and code name here, and Python's version; empty where this is no Debian."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    python = guest_python()[0]
    told = subprocess.run([python, "-I", "-S", "-V"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    is_debian = release.get("ID") == "debian"
    debian = (release.get("VERSION_ID", ""), release.get("VERSION_CODENAME", "")) if is_debian else ("", "")
    return *debian, told.removeprefix("Python ").strip()


def why_not(image: str, near: bool = False) -> str:
    """The reason why computers cannot stand in for an image; empty: they can. A tag without a version is this
    machine's."""
    version, codename, python = machine()
    if near and version and _NEAR.fullmatch(image):
        return ""
    own = f"{f'Debian {version} ({codename})' if version else 'no Debian'} with Python {python}"
    matched = _NAME.fullmatch(image)
    if matched is None:
        return f"FROM must be debian or python, as computers show this machine's own programs; got {image!r}"
    words = (matched[2] or "").split("-")
    named = [word for word in words if word not in _VARIANTS and word and word != codename]
    if matched[1] == "debian":
        fits = bool(version) and all(re.fullmatch(rf"{re.escape(version)}(\.\d+)?|latest", word) for word in named)
    else:
        major, minor = python.split(".")[:2]
        fits = all(re.fullmatch(rf"{major}(\.{minor}(\.\d+)?)?", word) for word in named) and bool(named)
    return "" if fits else f"FROM must be of this machine's versions, {own}; got {image!r}"


def variables(image: str) -> Mapping[str, str]:
    """Environment variables that the image sets for its programs."""
    matched = _NEAR.fullmatch(image)
    if matched is not None and matched[1] == "python":  # whose pip installs for the whole system
        return {"PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    return {}
