"""Sessions of bash over a guest: what lives from call to call, and what a shell must bear."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell, ShellBusy
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.multiprocess
SLEEPING = "grep -lsz '61[.]25' /proc/[0-9]*/cmdline; true"  # a bare system has no ps


def with_shell(folder: Path, work: Callable[[Shell, LocalGuest], Awaitable[None]]) -> None:
    async def live() -> None:
        async with LocalGuest(folder, folder / "s") as guest, Shell(guest.machine) as shell:
            await work(shell, guest)

    asyncio.run(live())


async def says(shell: Shell, command: str) -> str:
    result = await shell.run(command)
    assert result.exit_code == 0, result
    return result.output


def test_state_lives_from_call_to_call(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        assert await says(shell, "pwd") == f"{tmp_path}\n"
        (tmp_path / "a ö\n'b").mkdir()
        result = await shell.run(
            "cd 'a ö\n'\\''b'; X=5; export Y='ä ö' ; f() { echo f$1; }; alias g='echo alias'; set -u"
        )
        assert (result.exit_code, result.output, result.folder) == (0, "", f"{tmp_path}/a ö\n'b")
        assert await says(shell, "echo \"$X $Y\"; f 3; g; sh -c 'echo $Y'") == "5 ä ö\nf3\nalias\nä ö\n"
        assert (await shell.run("set +u; (exit 7)")).exit_code == 7
        assert await says(shell, "echo $?") == "7\n"
        await says(shell, "sleep 60 & echo begun")
        assert "sleep 60" in await says(shell, "jobs")
        assert (await says(shell, "kill %1; wait %1 2>/dev/null; echo $?")).endswith("143\n")

    with_shell(tmp_path, work)


COMMANDS = (
    ("cat <<'END'\n$X `y` \\ !! \"'\nEND", "$X `y` \\ !! \"'\n"),
    ("for i in 1 2\ndo\n\techo $i # comment\ndone # end", "1\n2\n"),
    ("echo 'a\tb\x01c' | od -An -c", "   a  \\t   b 001   c  \\n\n"),
    ("", ""),
    ("# only a comment", ""),
    ("-x 2>/dev/null || echo minus", "minus\n"),
    ("printf '%s' no-newline", "no-newline"),
    ("x=" + "ö" * 20_000 + "; echo ${#x}", "20000\n"),
    ("echo $((1+\n2))", "3\n"),
    ("tty | cut -c1-9; test -t 0 -a -t 1 && echo terminal", "/dev/pts/\nterminal\n"),
)  # fmt: skip


def test_commands_arrive_as_they_were_written(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        for command, output in COMMANDS:
            assert await says(shell, command) == output

    with_shell(tmp_path, work)


def test_what_is_no_command_is_said(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        result = await shell.run("echo 'open")
        assert result.exit_code == 2 and "unexpected EOF" in result.output
        assert "command not found" in (await shell.run("no-such-program")).output
        for wrong in ("a\0b", "x" * 500_000, "\ud800"):
            with pytest.raises(InputError, match="command must"):
                await shell.run(wrong)
        assert await says(shell, "echo fine") == "fine\n"

    with_shell(tmp_path, work)


def test_nothing_that_is_written_looks_like_the_prompt(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        listing = await says(shell, "env; set; declare -p; printf '\\036a\\036'; echo end")
        assert "PROMPT_COMMAND" in listing and listing.endswith("end\n")
        # The prompt of another command, replayed from what a terminal has recorded.
        secret = shell.snapshot()["secret"]
        result = await shell.run(f"printf '\\036{secret}:1:1:1:0:/\\036\\036more'; sleep 0.3; echo end; false")
        assert (result.exit_code, result.output) == (1, "moreend\n")
        assert await says(shell, "echo next") == "next\n"

    with_shell(tmp_path, work)


def test_commands_that_take_longer_and_read_input(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        result = await shell.run('echo a; read -r x; echo "got $x"; cat; echo $?', timeout_s=0.3)
        assert (result.exit_code, result.output) == (None, "a\n")
        with pytest.raises(ShellBusy, match="a command is still running in this shell"):
            await shell.run("echo other")
        assert (await shell.send("ä b\n", 0.3)).output == "got ä b\n"
        assert (await shell.send("line\n", 0.3)).output == "line\n"
        result = await shell.send("\x04", 10)
        assert (result.exit_code, result.output) == (0, "0\n")
        with pytest.raises(InputError, match="a command must be running"):
            await shell.send("x")
        first = asyncio.create_task(shell.run("sleep 0.5; echo slow"))
        await asyncio.sleep(0.1)
        with pytest.raises(ShellBusy):
            await shell.run("echo other")
        assert (await first).output == "slow\n"
        assert (await shell.run("sleep 0.4; echo late", timeout_s=0.05)).exit_code is None
        await asyncio.sleep(0.8)
        result = await shell.run("echo next")  # the one before has ended meanwhile: its rest comes first
        assert (result.exit_code, result.output) == (0, "late\nnext\n")
        await says(shell, "(sleep 0.1; echo background) &")
        await asyncio.sleep(0.5)
        assert "background\n" in await says(shell, "true")

    with_shell(tmp_path, work)


def test_interrupt_and_kill(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        assert (await shell.run("X=here; sleep 60; echo not", timeout_s=0.2)).exit_code is None
        result = await shell.interrupt(PATIENCE_S)
        assert result.exit_code == 130 and "not" not in result.output
        await shell.run("(trap '' INT TERM HUP; sleep 60); echo not", timeout_s=0.2)
        assert (await shell.interrupt(0.2)).exit_code is None
        result = await shell.kill(10)
        assert result.exit_code in (0, 137) and not result.ended
        assert await says(shell, "echo $X") == "here\n"
        await shell.run("trap '' INT; while :; do :; done", timeout_s=0.2)
        assert (await shell.interrupt(0.2)).exit_code is None
        result = await shell.kill(10)  # the shell itself is what is running
        assert (result.exit_code, result.ended) == (-signal.SIGKILL, True)
        result = await shell.run("echo $X")
        assert (result.output, result.restarted) == ("\n", True)
        assert not (await shell.run("true")).restarted

    with_shell(tmp_path, work)


def test_shells_end_and_begin_anew_and_nest(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        result = await shell.run("X=1; exit 3")
        assert (result.exit_code, result.ended) == (3, True)
        result = await shell.run("echo $X-")
        assert (result.output, result.exit_code, result.restarted) == ("-\n", 0, True)
        result = await shell.run("kill -9 $$")
        assert (result.exit_code, result.ended) == (-signal.SIGKILL, True)
        await shell.run("X=outer; bash")
        assert await says(shell, "echo ${X-none}; X=inner") == "none\n"
        assert (await shell.run("exit 4")).exit_code == 4
        assert await says(shell, "echo $X") == "outer\n"
        assert (await shell.run("exec bash")).exit_code == 0
        assert await says(shell, "echo ${X-none}; echo $BASH_VERSINFO >/dev/null") == "none\n"
        result = await shell.run("set -e; false")
        assert (result.exit_code, result.ended) == (1, True)
        assert (await shell.run("exec true")).ended

    with_shell(tmp_path, work)


def test_a_shell_survives_what_changes_its_terminal(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        for odd in (
            "stty raw echo",
            "stty -icanon",
            "PS1='me> '",
            "exec >out.txt",
            "exec >/dev/tty 2>&1",
            "set -f",
            "IFS=x",
        ):
            await shell.run(odd)
            assert await says(shell, "echo fine >/dev/tty") == "fine\n", odd

    with_shell(tmp_path, work)


def test_output_is_readable_and_bounded(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        written = (
            "printf 'ab\\rX\\n\\033[31mred\\033[0m \\033]0;title\\007t\\n10%%\\r\\033[K20%%\\n\\377\\376ok\\nab\\bc\\n'"
        )
        assert await says(shell, written) == "Xb\nred t\n20%\n��ok\nac\n"
        output = await says(shell, "seq 1 100000")
        assert len(output) <= 30_100
        first, mark, last = output.partition("[... ")
        assert first.startswith("1\n2\n") and first.endswith("\n") and last.endswith("\n99999\n100000\n")
        cut = mark + last[: last.index("\n")]
        assert cut == f"[... {588_895 - len(first) - len(last.partition(chr(10))[2]):,} bytes cut ...]"
        output = await says(shell, "head -c 100000 /dev/zero | tr '\\0' x")  # one line
        assert 30_000 <= len(output) <= 30_100 and "[... 70,000 bytes cut ...]" in output

    with_shell(tmp_path, work)


@pytest.mark.parametrize("amount", [3_000_000, pytest.param(1_000_000_000, marks=[pytest.mark.full, pytest.mark.slow])])
@pytest.mark.timeout(900)
def test_any_amount_of_output_takes_little_memory(tmp_path: Path, amount: int) -> None:
    async def work(shell: Shell, guest: LocalGuest) -> None:
        def memory() -> int:
            lines = Path(f"/proc/{guest.process.pid}/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

        before = memory()
        result = await shell.run(f"yes 01234567890123456789012345678901234567 | head -c {amount}; echo end", 880)
        assert result.exit_code == 0 and result.output.endswith("end\n") and len(result.output) < 30_100
        assert memory() < before + 8_000  # KiB

    with_shell(tmp_path, work)


def test_several_shells_share_nothing(tmp_path: Path) -> None:
    async def work(shell: Shell, guest: LocalGuest) -> None:
        async with Shell(guest.machine, folder="/", env={"X": "given"}) as other:
            await says(shell, "X=mine")
            assert await says(other, "echo $X; pwd") == "given\n/\n"
            left = await other.run("sleep 61.25", timeout_s=0.1)
            assert left.exit_code is None
            await until(lambda: says(shell, SLEEPING))

        async def gone() -> bool:
            return not await says(shell, SLEEPING)

        await until(gone)

    with_shell(tmp_path, work)


def test_a_dead_guest_is_a_failure_of_the_sandbox(tmp_path: Path) -> None:
    async def work(shell: Shell, guest: LocalGuest) -> None:
        running = asyncio.create_task(shell.run("sleep 60"))
        await asyncio.sleep(0.2)
        guest.process.kill()
        with pytest.raises(SandboxFailure, match="guest: the guest is gone"):
            await running
        with pytest.raises(SandboxFailure, match="guest: the guest is gone"):
            await shell.more()

    with_shell(tmp_path, work)
