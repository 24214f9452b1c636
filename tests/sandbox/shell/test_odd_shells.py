"""Shells that end, that tell all they do, and output that comes in odd pieces."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.shell import Shell
from tars_jax.sandbox.shell.text import cleaned
from tests.sandbox.shell.test_shell import says, with_shell
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.multiprocess


@pytest.mark.parametrize("end", ["(sleep .1; kill -9 $$) &", "TMOUT=1"])
def test_a_shell_that_ended_between_two_calls_gives_a_new_one(tmp_path: Path, end: str) -> None:
    async def work(shell: Shell, guest: LocalGuest) -> None:
        await shell.run(f"X=old; cd /; {end}")
        terminals = lambda: guest.machine.client.call("terminals")  # noqa: E731

        async def ended() -> bool:
            return (await terminals())[0]["terminals"][0]["status"] is not None

        await until(ended)
        result = await shell.run("echo ${X-none}; pwd")
        assert (result.output, result.exit_code, result.restarted, result.ended) == (
            f"none\n{tmp_path}\n",
            0,
            True,
            False,
        )
        assert not (await shell.run("true")).restarted
        assert len((await terminals())[0]["terminals"]) == 1

    with_shell(tmp_path, work)


def test_the_end_of_a_shell_is_told_to_whoever_types_into_its_command(tmp_path: Path) -> None:
    async def work(shell: Shell, guest: LocalGuest) -> None:
        assert (await shell.run("(sleep .2; kill -9 $$) & read line", timeout_s=0.01)).exit_code is None
        process = shell.first_process
        assert process is not None

        async def gone() -> bool:
            return not Path(f"/proc/{process}").exists()

        await until(gone)
        result = await shell.send("text\n")
        assert (result.ended, result.exit_code) == (True, -signal.SIGKILL)
        with pytest.raises(InputError, match="a command must be running"):
            await shell.send("text\n")
        assert (await shell.run("echo fine")).output == "fine\n"

    with_shell(tmp_path, work)


def test_long_commands_go_in_by_a_file_that_is_gone_afterwards(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        text = "".join(chr(0x4E00 + index % 20_000) for index in range(90_000))
        command = f"cat >long.txt <<'END'\n{text}\n\tlast 'line'\nEND\necho $?; read -r line; echo got $line\n"
        assert (await shell.run(command, 0.5)).exit_code is None
        result = await shell.send("typed\n", PATIENCE_S)
        assert (result.output.replace("0\n", "", 1), result.exit_code) == ("got typed\n", 0)
        assert (tmp_path / "long.txt").read_text() == f"{text}\n\tlast 'line'\n"
        assert await says(shell, "(exit 5)" + " " * 5000 + "\necho $?" + "\n") == "5\n"
        assert "none" in await says(shell, "grep -ls 'exit 5' /tmp/.command-* || echo none")

    with_shell(tmp_path, work)


def test_a_command_that_could_not_be_typed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(shell: Shell, guest: LocalGuest) -> None:
        await says(shell, "X=kept")
        call = guest.machine.client.call
        for refused in ("write", "type"):

            async def full(name: str, *data: bytes, refused: str = refused, **arguments: object) -> object:
                if name == refused:
                    raise GuestError("ENOSPC", "no space left on device")
                return await call(name, *data, **arguments)  # type: ignore[arg-type]

            monkeypatch.setattr(guest.machine.client, "call", full)
            with pytest.raises(GuestError, match="no space"):
                await shell.run("echo" + " x" * 3000)
            monkeypatch.undo()
            assert not shell.running
            assert await says(shell, "echo $X") == "kept\n"

        def unkept() -> None:
            raise OSError("no room for the state")

        shell.kept = unkept
        with pytest.raises(OSError, match="no room"):
            await shell.run("echo never")
        shell.kept = lambda: None
        assert await says(shell, "echo $X") == "kept\n"

    with_shell(tmp_path, work)


def test_a_call_that_is_taken_back_leaves_a_shell_that_serves(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        for delay in (0.0, 0.0005, 0.002, 0.01, 0.05):
            task = asyncio.create_task(shell.run("sleep 0.1; echo done"))
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if shell.running:
                await shell.more(PATIENCE_S)
            assert (await says(shell, "echo next")).endswith("next\n")

    with_shell(tmp_path, work)


TELLING = {
    "set -x": ("echo a; false", "++ echo a\na\n++ false\n"),  # a sign for each eval
    "set -v": ("echo a\nfalse", "echo a\na\nfalse\n"),
    "set -xv": ("echo a\n(exit 1)", "echo a\n++ echo a\na\n(exit 1)\n++ exit 1\n"),
    "trap 'echo \"[$BASH_COMMAND]\"' DEBUG": ("echo a; false", "[echo a]\na\n[false]\n"),
    "set -T; trap 'echo \"[$BASH_COMMAND]\"' DEBUG": ("echo a; false", "[echo a]\na\n[false]\n"),
    "set -T; trap 'echo back' RETURN; f() { return 1; }": ("echo a; f", "a\nback\n"),
    "PS0='[begin]' PS1='> ' PS2='more '": ("echo a; false", "a\n"),
    "PROMPT_COMMAND='echo prompted'": ("echo a; false", "a\n"),
    "unset PROMPT_COMMAND": ("echo a; false", "a\n"),
    "set -u": ("echo a; false", "a\n"),
    "set -k": ("echo a; false", "a\n"),
    "trap 'echo \"failed: $?\"' ERR": ("echo a; false", "a\nfailed: 1\n"),
    "printf() { echo mine; }; alias export=echo; trap() { echo mine; }; eval() { :; }": ("echo a; false", "a\n"),
    "set -o history": ("echo a; history; false", "a\n"),
    "exec bash --norc": ("false | true; echo ${PIPESTATUS[*]}; false", "1 0\n"),
}  # fmt: skip
ALIKE = ("set -v", "trap 'echo \"[$BASH_COMMAND]\"' DEBUG", "PROMPT_COMMAND='echo prompted'", "set -u", "set -k")


@pytest.mark.parametrize(
    "telling", [pytest.param(each, marks=[pytest.mark.full] if each in ALIKE else []) for each in TELLING]
)
def test_what_makes_bash_tell_all_tells_nothing_of_ours(tmp_path: Path, telling: str) -> None:
    command, output = TELLING[telling]

    async def work(shell: Shell, _: LocalGuest) -> None:
        assert (await shell.run(telling)).output == ""
        for _twice in range(2):
            result = await shell.run(command)
            assert (result.output, result.exit_code) == (output, 1)
        assert (await shell.run("(((")).exit_code == 2
        result = await shell.run(command)
        assert (result.output, result.exit_code) == (output, 1)
        result = await shell.run(f": {' ' * 5000}; sleep 60", 0.3)
        assert result.exit_code is None
        told = result.output + (await shell.interrupt(PATIENCE_S)).output
        told += (await shell.run(": ${never?unset}")).output
        told += (await shell.run("set -uxv; echo $never; echo not")).output
        assert "__tars" not in told and "printf" not in told
        assert (await shell.run("set +xv; trap - DEBUG RETURN ERR; f() { :; }; f; echo end")).output.endswith("end\n")
        assert (await shell.run("echo a; false")).output == "a\n"

    with_shell(tmp_path, work)


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-"])
def test_a_shell_whose_output_is_closed_comes_to_its_prompt(tmp_path: Path, closed: str) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        assert (await shell.run(f"exec {closed}; (exit 3)", PATIENCE_S)).exit_code == 3
        assert (await shell.run("exec >/dev/tty 2>&1; echo heard", PATIENCE_S)).output == "heard\n"

    with_shell(tmp_path, work)


def test_options_of_a_command_are_there_for_the_next_and_for_shells_inside(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        await shell.run("set -x")
        assert "x" in (await shell.run("echo $-")).output.splitlines()[-1]
        await shell.run("bash")
        assert (await shell.run("echo inner")).output == "inner\n"
        await shell.run("exit")
        assert (await shell.run("echo outer")).output == "++ echo outer\nouter\n"
        await shell.run("set +x; trap 'n=$((n+1))' DEBUG")
        assert "n=$((n+1))" in await says(shell, "trap -p DEBUG")
        await says(shell, "trap - DEBUG")
        assert await says(shell, "trap -p DEBUG; echo end") == "end\n"

    with_shell(tmp_path, work)


def test_characters_and_sequences_that_come_in_pieces_are_whole(tmp_path: Path) -> None:
    async def work(shell: Shell, _: LocalGuest) -> None:
        pieces = "printf 'a\\xe4\\xb8'; read; printf '\\xadb\\033['; read; printf '31mred\\033]0;ti'; read; "
        result = await shell.run(f"{pieces} printf 'tle\\007\\360\\237'; read; echo", 0.3)
        said = [result.output]
        for _piece in range(4):
            said.append((await shell.send("\n", 0.3)).output)
        assert said == ["a", "\u4e2db", "red", "", "\ufffd\n"]
        output = await says(shell, "printf 'x'; printf '中%.0s' $(seq 200000)")
        assert "\ufffd" not in output and "bytes cut" in output

    with_shell(tmp_path, work)


def test_a_sequence_without_an_end_stops_at_its_line() -> None:
    assert cleaned("\x1b]0;title\nerror on line 3\n") == "\nerror on line 3\n"
    assert cleaned("\x1bP1;2\x1b\\seen\n\x1b^never\nseen\n") == "seen\n\nseen\n"
    assert cleaned("\x1b[38;5\nseen\x1b[\n") == "\nseen\n"
    assert cleaned("\x1b]8;;http://x\x07link\x1b]8;;\x07\n") == "link\n"
