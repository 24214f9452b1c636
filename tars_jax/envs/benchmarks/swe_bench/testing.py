"""A patch tried in a fresh computer: applied as the official harness does, then the instance's own tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tars_jax.envs.benchmarks.swe_bench.script import TESTBED, eval_script
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


@dataclasses.dataclass(frozen=True)
class Tried:
    applied: bool
    log: str  # of the tests; of what git said where the patch was not applied
    timed_out: bool = False


async def tried(computer: Computer, record: Mapping[str, Any], patch: str, timeout_s: float) -> Tried:
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
        return Tried(False, f"{NOT_APPLIED}:\n{said}")
    await files.write(SCRIPT, eval_script(record).encode())
    return await _ran(computer, timeout_s)


async def _ran(computer: Computer, timeout_s: float) -> Tried:
    """The script's output is read as it comes, out of reach of what it runs."""
    ran = await computer.machine.run(
        ["bash", SCRIPT], cwd=TESTBED, timeout_s=timeout_s, limit=LARGEST_LOG, merge=True
    )  # fmt: skip
    text, _ = outputs(ran, LARGEST_LOG, "replace")
    return Tried(True, f"{text}\n\n{TIMED_OUT.format(timeout_s)}" if ran.timed_out else text, ran.timed_out)
