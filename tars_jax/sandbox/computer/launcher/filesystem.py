"""The file system of a container: a disk of limited size, an overlay over what the host shows, and no way back."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
from typing import Any

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.local_changes import keep_local_changes
from tars_jax.sandbox.computer.launcher.mapping import map_mount, mapping, show_as
from tars_jax.sandbox.computer.launcher.mount_points import make_real, remove_link
from tars_jax.sandbox.computer.launcher.privileges import OPTIONS
from tars_jax.sandbox.computer.launcher.syscalls import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REC

DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
LINKS = {
    "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}  # fmt: skip
# What tells about the host, or what it holds: of no use to a program, and empty for it.
HIDDEN_FILES = ("kcore", "keys", "kmsg", "sched_debug", "timer_list", "sysrq-trigger", "kallsyms", "interrupts")
# What a container's root may change of this machine's, for itself alone, and where on its disk that lies.
PROGRAMS_OF_ROOT, PACKAGES_OF_ROOT = ("/usr", "system"), ("/var/lib/dpkg", "packages")
HIDDEN_FOLDERS = ("acpi", "scsi", "bus", "asound", "driver", "fs")


def enter_root(plan: dict[str, Any]) -> int:
    """Makes the container's root from its plan (namespaces.py) and moves into it; for good.

    Returns a descriptor of the disk, which has no path inside. Runs in a mount namespace of its own, as root. Raises
    OSError.
    """
    syscalls.mount("", "/", "", MS_REC | syscalls.MS_PRIVATE)
    folder, root = plan["folder"], f"{plan['folder']}/root"
    _mount_layers(plan, folder, root)
    _make_places(plan, root)
    _empty(root + plan["run"])
    for path in plan["system"]:
        if not (plan["root"] and path == PROGRAMS_OF_ROOT[0] and mount_for_root(plan, root, *PROGRAMS_OF_ROOT)):
            _bind(path, root + path)
    if plan["root"] and os.path.isdir(PACKAGES_OF_ROOT[0]):
        mount_for_root(plan, root, *PACKAGES_OF_ROOT)
    for inside, host in plan["binds"].items():
        _bind(host, _place(root, inside, is_folder=os.path.isdir(host)))
    _mount_proc(f"{root}/proc")
    _mount_dev(f"{root}/dev", plan["shared_memory_mib"])
    disk = os.open(f"{folder}/disk", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    os.chdir(root)
    syscalls.pivot_root(".", ".")  # the old root lies on top of the new one, until it goes
    syscalls.unmount(".")
    os.chdir("/")
    return disk


def _make_places(plan: dict[str, Any], root: str) -> None:
    """Makes the mount points below `root`: each is where its path says, and nowhere on this machine
    (mount_points.py)."""
    make_real(root, [plan["run"]], plan["user"])
    folders = ["/proc", "/dev", *plan["system"]]
    if plan["listen"]:
        folders.append(os.path.dirname(plan["listen"]))
    if plan["root"]:
        folders.append(PACKAGES_OF_ROOT[0])
    files = []
    for inside, host in plan["binds"].items():
        if os.path.isdir(host):
            folders.append(inside)
        else:
            folders.append(os.path.dirname(inside))
            files.append(inside)
    make_real(root, folders, plan["user"] if plan["root"] else 0)
    for path in files:
        remove_link(root, path)


def prepare_restore(plan: dict[str, Any]) -> int:
    """Mounts what the processes of a checkpoint come back to: the root, and apart what CRIU binds into it (criu.py).

    Returns a descriptor of the disk. Runs in a mount namespace of its own, as root. Raises OSError.
    """
    folder = plan["folder"]
    _mount_layers(plan, folder, f"{folder}/root")
    for name in ("dev", "hidden"):
        os.makedirs(f"{folder}/{name}")
    _make_devices(f"{folder}/dev")
    syscalls.mount("tmpfs", f"{folder}/hidden", "tmpfs", MS_RDONLY, "size=0")
    return os.open(f"{folder}/disk", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def prepare_gvisor(plan: dict[str, Any]) -> int:
    """Mounts the root that gVisor shows, but for the folders of the system, which it is told of by itself (gvisor.py).

    Returns a descriptor of the disk. Runs in a mount namespace of its own, as root. Raises OSError.
    """
    folder, root = plan["folder"], f"{plan['folder']}/root"
    _mount_layers(plan, folder, root)
    make_real(root, [plan["run"]], plan["user"])
    if not plan["restores"]:
        _empty(root + plan["run"])
    for inside, host in plan["binds"].items():
        _bind(host, _place(root, inside, is_folder=os.path.isdir(host)))
    return os.open(f"{folder}/disk", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def listen_inside(path: str) -> socket.socket:
    """A listening socket that only root can reach: its folder is made for it. Runs before the change of user."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):  # of the container whose snapshot this one begins with
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if len(path.encode()) > 100:  # addresses of sockets are short; CRIU knows files by the others
        path = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    listener.bind(path)
    os.chmod(path, 0o600)
    os.close(folder)
    listener.listen(64)
    return listener


