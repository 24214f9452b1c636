"""Files of a computer through its guest: odd names, links that lead out, many bytes, two at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.search import FileQuery
from tests.waiting import until

pytestmark = pytest.mark.multiprocess

ODD = (
    "a b",
    "ä ö\nnew line",
    "'quote\"",
    "-dash",
    b"\xff\xfe no text".decode(errors="surrogateescape"),
    "x" * 255,
    "*?[",
)


def with_files(folder: Path, work: Callable[[Files, Path], Awaitable[None]]) -> None:
    async def live() -> None:
        root = folder / "root ö"
        root.mkdir()
        async with LocalGuest(root, folder / "s") as guest:
            await work(Files(guest.machine, str(root)), root)

    asyncio.run(live())


async def refusal(call: Awaitable[object]) -> str:
    with pytest.raises(GuestError) as refused:
        await call
    return refused.value.code


def test_files_are_written_read_listed_moved_and_removed(tmp_path: Path) -> None:
    async def work(files: Files, root: Path) -> None:
        every = bytes(range(256)) * 5
        for name in ODD:
            await files.write(name, every)
            assert await files.read(name) == every == (root / name).read_bytes()
            assert await files.read(str(root / name), 250, 10) == every[250:260]
        entries, whole = await files.list(".")
        assert whole and [entry.path for entry in entries] == sorted(ODD)
        assert not (await files.list(".", limit=2))[1]
        await files.make_folder("a folder/b/ö")
        await files.make_folder("a folder/b/ö")
        await files.move("a b", "a folder/b/ö/c")
        assert [entry.path for entry in (await files.list("a folder", depth=9))[0]] == ["b", "b/ö", "b/ö/c"]
        assert (await files.stat("a folder")).kind == "folder"
        assert await files.exists("a folder/b") and not await files.exists("a folder/c")
        assert await refusal(files.remove("a folder")) == "ENOTEMPTY"
        await files.remove("a folder", all=True)
        os.chmod(root / "-dash", 0o750)
        await files.write("-dash", b"other")
        assert (root / "-dash").stat().st_mode & 0o777 == 0o750  # and the owner that it had
        assert sorted(os.listdir(root)) == sorted(set(ODD) - {"a b"})

    with_files(tmp_path, work)


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    async def work(files: Files, root: Path) -> None:
        (root / "file").write_text("x")
        os.mkfifo(root / "pipe")
        assert await refusal(files.read("none")) == "ENOENT"
        assert await refusal(files.read("file/x")) == "ENOTDIR"
        assert await refusal(files.read(".")) == "EISDIR"
        assert await refusal(files.write(".", b"")) == "EISDIR"
        assert await refusal(files.write("none/x", b"")) == "ENOENT"
        assert await refusal(files.write("file", b"", new=True)) == "EEXIST"
        assert await refusal(files.read("pipe")) == "EINVAL"  # nobody waits for a writer
        assert await refusal(files.write("pipe", b"x")) == "EINVAL"
        assert await refusal(files.read("/dev/zero")) == "input"
        assert await refusal(files.list("file")) == "ENOTDIR"
        assert await refusal(files.read("a\0b")) == "input"
        assert await refusal(files.read("x" * 300)) == "ENAMETOOLONG"
        assert await refusal(files.remove(".")) == "input"
        assert await refusal(files.edit("file", lambda text: text + "\ud800")) == "input"
        assert (root / "file").read_text() == "x"

    with_files(tmp_path, work)


def test_no_path_leads_out_of_the_root(tmp_path: Path) -> None:
    async def work(files: Files, root: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret").write_text("secret")
        (root / "folder").symlink_to(outside)
        (root / "up").symlink_to("../outside")
        (root / "file").symlink_to(outside / "secret")
        (root / "proc").symlink_to("/proc/self/root")
        (root / "in").mkdir()
        (root / "inner").symlink_to("in")
        (root / "in/back").symlink_to("../in")
        for path in (
            "folder/secret",
            "up/secret",
            "file",
            "../outside/secret",
            "in/../../outside/secret",
            "/etc/passwd",
        ):
            assert await refusal(files.read(path)) == "input", path
            assert await refusal(files.write(path, b"x")) == "input", path
            assert await refusal(files.write(path, b"x" * (5 << 20))) == "input", path
            assert await refusal(files.stat(path)) == "input", path
            assert await refusal(files.edit(path, str.upper)) == "input", path
        assert await refusal(files.read(f"proc{outside}/secret")) == "input"
        for path in ("folder", "up", "..", "/", f"{root}/../outside"):
            assert await refusal(files.list(path)) == "input", path
            assert await refusal(files.search(path, FileQuery(pattern="secret"))) == "input", path
        for path in ("folder/x", "up/x", "../outside/x"):
            assert await refusal(files.make_folder(path)) == "input", path
            assert await refusal(files.move("in", path)) == "input", path
            assert await refusal(files.remove(f"{path}")) == "input", path
        assert (await files.search(".", FileQuery(pattern="secret"))).found == []
        await files.write("inner/back/new", b"fine")
        assert (root / "in/new").read_bytes() == b"fine"
        await files.remove("folder")  # the link
        assert os.listdir(outside) == ["secret"] and (outside / "secret").read_text() == "secret"

    with_files(tmp_path, work)


def test_large_files_go_by_pieces(tmp_path: Path) -> None:
    async def work(files: Files, root: Path) -> None:
        data = os.urandom(9 << 20)
        await files.write("large", data)
        assert await files.read("large") == data
        await files.write("large", data[:-1], new=False)
        assert await refusal(files.write("large", data, new=True)) == "EEXIST"
        with open(root / "huge", "wb") as huge:
            huge.truncate(1 << 40)
        assert await refusal(files.read("huge")) == "EFBIG"
        assert await refusal(files.edit("huge", str.upper)) == "EFBIG"
        assert await files.read("huge", (1 << 40) - 5) == b"\0" * 5
        (root / "lines").write_text("".join(f"line {number}\n" for number in range(1, 300_001)) + "no end")
        lines = await files.lines("lines", 299_999, -1)
        assert (lines.text, lines.lines, lines.whole) == ("line 299999\nline 300000\nno end", 300_001, True)
        assert os.listdir(root).count("large") == 1 and len(os.listdir(root)) == 3

    with_files(tmp_path, work)


def test_edits_at_once_both_happen(tmp_path: Path) -> None:
    async def work(files: Files, root: Path) -> None:
        (root / "file").write_text("0\r\n")
        os.link(root / "file", root / "same")

        def more(text: str) -> str:
            return text + "x"

        await asyncio.gather(*(files.edit("file", more) for _ in range(8)))
        assert (root / "same").read_bytes() == b"0\r\n" + b"x" * 8
        entry = await files.stat("file")
        (root / "file").write_text("by another program")
        assert await refusal(files.write("file", b"x", version=entry.version)) == "EBUSY"
        (root / "binary").write_bytes(b"\xff\xfe")
        assert await refusal(files.edit("binary", more)) == "EILSEQ"

    with_files(tmp_path, work)


def test_search_by_name_and_by_content(tmp_path: Path) -> None:
    async def work(files: Files, root: Path) -> None:
        (root / "a ö").mkdir()
        (root / "a ö/one.txt").write_text("first\nsecond word\n")
        (root / "two.txt").write_text("a (word)\n" * 3)
        (root / "binary.txt").write_bytes(b"word\0")
        result = await files.search(".", FileQuery(name="*.txt"))
        assert result.whole and [each.path for each in result.found] == ["binary.txt", "two.txt", "a ö/one.txt"]
        result = await files.search(".", FileQuery(pattern="sec.*d$|first"))
        assert [(each.path, each.line, each.text) for each in result.found] == [
            ("a ö/one.txt", 1, "first"), ("a ö/one.txt", 2, "second word"),
        ]  # fmt: skip
        result = await files.search(".", FileQuery(pattern="(word)", literal=True, limit=2))
        assert result.missing == "limit" and [each.line for each in result.found] == [1, 2]
        assert await refusal(files.search(".", FileQuery(pattern="("))) == "input"
        (around,) = (await files.search("a ö/one.txt", FileQuery(pattern="^S", ignore_case=True, before=3))).found
        assert (around.path, around.line, around.before, around.after) == ("one.txt", 2, ["first"], [])
        (across,) = (await files.search("a ö", FileQuery(pattern="first.second", multiline=True, after=1))).found
        assert (across.line, across.text, across.after) == (1, "first", ["second word"])
        (root / "hard").write_text("a" * 40 + "!\n")
        result = await files.search(".", FileQuery(name="hard", pattern="(a+)+$"), timeout_s=1.0)  # would take years
        assert result.missing == "time" and (await files.read("two.txt", 0, 1)) == b"a"

    with_files(tmp_path, work)


def test_a_watch_sees_changes(tmp_path: Path) -> None:
    async def work(files: Files, root: Path) -> None:
        (root / "old").mkdir()
        watch = await files.watch()
        assert await watch.changes(0.05) == []
        waiting = asyncio.create_task(watch.changes(20))
        await asyncio.sleep(0.1)
        (root / "a ö").write_text("x")
        assert ("made", "a ö") in await waiting
        (root / "old/b").write_text("x")
        (root / "new").mkdir()
        seen = set(await watch.changes())

        async def saw(change: tuple[str, str]) -> bool:
            if change not in seen:
                seen.update(await watch.changes())
            return change in seen

        await until(lambda: saw(("made", "new")))
        assert {("made", "old/b"), ("written", "old/b"), ("made", "new")} <= seen
        (root / "new/c").write_text("x")
        (root / "new/c").rename(root / "c")
        await until(lambda: saw(("came", "c")))
        assert {("written", "new/c"), ("gone", "new/c"), ("came", "c")} <= seen and not watch.lost
        await watch.close()
        assert await refusal(watch.changes()) == "ESRCH"
        assert await refusal(files.watch("c")) == "ENOTDIR"

    with_files(tmp_path, work)
