"""Computers as a user opens them: a container with its guest, files put there and read from outside."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer import home
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.home import File, Unreadable, read_home
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.interpreter,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]


def test_two_computers_are_filled_used_and_read() -> None:
    async def live() -> None:
        async with Computers() as computers:
            one, two = await asyncio.gather(computers.open(), computers.open())
            put = {"a b.txt": File(b"hi\xff\n"), "box/Çem.sh": File(b"#!/bin/sh\necho yes\n", executable=True)}
            await one.put(put, ["empty"])
            assert await one.home() == (put, frozenset({"box", "empty"}))
            assert await two.home() == ({}, frozenset())
            async with Shell(one.machine) as shell:
                assert (await shell.run("box/*.sh")).output == "yes\n"
                await shell.run("ln -s /etc/passwd link; mkfifo pipe; mv box/* empty; chmod 000 'a b.txt'")
            files, folders = await one.home()
            assert set(files) == {"a b.txt", "empty/Çem.sh"} and folders == {"box", "empty"}
            await one.close()
            await one.close()
            assert (await two.machine.run(["echo", "alive"])).stdout == b"alive\n"
            with pytest.raises(SandboxFailure):
                await one.machine.run(["true"])
            with pytest.raises(SandboxFailure):
                await one.home()

    asyncio.run(live())


def test_what_a_killed_owner_left_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"tars_jax-computers-{os.geteuid()}"
    left = folder / "run-left"
    left.mkdir(parents=True)
    folder.chmod(0o700)

    async def live() -> None:
        async with Computers():
            assert not left.exists()

    asyncio.run(live())
    assert not list(folder.glob("run-*"))
    folder.chmod(0o777)
    with pytest.raises(InputError, match="must be a folder of this user alone"):
        asyncio.run(live())


def test_what_is_given_wrongly_is_refused_by_name() -> None:
    async def live() -> None:
        async with Computers("none") as computers:
            computer = await computers.open()
            await computer.put({"a ü.txt": "grün", "b": b"\xff", "c/d": File(b"x", executable=True)}, ["e"])
            files, folders = await computer.home()
            assert (files["a ü.txt"].text, files["b"].data, files["c/d"].executable) == ("grün", b"\xff", True)
            assert "e" in folders
            for path in ("/etc/p", "../x", "a/../../x", "a\0b", ""):
                with pytest.raises(InputError, match="a path must lie below the home folder"):
                    await computer.put({path: b"x"})
            with pytest.raises(InputError, match="the content of 'x' must be a File, bytes or a str; got int"):
                await computer.put({"x": 5})  # type: ignore[dict-item]
            with pytest.raises(InputError, match="argv must be a list of words, such as .*; got 'ls -l'"):
                await computer.machine.run("ls -l")
            with pytest.raises(InputError, match="argv must be a list of words"):
                await computer.machine.start("ls")

    asyncio.run(live())


def test_a_home_that_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "MOST_FILES", 3)
    for name in "abc":
        (tmp_path / name).write_text(name)
    assert len(read_home(tmp_path)[0]) == 3
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unreadable, match="more than 3 files"):
        read_home(tmp_path)
    monkeypatch.setattr(home, "MOST_FILES", 300)
    monkeypatch.setattr(home, "MOST_BYTES", 10)
    (tmp_path / "large").write_bytes(bytes(11))
    with pytest.raises(Unreadable):
        read_home(tmp_path)
    (tmp_path / "large").unlink()
    deep = tmp_path
    for _ in range(50):
        deep /= "d"
        deep.mkdir()
    with pytest.raises(Unreadable, match="40 folders"):
        read_home(tmp_path)