def _mount_layers(plan: dict[str, Any], folder: str, root: str) -> None:
    disk = f"{folder}/disk"
    mapped = mapping(plan["disk_user"], plan["user"]) if plan["user"] != plan["disk_user"] else None
    if plan["disk"]["kind"] == "image":
        _mount_image(plan["disk"]["file"], disk, mapped, read_only=False)
    else:
        mib = plan["disk"]["mib"]
        options = f"size={mib}m,nr_inodes={64 * mib},mode=755"
        syscalls.mount("tmpfs", disk, "tmpfs", MS_NOSUID | MS_NODEV, options)
    for name in ("upper", "work"):
        os.makedirs(f"{disk}/{name}", exist_ok=True)
    os.chmod(f"{disk}/upper", 0o755)
    if plan["root"]:
        os.chown(f"{disk}/upper", plan["user"], plan["user"])
    lowers = []
    own = [_own_folders(plan)] if plan["root"] else []
    for number, layer in enumerate(plan["layers"]):  # the uppermost first, the base of the host's files last
        if layer["kind"] == "image":
            place = f"{folder}/layer-{number}"
            os.makedirs(place, exist_ok=True)
            _mount_image(layer["file"], place, mapped, read_only=True)
            lowers.append(f"{place}/upper")
        elif plan["root"] and layer.get("base"):
            lowers += [*own, f"{folder}/layer-{number}"]
            own = []
            show_as(layer["folder"], lowers[-1], plan["user"])
        else:
            lowers.append(layer["folder"])
    if mapped is not None:
        os.close(mapped)
    _mount_overlay(root, lowers, disk, plan)


def _own_folders(plan: dict[str, Any]) -> str:
    """A layer of folders that the base has as an agent's, and a container's root has as its own."""
    own = f"{plan['folder']}/own"
    for name in ("", "/home", "/home/agent", "/run", plan["run"]):
        os.makedirs(own + name, exist_ok=True)
        os.chmod(own + name, 0o755)
        os.chown(own + name, plan["user"], plan["user"])
    hidden = f"{own}/run/guest"  # of the guest's socket: as in every container, nobody's inside
    os.makedirs(hidden, exist_ok=True)
    os.chmod(hidden, 0o700)
    return own


def mount_for_root(plan: dict[str, Any], root: str, path: str, name: str) -> bool:
    """A folder of this machine's as files that a container's root may change, for itself alone; False where no disk can
    keep them: it is then to be bound as everywhere. `name`: where on the disk they lie.
    """
    folder, user = plan["folder"], plan["user"]
    disk = f"{folder}/disk/{name}"
    if plan["disk"]["kind"] != "image":
        return False
    lower = f"{folder}/{name}"
    try:
        show_as(path, lower, user)
    except OSError:  # a file system of the host that cannot show users otherwise
        return False
    for part in ("upper", "work"):
        os.makedirs(f"{disk}/{part}", exist_ok=True)
    os.chmod(f"{disk}/upper", 0o755)
    os.chown(f"{disk}/upper", user, user)
    layers = [f"{folder}/layer-{number}/{name}/upper" for number in range(len(plan["layers"]))]
    earlier = [*filter(os.path.isdir, layers), lower]
    if plan["system_restored"] and name == PROGRAMS_OF_ROOT[1] and earlier[0] == layers[0]:
        earlier = [*earlier[1:], earlier[0]]  # below all others it takes nothing away and covers nothing
        keep_local_changes(layers[0], f"{disk}/upper", earlier[:-1], user)
    _mount_overlay(root + path, earlier, disk, plan)
    return True


