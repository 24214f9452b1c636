"""Root folder of a container: this machine's programs and their settings, and nothing that belongs to anybody.

The root is an overlay. Its lowest layer, the base, is a folder that `make_base` fills: empty folders, an agent's home,
and a copy of those files of /etc that everybody may read, without what names this machine, its users or its
registries. Over it lie read-only views of the folders of `SYSTEM`. /root, /home, /mnt, /srv, /opt, /tmp, /run, /var and
all others of the host are not there.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection
from pathlib import Path

from tars_jax.sandbox.computer.spec import HOME, OTHER_HOME, PROGRAMS, USER, USER_ID, ContainerSpec
from tars_jax.sandbox.computer.walking import Sought, find

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/cache/fontconfig", "/var/lib/xkb")
# Of /etc, what holds secrets or names, also where the host's rights would let everybody read it.
_PRIVATE = frozenset((
    "apt", "cron.d", "cron.daily", "cron.hourly", "cron.monthly", "cron.weekly", "crontab", "docker", "environment",
    "environment.d", "fstab", "gitconfig", "group", "group-", "gshadow", "gshadow-", "hostname", "hosts", "init.d",
    "issue", "kubernetes", "krb5.conf", "krb5.keytab", "machine-id", "motd", "mtab", "netrc", "network", "npmrc",
    "opasswd", "passwd", "passwd-", "pip.conf", "profile.d", "resolv.conf", "shadow", "shadow-", "ssh", "subgid",
    "subuid", "sudo.conf", "sudoers", "sudoers.d", "sysconfig", "systemd", "udev", "wgetrc", "wireguard",
))  # fmt: skip
_LARGEST = 4 << 20  # bytes of a file of /etc that is copied
_FOLDERS = {
    "dev": 0o755, "etc": 0o755, "home": 0o755, "mnt": 0o755, "opt": 0o755, "proc": 0o555, "root": 0o755, "run": 0o755,
    "opt/bin": 0o755, "srv": 0o755, "sys": 0o555, "tmp": 0o1777,
    "var": 0o755, "var/cache": 0o755, "var/lib": 0o755, "var/log": 0o755,
    "var/tmp": 0o1777, "run/agent": 0o755, "run/guest": 0o700, "run/user": 0o755, "home/agent": 0o755,
    "tmp/.X11-unix": 0o1777, "tmp/.ICE-unix": 0o1777,
}  # fmt: skip
HOMES = (HOME[1:], "run/agent")  # folders of the agent's own
_WRITTEN = {
    "etc/hosts": "127.0.0.1 localhost computer\n::1 localhost\n",
    "etc/hostname": "computer\n",
    "etc/resolv.conf": "",
    "etc/machine-id": "0" * 31 + "1\n",
}


def system_folders() -> tuple[list[str], dict[str, str]]:
    """The folders of `SYSTEM` that are there, and those that are links, with their targets."""
    folders = [path for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path)]
    return folders, {path: os.readlink(path) for path in SYSTEM if os.path.islink(path)}


def not_sought(spec: ContainerSpec) -> list[str]:
    """Paths below the root in which programs inside can leave nothing."""
    folders, _ = system_folders()
    return [path[1:] for path in (*folders, "/proc", "/sys", *spec.binds)]


def find_inside(root: int, spec: ContainerSpec, seeking: Collection[Sought]) -> list[str]:
    """`Container.find` below a root (a descriptor)."""
    top = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    return [f"/{path}" for path in find(top, seeking, not_sought(spec))]


def names(user: int) -> dict[str, str]:
    """The files that say who the agent is."""
    return {
        "etc/passwd": f"root:x:0:0:root:/root:/bin/sh\n{USER}:x:{user}:{user}:{USER}:{HOME}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "etc/group": f"root:x:0:\ntty:x:5:\n{USER}:x:{user}:\nnogroup:x:65534:\n",
    }


def make_base(base: Path) -> None:
    """Fills a folder with the lowest layer. Some hundred files, less than a second."""
    base.mkdir(mode=0o755)
    for name, mode in _FOLDERS.items():
        (base / name).mkdir(exist_ok=True)
        (base / name).chmod(mode)
    folders, links = system_folders()
    for path in folders:
        (base / path[1:]).mkdir(parents=True, exist_ok=True)
    for path, target in links.items():
        (base / path[1:]).symlink_to(target)
    _copy_public("/etc", base / "etc", _PRIVATE)
    (base / PROGRAMS[1:] / "python").symlink_to("/usr/bin/python3")
    (base / OTHER_HOME[1:]).symlink_to(HOME)
    (base / "run/user/1000").symlink_to("/run/agent")  # where the tasks of OSWorld find the session's bus
    for name, text in {**_WRITTEN, **names(USER_ID)}.items():
        (base / name).write_text(text)
    if os.geteuid() == 0:
        for name in HOMES:
            os.chown(base / name, USER_ID, USER_ID)


def _copy_public(source: str, target: Path, left_out: frozenset[str]) -> None:
    """Copies what everybody may read: files, links, and folders that everybody may list."""
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.name in left_out:
                continue
            status = entry.stat(follow_symlinks=False)
            place = target / entry.name
            if entry.is_symlink():
                place.symlink_to(os.readlink(entry.path))
            elif entry.is_dir() and status.st_mode & 0o005 == 0o005:
                place.mkdir(exist_ok=True)
                _copy_public(entry.path, place, frozenset(("private",)))
            elif stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IROTH and status.st_size <= _LARGEST:
                shutil.copyfile(entry.path, place)
                place.chmod(status.st_mode & 0o755)
