"""Programs of a session without a shell: run to their end, left in the background, or heard from out here."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.followed_program import FollowedProgram
from tars_jax.sandbox.computer.guest_client import naming
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.part import SessionPart, Work, as_json, data_of, seconds
from tars_jax.sandbox.shell.text import MOST_OUTPUT
from tars_jax.web.protocol import RequestFields

MOST_TOLD = 16  # programs that are heard
SEEN = 4000  # characters of what lists show
LOST = "what the program said was lost when the service was started again, or the session suspended"


class ProgramCalls(SessionPart):
    """Program calls of every session with a shell. What a heard program has said ends with this process."""

    def __init__(self, machine: GuestMachine, snapshot: Mapping[str, Any] | None = None) -> None:
        """`snapshot`: of the part that this one follows. Raises KeyError, TypeError, ValueError for what is none."""
        self._machine = machine
        self._lost = frozenset() if snapshot is None else frozenset(int(number) for number in snapshot["told"])
        self._told: dict[int, FollowedProgram] = {}
        self._seen = ""
        self.calls = {
            "run_program": self._run, "start_program": self._start, "tell_program": self._tell, "told": self._lines,
        }  # fmt: skip

    def own(self) -> set[int]:
        return set(self._told)

    def words(self) -> str:
        return self._seen

    def snapshot(self) -> Any:
        return {"told": sorted({*self._told, *self._lost})}

    async def detach(self) -> None:
        """Streams end, so that the programs can be copied: what those say that are heard is lost from here on."""
        self._lost |= set(self._told)
        await self.close()

    async def close(self) -> None:
        told, self._told = self._told, {}
        for program in told.values():
            await program.close()

    def _run(self, fields: RequestFields) -> Work:
        """{argv, stdin?, env?, folder?, timeout_s?, limit?} -> {status, stdout, stderr, ...}: no shell"""
        argv, env, folder = _argv(fields), environment(fields), fields.optional_text("folder")
        stdin, timeout_s = _stdin(fields), seconds(fields, 120.0)
        limit = fields.integer("limit", 1 << 20, 2, MOST_OUTPUT) or 0

        async def work() -> Any:
            with naming(cwd="folder"):
                ran = await self._machine.run(argv, stdin, env=env, cwd=folder, timeout_s=timeout_s, limit=limit)
            said = f"$ {' '.join(argv)}\n{ran.stdout[-SEEN:].decode(errors='replace')}"
            self._seen = f"{self._seen}{said.rstrip()}\n"[-SEEN:]
            return {
                "status": ran.status, **as_json("stdout", ran.stdout), **as_json("stderr", ran.stderr),
                "stdout_cut": ran.stdout_cut, "stderr_cut": ran.stderr_cut, "timed_out": ran.timed_out,
            }  # fmt: skip

        return work

    def _start(self, fields: RequestFields) -> Work:
        """{argv, env?, folder?} -> {process}: in the background, heard by nobody"""
        argv, env, folder = _argv(fields), environment(fields), fields.optional_text("folder")

        async def work() -> Any:
            with naming(cwd="folder"):
                return {"process": await self._machine.start(argv, env=env, cwd=folder)}

        return work

    def _tell(self, fields: RequestFields) -> Work:
        """{program, arguments?, stdin?} -> {process}: Python, by its text; what it says is kept out here for `told`"""
        program, arguments, stdin = fields.text("program"), fields.array("arguments"), _stdin(fields)
        if not all(isinstance(word, str) for word in arguments):
            raise fields.error("arguments", "an array of texts")

        async def work() -> Any:
            if len(self._told) >= MOST_TOLD:
                raise InputError(f"programs that are heard must be at most {MOST_TOLD} at once")
            told = await FollowedProgram.start(self._machine, program, *arguments, stdin=stdin)
            self._told[told.process] = told
            self.kept()
            return {"process": told.process}

        return work

    def _lines(self, fields: RequestFields) -> Work:
        """{process, after?, timeout_s?} -> {lines_base64}: those from number `after` on"""
        process, after = fields.integer("process", None, 0, 1 << 31), fields.integer("after", 0, 0, 1 << 31) or 0
        timeout_s = seconds(fields, 0.0)

        async def work() -> Any:
            if process in self._lost:
                raise SandboxFailure("restored", LOST)
            if process is None or process not in self._told:
                raise InputError(f"process must be one that tell_program has started; got {process}")
            lines = await self._told[process].lines(after, timeout_s)
            return {"lines_base64": [base64.b64encode(line).decode() for line in lines]}

        return work


def environment(fields: RequestFields) -> dict[str, str]:
    env = fields.value("env") or {}
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise fields.error("env", "an object of texts")
    return env


def _argv(fields: RequestFields) -> list[str]:
    argv = fields.array("argv", required=True)
    if not argv or not all(isinstance(word, str) for word in argv):
        raise fields.error("argv", "an array of texts, the program first")
    return argv


def _stdin(fields: RequestFields) -> bytes:
    given = fields.value("stdin") is not None or fields.value("stdin_base64") is not None
    return data_of(fields, "stdin") if given else b""
