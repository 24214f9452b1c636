"""Commands and files of Harbor's environment, over a computer; Harbor itself is not needed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.compat.harbor.commands import MOST_OUTPUT, run_command
from tars_jax.sandbox.computer import transfers
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.transfers import list_files, put_file, put_folder, take_file, take_folder

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
HOME = "/home/agent"


def in_a_computer(use: Callable[[Computer], Awaitable[None]], *, root: bool = False) -> None:
    async def live() -> None:
        async with Computers(forks="files") as computers:
            await use(await computers.open(ContainerSpec(root=root)))

    asyncio.run(live())


def test_a_command_says_what_it_wrote_and_how_it_ended() -> None:
    async def use(computer: Computer) -> None:
        done = await run_command(
            computer, "echo out; echo err >&2; pwd; echo $WORD; exit 5", cwd="/tmp", env={"WORD": "fig"}
        )
        assert (done.status, done.stdout, done.stderr, done.timed_out) == (5, b"out\n/tmp\nfig\n", b"err\n", False)
        assert (await run_command(computer, "kill -9 $$")).status == -9
        nowhere = await run_command(computer, "true", cwd="/nowhere")
        assert nowhere.status == 126 and b"/nowhere" in nowhere.stderr
        begin = time.monotonic()
        left = await run_command(computer, "sleep 300 & echo started")  # it holds the output open
        assert left.stdout == b"started\n" and time.monotonic() - begin < 60
        assert (await run_command(computer, "cat")).status == 0  # there is no input
        assert (await run_command(computer, "test -c /dev/stdin")).status == 0  # some look at what it is

    in_a_computer(use)


def test_long_output_keeps_both_ends() -> None:
    async def use(computer: Computer) -> None:
        long = (
            await run_command(computer, f"echo begin; head -c {MOST_OUTPUT} /dev/zero | tr '\\0' x; echo; echo end")
        ).stdout
        assert long.startswith(b"begin\n") and long.endswith(b"end\n") and b"\n[11 bytes left out]\n" in long

    in_a_computer(use)


def test_commands_go_on_where_the_session_s_folder_was_removed_or_replaced() -> None:
    async def use(computer: Computer) -> None:
        for other in ("rm -rf $X", "rm -rf $X; touch $X", "rm -rf $X; mkdir /b; ln -s /b $X", "rm -rf /run"):
            await run_command(computer, f"X=$TARS_JAX_RUN; {other}")
            assert (await run_command(computer, "echo again")).stdout == b"again\n", other

    in_a_computer(use, root=True)


def test_a_command_whose_time_is_over_ends_with_what_it_started() -> None:
    async def use(computer: Computer) -> None:
        done = await run_command(computer, "echo begun; sleep 301 & sleep 302", timeout_s=5.0)
        assert done.timed_out and done.stdout == b"begun\n"
        waiting = asyncio.create_task(run_command(computer, "sleep 303 & sleep 304"))
        while b"sleep 304" not in (await computer.machine.run(["ps", "ax", "-o", "args="])).stdout.split(b"\n"):
            await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        running = (await computer.machine.run(["ps", "ax", "-o", "args="])).stdout
        assert b"sleep 30" not in running

    in_a_computer(use)


def test_files_and_folders_go_in_with_modes_and_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep" / "empty").mkdir(parents=True)
    (source / "deep" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "deep" / "run.sh").chmod(0o755)
    (source / "Ça va").write_bytes(b"\xff\0")
    (source / "link").symlink_to("deep/run.sh")
    os.mkfifo(source / "pipe")

    async def use(computer: Computer) -> None:
        await put_folder(computer, source, f"{HOME}/new/place")
        seen = await run_command(
            computer, "find . | sort; deep/run.sh; readlink link; od -An -tx1 Ça*", cwd=f"{HOME}/new/place"
        )
        assert seen.stdout.decode().split("\n") == [
            ".", "./deep", "./deep/empty", "./deep/run.sh", "./link", "./Ça va", "ran", "deep/run.sh", " ff 00", "",
        ]  # fmt: skip
        (source / "Ça va").write_bytes(b"other")
        await put_folder(computer, source, f"{HOME}/new/place")  # over what is there
        await put_file(computer, source / "Ça va", f"{HOME}/new/box/name")
        await put_file(computer, source / "link", f"{HOME}/new")
        seen = await run_command(computer, "cat place/Ça* box/name; ./link", cwd=f"{HOME}/new")
        assert seen.stdout == b"otherotherran\n"
        for wrong, target in ((source / "none", f"{HOME}/a"), (source, f"{HOME}/a"), (source / "Ça va", "/usr/a")):
            with pytest.raises(InputError):
                await put_file(computer, wrong, target)
        with pytest.raises(InputError, match="must be a folder"):
            await put_folder(computer, source / "Ça va", HOME)

    in_a_computer(use)


def test_what_is_taken_out_is_files_alone_whatever_was_left_there(tmp_path: Path) -> None:
    made = (
        "mkdir -p logs/deep logs/empty; echo 1 > logs/reward.txt; echo x > logs/deep/x.sh; chmod 700 logs/deep/x.sh;"
        " ln -s /etc/passwd logs/passwd; mkfifo logs/pipe; echo closed > logs/closed; chmod 000 logs/closed;"
        " ln -s logs way"
    )

    async def use(computer: Computer) -> None:
        await run_command(computer, made)
        target = tmp_path / "target"
        target.mkdir()
        (target / "reward.txt").write_text("old")
        (target / "kept").write_text("kept")
        await take_folder(computer, f"{HOME}/way", target)
        found = {path.relative_to(target).as_posix() for path in target.rglob("*")}
        assert found == {"kept", "reward.txt", "closed", "deep", "deep/x.sh", "empty"}
        assert (target / "reward.txt").read_text() == "1\n" and os.access(target / "deep/x.sh", os.X_OK)
        assert not (target / "closed").is_symlink() and (target / "closed").stat().st_mode & 0o777 == 0o644
        assert sorted(await list_files(computer, f"{HOME}/logs")) == ["closed", "deep/x.sh", "reward.txt"]
        await take_folder(computer, f"{HOME}/logs", tmp_path / "part", lambda path: path.endswith(".sh"))
        found = {path.relative_to(tmp_path / "part").as_posix() for path in (tmp_path / "part").rglob("*")}
        assert found == {"deep", "deep/x.sh"}
        await take_file(computer, f"{HOME}/way/deep/x.sh", tmp_path / "new" / "x")
        assert (tmp_path / "new" / "x").read_text() == "x\n"
        await take_file(computer, f"{HOME}/logs/passwd", tmp_path / "passwd")  # the computer's own
        assert (tmp_path / "passwd").read_text().count("\n") == 3
        for wrong in ("none", "logs", "logs/pipe"):
            with pytest.raises(InputError, match="must be a file"):
                await take_file(computer, f"{HOME}/{wrong}", tmp_path / "a")
        for wrong in ("none", "logs/reward.txt"):
            with pytest.raises(InputError, match="must be a folder"):
                await take_folder(computer, f"{HOME}/{wrong}", tmp_path / "b")

    in_a_computer(use)


def test_what_is_taken_out_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(transfers, "MOST_FILES", 50)

    async def use(computer: Computer) -> None:
        await run_command(computer, "mkdir large many; truncate -s 900G large/a; touch many/{1..60}")
        for call in (
            take_file(computer, f"{HOME}/large/a", tmp_path / "a"),
            take_folder(computer, f"{HOME}/large", tmp_path / "b"),
            take_folder(computer, f"{HOME}/many", tmp_path / "c"),
        ):
            with pytest.raises(InputError, match="at most; got more"):
                await call
        assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) == 0

    in_a_computer(use)
