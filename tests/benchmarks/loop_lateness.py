"""How late a heartbeat on the service's event loop is while programs inside do what would stop it.

    PYTHONPATH=. python tests/benchmarks/loop_lateness.py [--isolation=auto] [--seconds=30] [--each]

In one process, as the service is: a computer for each attempt, and a heartbeat every 5 ms that notes how late it comes.
First they stand idle; then all attempts are made at once, again and again; with --each then one after the other, to say
whose the lateness is. All the while another process, which does nothing else, has the same heartbeat: what that is late
by is the machine's. Printed are the median, 99 of 100 and the most of each, in ms; "work" is processor time of the
loop's thread from one beat to the next, which others on the machine do not stretch. Goal: 50 ms at most.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.computers.spec import read_spec
from tars_jax.web.protocol import RequestError, RequestFields

PERIOD_S = 0.005
CONTROL = f"""
import json, sys, time
print("ready", flush=True)
late, at = [], time.monotonic() + {PERIOD_S}
while at < time.monotonic() + 10:
    time.sleep(max(0.0, at - time.monotonic()))
    late.append((at, time.monotonic() - at))
    at = time.monotonic() + {PERIOD_S}
    if len(late) == 100:
        print(json.dumps(late), flush=True)
        late.clear()
"""
TEXTS = ("\\r", "a\\b", "\\033[", "\\033]0;", "\\033[0;0", "\\030", "\\033[K", "\\036secret:9:1:1:0:/\\036", "e\\n")
SOCKETS = """
import os, socket, time
for _ in range(40):
    if os.fork() == 0:
        kept = []
        try:
            while len(kept) < 2000:
                kept.append(socket.create_server(("127.0.0.1", 0)))
        except OSError:
            pass
        time.sleep(600)
time.sleep(600)
"""
NEST = 'if [ "$1" -gt 1 ]; then sh -c "$0" "$0" $(($1 - 1)); else sleep 600; fi; true'
LINES = "import os\nfor fd in range(1, 64):\n try: os.write(fd, ({}) + b'\\n')\n except OSError: pass"
MANY = "import os; os.makedirs('many'); [open(f'many/{i}', 'w').close() for i in range(20000)]; os.chmod('many', 0)"
SCREEN = "for f in /tmp/.desktop-*/Xvfb_screen0; do head -c 4096 /dev/urandom | dd of=$f conv=notrunc; done"

Attempt = Callable[[ComputerSession], Awaitable[object]]


def calls(call: str, **fields: object) -> Attempt:
    return lambda session: session.call({"call": call, **fields})


def once_then(before: str, then: Attempt) -> Attempt:
    """A command once, and then the host's look at what it has left."""

    async def attempt(session: ComputerSession) -> None:
        if not session.calls:
            await session.call({"call": "run", "command": before, "timeout_s": 30.0})
        await then(session)

    return attempt


async def snapshot(session: ComputerSession) -> None:
    taken = await session.computer.snapshot(f"taken {time.monotonic_ns()}")
    await session.computer._of_computers().isolation().remove_snapshot(taken)


ATTEMPTS: dict[str, tuple[str, Attempt]] = {  # what each needs besides a shell, and what it does
    **{
        f"{name!r} without end": ("shell", calls("run", command=f"yes $'{name}' | tr -d '\\n' | head -c 400000"))
        for name in TEXTS
    },
    "lines without end": ("shell", calls("run", command="yes | head -c 60000000")),
    "brackets to the kernel's stream": ("jupyter", calls("run_cell", code=LINES.format("b'[' * 1000000"), timeout_s=5)),
    "60 MB of JSON to it": ("jupyter", calls("run_cell", code=LINES.format("b'[],' * 20000000"), timeout_s=5)),
    "a number of 1 MB to it": ("jupyter", calls("run_cell", code=LINES.format("b'9' * 1000000"), timeout_s=5)),
    "a cell that prints escapes": ("jupyter", calls("run_cell", code="print('\\033[' * 1000000)", timeout_s=5)),
    "a cell that prints 20 MB": ("jupyter", calls("run_cell", code="print('ü[' * 10000000)", timeout_s=5)),
    "80,000 listening sockets": (
        "shell", once_then(f"python3 -ISc '{SOCKETS}' >/dev/null 2>&1 & sleep 5", lambda session: session.look()),
    ),
    "400 programs in each other": (
        "shell", once_then(f"sh -c '{NEST}' '{NEST}' 400 & sleep 2", lambda session: session.look()),
    ),
    "20,000 files in a closed folder": ("shell", once_then(f'python3 -ISc "{MANY}"', snapshot)),
    "a list of 20,000 files": (
        "files", once_then(f'python3 -ISc "{MANY}"; chmod 700 many', calls("list", path="many", limit=10000)),
    ),
    "a file of 200 MB read and searched": (
        "files", once_then("yes | head -c 200000000 > big", calls("search", path=".", pattern="(y\\n)*z")),
    ),
    "a screen written over": ("desktop", once_then(SCREEN, calls("screenshot"))),
}  # fmt: skip


