"""Needs of a container's root to install Debian's packages: sources, folders, and the users that packages name.

A layer over the base (root.py) of such containers alone. dpkg's own database comes from this machine, whose programs
these are (launcher/filesystem.py). Nothing of /etc/apt is shown, as there may be passwords in it.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from tars_jax.sandbox.computer.root import names
from tars_jax.sandbox.computer.spec import USER_ID

DATABASE = "/var/lib/dpkg"
MASTERS = {"etc/passwd": "passwd.master", "etc/group": "group.master"}  # of every Debian
_FOLDERS = (
    "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "etc/apt/trusted.gpg.d",
    "var/cache/apt/archives/partial", "var/lib/apt/lists/partial", "var/log/apt", DATABASE[1:],
)  # fmt: skip
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_FIRST = 600  # of users and groups that the database names and Debian does not number


def make_base_of_root(folder: Path) -> None:
    """Fills a folder with the layer; without sources where this machine is no Debian."""
    for name in ("", *_FOLDERS):
        (folder / name).mkdir(parents=True)
    for name, text in known_names().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "etc/apt/sources.list").write_text(sources())
    # No user but root can be had here, nor a name be resolved: whoever reaches hosts does so by http_proxy.
    (folder / "etc/apt/apt.conf.d/10computer").write_text('APT::Sandbox::User "root";\nAcquire::Languages "none";\n')


def sources() -> str:
    """Debian's own, of this machine's version."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    if release.get("ID") != "debian" or not (name := release.get("VERSION_CODENAME")):
        return ""
    archive = os.environ.get("TARS_JAX_DEBIAN", "http://deb.debian.org/debian")
    lines = [f"{archive} {name} main", f"{archive} {name}-updates main", f"{archive}-security {name}-security main"]
    return "".join(f"deb [signed-by={_KEYS}] {line}\n" for line in lines)


def known_names() -> dict[str, str]:
    """Files of the users and groups that Debian has everywhere, and that this machine's packages name."""
    found = dict(names(USER_ID))
    for name, master in MASTERS.items():
        known = {line.partition(":")[0] for line in found[name].splitlines()}
        text = _read(f"/usr/share/base-passwd/{master}")
        fresh = [line for line in text.splitlines() if line and line.partition(":")[0] not in known]
        found[name] += "".join(f"{line.replace(':*:', ':x:', 1)}\n" for line in fresh)
    overrides = [line.split() for line in _read(f"{DATABASE}/statoverride").splitlines()]
    for number, (user, group) in enumerate([(words[0], words[1]) for words in overrides if len(words) > 3], _FIRST):
        if f"\n{user}:" not in f"\n{found['etc/passwd']}":
            found["etc/passwd"] += f"{user}:x:{number}:{number}::/nonexistent:/usr/sbin/nologin\n"
        if f"\n{group}:" not in f"\n{found['etc/group']}":
            found["etc/group"] += f"{group}:x:{number}:\n"
    return found


def _read(path: str) -> str:
    """Empty where there is none."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
