"""A patch tried in a fresh computer: applied as the official harness does, then the instance's own tests,
by the script that its data give or that is made from the patch of its tests."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.shell.text import outputs
from tars_jax.sandbox.tools.files import Files

# One after another, each on the tree as it was, until one does it.
APPLIES = (
    "git apply --verbose", "git apply --verbose --3way", "git apply --verbose --reject",
    "patch --batch --forward --fuzz=5 -p1 -i",
)  # fmt: skip
PATCH, SCRIPT = "/tmp/patch.diff", "/eval.sh"
NOT_APPLIED, TIMED_OUT = ">>>>> Patch Apply Failed", "Timeout error: {:g} seconds exceeded."
LARGEST_LOG = 32 << 20  # bytes
START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
EXIT_CODE, ERRORED = ">>>>> Test Exit Code", ">>>>> Tests Errored"
PARSER, EVAL_TYPE = "parse_log_pytest", "pass_and_fail"  # where the data say none
COMMAND = "python3 -P -m pytest -rA"  # of what is installed (-P), on the files of the tests' patch
TESTBED = "/testbed"
_OF_PATCH = re.compile(r"^diff --git a/.* b/(.*)$", re.MULTILINE)
_STATUS, _DOCUMENT = "SWEBENCH_TEST_EXIT_CODE", "EOF_OF_THE_TESTS_PATCH"


@dataclasses.dataclass(frozen=True)
class PatchResult:
    applied: bool
    log: str  # of the tests; of what git said where the patch was not applied
    timed_out: bool = False


async def try_patch(computer: Computer, record: Mapping[str, Any], patch: str, timeout_s: float) -> PatchResult:
    """`computer`: with the repository at its commit and nothing of an agent's. `patch`: empty, the tests alone.

    Raises SandboxFailure, InputError.
    """
    machine, files = computer.machine, Files(computer.machine)
    await files.write(PATCH, patch.encode())
    said = ""
    for number, command in enumerate(APPLIES if patch else ("true",)):
        again = "git checkout -q -- . ; git clean -fdq; " if number else ""
        ran = await machine.run(["bash", "-c", f"{again}{command} {PATCH}"], cwd=TESTBED, timeout_s=120, merge=True)
        said = ran.stdout.decode(errors="replace")
        if ran.status == 0:
            break
    else:
        return PatchResult(False, f"{NOT_APPLIED}:\n{said}")
    await files.write(SCRIPT, eval_script(record).encode())
    return await _ran(computer, timeout_s)


async def _ran(computer: Computer, timeout_s: float) -> PatchResult:
    """The script's output is read as it comes, out of reach of what it runs."""
    ran = await computer.machine.run(
        ["bash", SCRIPT], cwd=TESTBED, timeout_s=timeout_s, limit=LARGEST_LOG, merge=True
    )  # fmt: skip
    text, _ = outputs(ran, LARGEST_LOG, "replace")
    return PatchResult(True, f"{text}\n\n{TIMED_OUT.format(timeout_s)}" if ran.timed_out else text, ran.timed_out)


def test_files(patch: str) -> list[str]:
    """The files that the patch of the tests changes or makes."""
    return list(dict.fromkeys(_OF_PATCH.findall(patch)))


def eval_script(record: Mapping[str, Any]) -> str:
    """Puts the tests in place of what an agent has made of them, runs them between the two marks, and tells the exit
    status of their command behind the second.
    """
    given = record.get("eval_script")
    lines = given.strip("\n").split("\n") if given else _made(record)
    lines = [line for line in lines if line not in ("#!/bin/bash", "set -uxo pipefail")]
    at = next((number for number, line in enumerate(lines) if END in line), None)
    if at is not None and not any(EXIT_CODE in line for line in lines):
        lines[at : at + 1] = [f"{_STATUS}=$?", lines[at], f'echo "{EXIT_CODE}: ${_STATUS}"']
    return "\n".join(["#!/bin/bash", "set -uxo pipefail", *lines]) + "\n"


def _made(record: Mapping[str, Any]) -> list[str]:
    files = test_files(record["test_patch"])
    base = record["base_commit"]
    names = " ".join(map(shlex.quote, files))
    command = record.get("test_command") or COMMAND
    back = [
        f"git cat-file -e {base}:{shlex.quote(file)} 2>/dev/null && git checkout -q {base} -- {shlex.quote(file)}"
        f" || rm -rf {shlex.quote(file)}"
        for file in files
    ]  # fmt: skip
    apply = [f"git apply -v - <<'{_DOCUMENT}' || echo '{ERRORED}'", record["test_patch"].rstrip("\n"), _DOCUMENT]
    return [
        f"cd {TESTBED}", f"git config --global --add safe.directory {TESTBED}", *back,
        *(apply if record["test_patch"].strip() else ()),  # git takes no empty one: the tests are there already
        f": '{START}'", f"{command} {names}", f": '{END}'",
    ]  # fmt: skip