def _mount_overlay(place: str, lowers: list[str], disk: str, plan: dict[str, Any]) -> None:
    """`disk`: the folder in which `upper` and `work` lie."""
    paths = f"lowerdir={':'.join(lowers)},upperdir={disk}/upper,workdir={disk}/work"
    xino = ",xino=on" if plan["one_device"] else ""  # with it a site was seen to answer forms more slowly
    # Redirections let a folder of the layers below be renamed; with an index, CRIU can tell which file an inotify watch
    # is of. Not every kernel lets every root have them.
    for options in (f",redirect_dir=on{xino},index=on,nfs_export=on", f",redirect_dir=on{xino}", ""):
        try:
            syscalls.mount("overlay", place, "overlay", MS_NOSUID | MS_NODEV, paths + options)
            return
        except OSError:
            if not options:
                raise


def _empty(folder: str) -> None:
    """Removes sockets and the log of the container whose snapshot this one begins with."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


def _mount_image(image: str, place: str, mapped: int | None, *, read_only: bool) -> None:
    flags = MS_NOSUID | MS_NODEV | syscalls.MS_NOATIME | (MS_RDONLY if read_only else 0)
    with syscalls.loop_device(image, read_only=read_only) as device:
        syscalls.mount(device, place, "ext4", flags)
    if mapped is not None:
        map_mount(place, mapped)


def _bind(host: str, place: str) -> None:
    syscalls.mount(host, place, "", MS_BIND | MS_REC)
    syscalls.set_mount_read_only(place)


def _place(root: str, inside: str, *, is_folder: bool) -> str:
    """The place where a bind is mounted; made where it is not there. `inside` has no links and no dots (root.py
    looks)."""
    place = root + inside
    if is_folder:
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.close(os.open(place, os.O_CREAT | os.O_CLOEXEC, 0o644))
    return place


def _mount_proc(place: str) -> None:
    syscalls.mount("proc", place, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in HIDDEN_FILES:
        if os.path.exists(f"{place}/{name}"):
            syscalls.mount("/dev/null", f"{place}/{name}", "", MS_BIND)
    for name in HIDDEN_FOLDERS:
        if os.path.exists(f"{place}/{name}"):
            syscalls.mount("tmpfs", f"{place}/{name}", "tmpfs", MS_RDONLY, "size=0")


def _mount_dev(place: str, shared_memory_mib: int) -> None:
    _make_devices(place)
    terminals = f"newinstance,gid=5,{OPTIONS}"
    syscalls.mount("devpts", f"{place}/pts", "devpts", MS_NOSUID | MS_NOEXEC, terminals)
    options = f"size={shared_memory_mib}m,mode=1777"
    syscalls.mount("tmpfs", f"{place}/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)
    syscalls.mount("", place, "", syscalls.MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NOEXEC | MS_RDONLY)


def _make_devices(place: str) -> None:
    syscalls.mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k")
    old_mask = os.umask(0)
    for name, (major, minor) in DEVICES.items():
        try:
            os.mknod(f"{place}/{name}", 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        except PermissionError:  # where making devices is not allowed, even to root
            os.close(os.open(f"{place}/{name}", os.O_CREAT | os.O_CLOEXEC, 0o666))
            syscalls.mount(f"/dev/{name}", f"{place}/{name}", "", MS_BIND)
    os.umask(old_mask)
    for name, target in LINKS.items():
        os.symlink(target, f"{place}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{place}/{name}")
