"""SWE-ReX's sessions of bash: commands with exit codes, interactive programs with strings to expect, interrupts."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from tars_jax.sandbox.compat.swe_rex.transfers import Transfer, swerex
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell import RESTARTED, Result, Shell
from tars_jax.sandbox.shell.following import Limits, follow
from tars_jax.sandbox.tools.named_sessions import LONGEST_S

LIMIT = 200_000  # characters of an output; more is cut in its middle, with a mark
PROMPT = "SHELLPS1PREFIX"  # what `expect_string` is where a command ended
QUIET_S = 0.5  # how long an interrupted program may take to say its last words


@dataclasses.dataclass(frozen=True)
class Action:
    """`timeout_s` None: no time limit. `expect`: regular expressions that end the wait besides the prompt."""

    command: str
    timeout_s: float | None = None
    interactive: bool = False
    quits: bool = False
    check: str = "raise"
    error_msg: str = ""
    expect: tuple[str, ...] = ()


class SweRexSession:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._shell = Shell(machine, limit=LIMIT)
        self.greeting = ""
        self._calls = 0  # of `run`, on their way

    async def start(self, sources: Sequence[str], timeout_s: float) -> None:
        """`greeting` is then what these files said. Raises Transfer where they do not end in time."""
        await self._shell.open()
        for path in sources:
            result = await self._shell.run(f"source {path}", max(timeout_s, 0.1))
            self.greeting += result.output
            if result.exit_code is None:
                await self.close()
                raise swerex("CommandTimeoutError", f"timeout after {timeout_s:g} seconds while sourcing {path!r}")

    async def close(self) -> None:
        await self._shell.close()

    async def run(self, action: Action) -> dict[str, Any]:
        """An observation. Raises Transfer for what SWE-ReX has exceptions for, InputError while another runs."""
        self._calls += 1
        try:
            return await (self._run_interactive if action.interactive or action.quits else self._run)(action)
        finally:
            self._calls -= 1

    async def _run(self, action: Action) -> dict[str, Any]:
        await self._check_syntax(action.command)
        result, matched = await self._carry_out(action)
        if result.exit_code is None and matched is None:
            raise self._late(action)
        code = result.exit_code
        if action.check == "ignore":
            return _observation(result, None, matched)
        if action.check == "raise" and code != 0:
            if code is None:
                raise swerex("NoExitCodeError", f"command {action.command!r} is still running: it has no exit code")
            words = f"Command {action.command!r} failed with exit code {code}. Here is the output:\n{result.output!r}"
            raise swerex("NonZeroExitCodeError", f"{action.error_msg}: {words}" if action.error_msg else words)
        return _observation(result, code, matched)

    async def _run_interactive(self, action: Action) -> dict[str, Any]:
        result, matched = await self._carry_out(action)
        if result.exit_code is None and matched is None:
            raise self._late(action)
        if not action.quits:  # programs that read lines themselves echo them
            output = result.output.lstrip().removeprefix(action.command).strip()
            result = dataclasses.replace(result, output=output)
        return _observation(result, result.exit_code or 0, matched)

    async def interrupt(self, timeout_s: float, retries: int) -> dict[str, Any]:
        """As C-c; a program that does not heed it is killed. Raises Transfer where not even that ends it."""
        output = ""
        for attempt in range(retries + 1):
            stop = self._shell.interrupt if attempt < retries else self._shell.kill
            patience_s = max(timeout_s, QUIET_S) if attempt < retries else 2.0
            result = await stop(patience_s)
            output += result.output
            await self._until_another_call_has_it(patience_s)
            if result.exit_code is not None or result.ended or not self._shell.running:
                return _observation(dataclasses.replace(result, output=output.strip()), 0, None)
        raise swerex("CommandTimeoutError", "Failed to interrupt session")

    async def _until_another_call_has_it(self, patience_s: float) -> None:
        """Where another call waits for the command, its end is told to that one."""
        until = asyncio.get_running_loop().time() + patience_s
        while self._calls and self._shell.running and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.02)

    async def _check_syntax(self, command: str) -> None:
        checked = await self._machine.run(["bash", "-n"], command.encode(errors="surrogateescape") + b"\n")
        if checked.status:
            stdout, stderr = (data.decode(errors="backslashreplace") for data in (checked.stdout, checked.stderr))
            words = (
                f"Error (exit code {checked.status}) while checking bash command \n{command!r}\n"
                f"---- Stderr ----\n{stderr}\n---- Stdout ----\n{stdout}"
            )
            raise swerex("BashIncorrectSyntaxError", words, bash_stdout=stdout, bash_stderr=stderr)

    async def _carry_out(self, action: Action) -> tuple[Result, str | None]:
        """Types the command, to bash or to the interactive program that runs there, and waits for what it leads to.

        The output up to the string that was expected, and that string; None where the command ended, or time did.
        """
        try:
            patterns = [re.compile(text, re.DOTALL) for text in action.expect]
        except re.error as error:
            raise Transfer("builtins.ValueError", f"expect must be regular expressions; got {error}") from error
        shell, command = self._shell, action.command
        limits = Limits(LONGEST_S if action.timeout_s is None else max(action.timeout_s, 0.0), until=patterns)
        if shell.running and (action.interactive or action.quits):
            text = command if command.endswith("\n") else f"{command}\n"
            followed = await follow(shell, lambda seconds: shell.send(text, seconds), limits, most=2 * LIMIT)
        else:
            followed = await follow(shell, lambda seconds: shell.run(command, seconds), limits, most=2 * LIMIT)
        return followed.result, action.expect[followed.matched] if followed.why == "matched" else None

    def _late(self, action: Action) -> Transfer:
        words = f"timeout after {action.timeout_s} seconds while running command {action.command!r}"
        return swerex("CommandTimeoutError", words)


def _observation(result: Result, exit_code: int | None, matched: str | None) -> dict[str, Any]:
    why = (
        "the shell has ended; the next command has a new one" if result.ended else RESTARTED if result.restarted else ""
    )
    return {
        "output": result.output, "exit_code": exit_code, "failure_reason": why, "session_type": "bash",
        "expect_string": PROMPT if matched is None else matched,
    }  # fmt: skip
