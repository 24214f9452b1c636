"""What computers cost: start, forks by files and live, suspension, shells, groups from one prepared, many in a row.

    PYTHONPATH=. python tests/benchmarks/computers.py [--starts 20] [--forks 8] [--suspends 5] [--shells 64]
        [--group 8] [--row 1000] [--state-mib 50]

As root, and with CRIU (launch/criu.sh) for what is live. A start ends when the guest answers. A live fork carries a
Python program with `state-mib` in memory and an open shell. Preparing a group's session writes 2,000 files and starts a
program that computes for a second; the same session is then prepared once and forked. Memory is that of the control
groups, files that were read included. 0 leaves a part out.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.shell import Shell
from tests.benchmarks.containers import counted, shown, timed

HOLD = "data = bytearray(b'x' * ({mib} << 20)); open('ready', 'w').close(); import time; time.sleep(3600)"
PREPARE = """mkdir many; for i in $(seq 2000); do echo $i > many/$i; done
python3 -c "
import time
until, words = time.monotonic() + 1, bytearray(b'x' * ({mib} << 20))
while time.monotonic() < until: pass
open('ready', 'w').close()
time.sleep(3600)" &
while ! [ -e ready ]; do sleep 0.01; done"""


def mib(computers: list[Computer]) -> float:
    return sum(computer.container.memory_bytes() or 0 for computer in computers) / (1 << 20)


async def closed(computers: list[Computer]) -> None:
    for computer in computers:
        await computer.close()


async def starts(computers: Computers, count: int) -> None:
    opened: list[float] = []
    ended: list[float] = []
    memory = []
    for _ in range(count):
        computer = await timed(computers.open(), opened)
        memory.append(mib([computer]))
        await timed(computer.close(), ended)
    shown("start", opened)
    shown("close", ended)
    print(f"memory of one: {sum(memory) / count:.1f} MiB", flush=True)


async def forks(computers: Computers, count: int, state_mib: int) -> None:
    parent = await computers.open()
    async with Shell(parent.machine) as shell:
        await shell.run("NAME=kept")
        await parent.machine.start(["python3", "-c", HOLD.format(mib=state_mib)])
        while not (await parent.home())[0]:
            await asyncio.sleep(0.05)
        for way in ("files", *(("live",) if computers.forks == "live" else ())):
            saving: list[float] = []
            opening: list[float] = []
            saved = await timed(parent.save(way), saving)
            made = [await timed(computers.open_saved(saved), opening) for _ in range(count)]
            await saved.remove()
            shown(f"save for forks, {way}", saving)
            shown(f"a fork from it, {way}", opening)
            print(f"memory of each: {mib(made) / count:.1f} MiB (parent: {mib([parent]):.1f})", flush=True)
            if way == "live":
                said = (await Shell.restore(made[-1].machine, shell.snapshot()).run("echo $NAME")).output
                assert said == "kept\n", said
            await closed(made)
            together: list[float] = []
            made = await timed(parent.fork(count, way), together)
            shown(f"fork({count}), {way}", together)
            await closed(made)
    await parent.close()


async def suspends(computers: Computers, count: int, state_mib: int) -> None:
    computer = await computers.open()
    await computer.machine.start(["python3", "-c", HOLD.format(mib=state_mib)])
    while not (await computer.home())[0]:
        await asyncio.sleep(0.05)
    before = mib([computer])
    down: list[float] = []
    up: list[float] = []
    for _ in range(count):
        where = await timed(computer.suspend(), down)
        await timed(computer.resume(), up)
    shown(f"suspend ({where})", down)
    shown("resume", up)
    print(f"memory that it frees: {before:.1f} MiB", flush=True)
    await computer.close()


async def shells(computers: Computers, count: int) -> None:
    computer = await computers.open()
    before, begin = mib([computer]), time.perf_counter()
    opened = [Shell(computer.machine) for _ in range(count)]
    await asyncio.gather(*(shell.open() for shell in opened))
    taken = time.perf_counter() - begin
    said = await asyncio.gather(*(shell.run(f"echo {number}") for number, shell in enumerate(opened)))
    assert [int(each.output) for each in said] == list(range(count))
    print(f"{count} shells at once: {taken:.2f} s, {(mib([computer]) - before) / count:.2f} MiB each", flush=True)
    await computer.close()


async def groups(computers: Computers, size: int, state_mib: int) -> None:
    async def prepared() -> Computer:
        computer = await computers.open()
        ran = await computer.machine.run(["bash", "-c", PREPARE.format(mib=state_mib)], timeout_s=120)
        assert ran.status == 0, ran
        return computer

    ways = ["prepared each", "live" if computers.forks == "live" else "", "files"]
    for way in filter(None, ways):
        begin = time.perf_counter()
        if way == "prepared each":
            members = [await prepared() for _ in range(size)]
        else:
            first = await prepared()
            saved = await first.save(way)
            await first.close()
            members = [await computers.open_saved(saved) for _ in range(size)]
            await saved.remove()
        taken = time.perf_counter() - begin
        print(f"a group of {size}, {way}: {taken:.2f} s, {mib(members):.0f} MiB in all", flush=True)
        await closed(members)


async def row(computers: Computers, count: int) -> None:
    before, begin = counted(), time.perf_counter()
    for _ in range(count):
        await (await computers.open()).close()
    each = 1000 * (time.perf_counter() - begin) / count
    print(f"{count} in a row: {each:.1f} ms each; before {before}, after {counted()}", flush=True)


async def main(given: argparse.Namespace) -> None:
    async with Computers() as computers:
        why = f" ({computers.why_not_live})" if computers.why_not_live else ""
        print(f"forks: {computers.forks}{why}")
        print(f"{'':<28}{'ms':>9}{'least':>9}{'9 of 10':>9}")
        if given.starts:
            await starts(computers, given.starts)
        if given.forks:
            await forks(computers, given.forks, given.state_mib)
        if given.suspends:
            await suspends(computers, given.suspends, given.state_mib)
        if given.shells:
            await shells(computers, given.shells)
        if given.group:
            await groups(computers, given.group, given.state_mib)
        if given.row:
            await row(computers, given.row)
    print(f"in the end: {counted()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("starts", 20), ("forks", 8), ("suspends", 5), ("shells", 64), ("group", 8), ("row", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--state-mib", type=int, default=50)
    asyncio.run(main(parser.parse_args(sys.argv[1:])))