class Heartbeat:
    def __init__(self) -> None:
        self.late: list[tuple[float, float]] = []  # when, seconds
        self.worked: list[tuple[float, float]] = []  # when, seconds of the processor since the beat before

    async def beat(self) -> None:
        while True:
            at, worked = time.monotonic() + PERIOD_S, time.thread_time()
            await asyncio.sleep(PERIOD_S)
            self.late.append((at, time.monotonic() - at))
            self.worked.append((at, time.thread_time() - worked))


async def again(attempt: Attempt, session: ComputerSession, until: float, said: collections.Counter[str]) -> None:
    while time.monotonic() < until:
        try:
            await attempt(session)
            said["done"] += 1
        except (InputError, SandboxFailure, RequestError) as refused:
            said[f"{type(refused).__name__}: {str(refused)[:60]}"] += 1
            await asyncio.sleep(0.05)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--each", action="store_true")
    given = parser.parse_args()
    heart, others = Heartbeat(), []
    with subprocess.Popen([sys.executable, "-ISc", CONTROL], stdout=subprocess.PIPE, text=True) as control:
        assert control.stdout is not None
        control.stdout.readline()

        def listen() -> None:
            assert control.stdout is not None
            with contextlib.suppress(ValueError):
                for line in control.stdout:
                    others.extend(json.loads(line))

        listening = asyncio.create_task(asyncio.to_thread(listen))
        beating = asyncio.create_task(heart.beat())

        def tell(what: str, since: float, until: float) -> None:
            for who, late in (("loop", heart.late), ("work", heart.worked), ("control", others)):
                found = sorted(1000 * seconds for at, seconds in late if since <= at < until)
                middle, high = found[len(found) // 2], found[len(found) * 99 // 100]
                words = f"{what:36} {who:8} median {middle:6.1f}  99 of 100 {high:6.1f}  most {found[-1]:6.1f}"
                print(words, flush=True)

        with tempfile.TemporaryDirectory() as folder:
            computers = ContainedComputers(given.isolation)
            async with ComputerSessions(computers, Path(folder) / "state") as sessions:
                leased = {}
                for name, (part, _) in ATTEMPTS.items():
                    fields = {"parts": sorted({"shell", part}), "processes": 1000, "memory_mib": 1024}
                    leased[name], _ = await sessions.lease(read_spec(RequestFields(fields)), "ann", seconds=3600)
                print(f"isolation {computers.isolation().name}, {len(leased)} computers")
                since = time.monotonic()
                await asyncio.sleep(given.seconds / 3)
                tell("idle", since, time.monotonic())

                async def attack(names: list[str], seconds: float) -> dict[str, collections.Counter[str]]:
                    until = time.monotonic() + seconds
                    said: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in names}
                    work = [again(ATTEMPTS[name][1], leased[name], until, said[name]) for name in names]
                    await asyncio.gather(*work)
                    return said

                since = time.monotonic()
                said = await attack(list(ATTEMPTS), given.seconds)
                tell("all at once", since, time.monotonic())
                for name, counts in said.items():
                    print(f"    {name:36} {dict(counts)}")
                for name in ATTEMPTS if given.each else ():
                    since = time.monotonic()
                    await attack([name], given.seconds / 10)
                    tell(name, since, time.monotonic())
        beating.cancel()
        control.terminate()
        await listening


if __name__ == "__main__":
    asyncio.run(main())
