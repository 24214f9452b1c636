"""An owner whose computers outlive it, and the next one: run by test_keeping.py, as root or as an ordinary user.

python kept_owner.py FOLDER first|next NAP
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell
from tars_jax.sandbox.tools.kernels import Kernel

SPEC = ContainerSpec(memory_mib=256, disk_mib=32)


async def user_of(computer: Computer) -> int:
    return int((await computer.machine.run(["id", "-u"])).stdout)


async def first(folder: Path, nap: str) -> None:
    """Is killed in the middle of a command, and of a copy that it takes of the computer."""
    async with Computers(kept_in=folder / "kept.json") as computers:
        computer, other = await computers.open(SPEC), await computers.open(SPEC)
        await computers.keep(computer.container.id, 60)
        shell, kernel = Shell(computer.machine), Kernel(computer.machine, kind="python")
        await shell.run(f"cd /tmp; x=plum; sleep {nap} & echo early; sleep 3; echo done", 0.5)
        await kernel.run("v = 41")
        told = {
            "id": computer.container.id, "other": other.container.id, "token": computer.guest.token,
            "shell": shell.snapshot(), "kernel": kernel.snapshot(), "user": await user_of(computer),
        }  # fmt: skip
        (folder / "state.json").write_text(json.dumps(told))
        await computer.container.pause()
        os.kill(os.getpid(), signal.SIGKILL)


async def following(folder: Path, nap: str) -> None:
    state = json.loads((folder / "state.json").read_text())
    async with Computers(kept_in=folder / "kept.json") as computers:
        computer = await computers.adopt(SPEC, state["id"], state["token"])
        shell = Shell.restore(computer.machine, state["shell"])
        kernel = Kernel.restore(computer.machine, state["kernel"])
        said = [dataclasses.asdict(await shell.more(20)), dataclasses.asdict(await shell.run("pwd; echo $x; jobs -r"))]
        value = (await kernel.run("v + 1")).result
        (copy,) = await computer.fork(1, "files")
        users = [state["user"], await user_of(computer), await user_of(copy)]
        try:
            await computers.adopt(SPEC, state["other"], state["token"])
            other = "adopted"
        except SandboxFailure as failure:
            other = str(failure)
        await computers.end_others()
        told = {"said": said, "value": value, "other": other, "origin": copy.origin, "users": users}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    work = first if sys.argv[2] == "first" else following
    Path(sys.argv[1]).mkdir(exist_ok=True)
    asyncio.run(work(Path(sys.argv[1]), sys.argv[3]))
