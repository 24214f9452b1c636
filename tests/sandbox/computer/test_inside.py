"""Paths of the inside, while somebody swaps what they lead to: each reader of the host stays below the root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tars_jax.sandbox.computer import inside
from tars_jax.sandbox.computer.home import read_home
from tars_jax.sandbox.computer.snapshots import copy_folder
from tars_jax.sandbox.concurrency import finish_or_undo
from tars_jax.sandbox.desktop.files import Inside
from tars_jax.sandbox.failures import Broken

pytestmark = pytest.mark.multiprocess
TRIES = 300
SECRET = b"the host's"


class Swapped:
    """A root in which `/home/agent` is by turns a folder, and a link to a folder of the host with the same names."""

    def __init__(self, folder: Path) -> None:
        self.root, self.outside = folder / "root", folder / "outside"
        self.home = self.root / "home" / "agent"
        for place, said in ((self.home, b"own"), (self.outside, SECRET)):
            (place / "below").mkdir(parents=True)
            for name in ("file", "below/file"):
                (place / name).write_bytes(said)
            with socket.socket(socket.AF_UNIX) as control:
                control.bind(str(place / "control"))
        self._on = True
        self._thread = threading.Thread(target=self._swap)

    def _swap(self) -> None:
        aside, link = self.home.with_name("aside"), self.home.with_name("link")
        while self._on:
            self.home.rename(aside)
            link.symlink_to(self.outside)
            link.rename(self.home)
            time.sleep(0.0002)
            self.home.unlink()
            aside.rename(self.home)
            time.sleep(0.0002)

    def __enter__(self) -> Swapped:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._on = False
        self._thread.join()

    def host_path(self, path: str) -> Path:
        return Path(f"{self.root}{path}")


@pytest.fixture
def swapped(tmp_path: Path) -> Iterator[Swapped]:
    with Swapped(tmp_path) as swapped:
        yield swapped


def came(work: Callable[[], bytes]) -> set[bytes]:
    """What it gave in many tries; what could not be opened gives nothing."""
    found: set[bytes] = set()
    for number in range(100 * TRIES):
        if found and number >= TRIES:
            break
        with contextlib.suppress(OSError):
            found.add(work())
    return found


READERS = ("read", "read below", "folder", "home", "desktop's text", "desktop's folder")


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_stays_inside(swapped: Swapped, reader: str) -> None:
    root = os.open(swapped.root, os.O_RDONLY | os.O_DIRECTORY)
    desktop = Inside(swapped)  # type: ignore[arg-type]  # it asks for the root alone

    def file_of(folder: int) -> bytes:
        try:
            with open(os.open("file", os.O_RDONLY, dir_fd=folder), "rb") as file:
                return file.read()
        finally:
            os.close(folder)

    def home() -> bytes:
        return b"".join(file.data for file in read_home(inside.open_folder(root, "/home/agent"))[0].values())

    readers: dict[str, Callable[[], bytes]] = {
        "read": lambda: inside.read(root, "/home/agent/file", 100),
        "read below": lambda: inside.read(root, "home/agent/below/file", 100),
        "folder": lambda: file_of(inside.open_folder(root, "/home/agent")),
        "home": home,
        "desktop's text": lambda: desktop.text("/home/agent/file").encode(),
        "desktop's folder": lambda: file_of(desktop.folder("/home/agent")),
    }
    found = came(readers[reader])
    assert found and not any(SECRET in each for each in found), found
    desktop.close()
    os.close(root)


def test_nothing_is_connected_to_outside(swapped: Swapped) -> None:
    desktop = Inside(swapped)  # type: ignore[arg-type]

    def connect() -> bytes:
        desktop.connect("/home/agent/control").close()
        return b""

    with socket.socket(socket.AF_UNIX) as listener:
        (swapped.outside / "control").unlink()
        listener.bind(str(swapped.outside / "control"))
        listener.listen(TRIES)
        listener.setblocking(False)
        came(connect)
        with pytest.raises(BlockingIOError):  # nobody came
            listener.accept()
    desktop.close()


def test_a_copy_holds_nothing_of_the_outside(tmp_path: Path) -> None:
    """Names are swapped in the folder that is being copied."""

    async def live() -> None:
        with Swapped(tmp_path) as swapped:
            copied = 0
            for number in range(5):
                target = tmp_path / f"copy-{number}"
                try:
                    await copy_folder(os.open(swapped.root, os.O_RDONLY), target, 1 << 20)
                except (OSError, Broken):  # what was listed had gone
                    continue
                copied += 1
            said = [
                file.read_bytes() for file in tmp_path.glob("copy-*/**/*") if file.is_file() and not file.is_symlink()
            ]
            assert SECRET not in said, copied

    asyncio.run(live())


def test_a_copy_is_like_its_source_and_bounded(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "folder").mkdir(parents=True)
    (source / "folder" / "a").write_bytes(b"x" * 100_000)
    os.link(source / "folder" / "a", source / "b")
    (source / "b").chmod(0o6640)
    os.utime(source / "b", ns=(1, 2))
    with open(source / "hole", "wb") as file:
        file.truncate(1 << 30)
    os.mkfifo(source / "pipe")
    (source / "link").symlink_to("/etc/shadow")

    def copied(most: int) -> None:
        asyncio.run(copy_folder(os.open(source, os.O_RDONLY), target, most))

    copied(200_000)
    assert (target / "b").read_bytes() == b"x" * 100_000 and (target / "b").samefile(target / "folder" / "a")
    status = (target / "b").stat()
    assert (status.st_mode & 0o7777, status.st_mtime_ns) == (0o640, 2)
    assert (target / "hole").stat().st_size == 1 << 30 and (target / "hole").stat().st_blocks == 0
    assert (target / "pipe").is_fifo() and os.readlink(target / "link") == "/etc/shadow"
    target = tmp_path / "too much"
    with pytest.raises(Broken, match="files must be 0 MiB at most"):
        copied(50_000)


def test_what_is_cancelled_is_done_and_undone() -> None:
    undone: list[str] = []

    async def made() -> str:
        await asyncio.sleep(0.05)
        return "a copy"

    async def undo(what: str) -> None:
        undone.append(what)

    async def live() -> None:
        task = asyncio.create_task(finish_or_undo(made(), undo))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert undone == ["a copy"]
        assert await finish_or_undo(made(), undo) == "a copy" and len(undone) == 1

    asyncio.run(live())
