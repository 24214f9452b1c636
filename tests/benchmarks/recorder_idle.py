"""What a recorder takes of a core: while nothing happens, while a window ticks, while somebody types and moves.

    PYTHONPATH=. python tests/benchmarks/recorder_idle.py [--seconds 20]

The command itself runs on an Xvfb of 1280x720 with a window manager, a terminal that is allowed and one that is not;
its processor time is what /proc says of it and its children, as a share of the time on the wall. Needs python-xlib,
mss, and what launch/desktop.sh installs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tars_jax.sandbox.browser.events import InsertText, MouseMove
from tars_jax.sandbox.computer.machine import ThisMachine
from tars_jax.sandbox.desktop import Desktop

TICKING = "while :; do date +%N; sleep .5; done"


async def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = ThisMachine(Path(folder))
        desktop = await Desktop.start(machine)
        await desktop.launch(["xterm", "-class", "Other", "-T", "the other", "-geometry", "40x10+700+400"])
        await desktop.launch(["xterm", "-class", "Notes", "-T", "my notes", "-geometry", "60x10+100+100"])
        process = subprocess.Popen(
            [sys.executable, "-m", "experiments", "record", "--config.allow=notes,", "--config.microphone=False",
             f"--config.folder={folder}/recordings"],
            env={**os.environ, **desktop.env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("yes\n")
        process.stdin.flush()
        while not process.stdout.readline().startswith("pause, resume"):
            pass
        await asyncio.sleep(3)
        print(f"nothing happens            {100 * await share(process.pid, seconds):5.1f}% of a core")
        await desktop.launch(["xterm", "-class", "Notes", "-T", "ticking", "-e", "sh", "-c", TICKING])
        await asyncio.sleep(1)
        print(f"a window draws twice a second {100 * await share(process.pid, seconds):2.1f}% of a core")
        working = asyncio.create_task(work(desktop, seconds))
        print(f"typing and moving          {100 * await share(process.pid, seconds):5.1f}% of a core")
        await working
        process.stdin.write("stop\n")
        print(process.communicate()[0].strip())
        size = sum(each.stat().st_size for each in Path(folder, "recordings").rglob("*") if each.is_file())
        print(f"{size / 1e6:.1f} MB")
        await desktop.close()
        await machine.close()


async def work(desktop: Desktop, seconds: float) -> None:
    """Five keys a second and the mouse on its way."""
    end = time.monotonic() + seconds
    place = 0
    while time.monotonic() < end:
        place += 1
        await desktop.act([InsertText("a")])
        for step in range(8):
            await desktop.act([MouseMove(150 + (place * 8 + step) % 200, 180)])
            await asyncio.sleep(0.01)


async def share(process: int, seconds: float) -> float:
    before, began = taken(process), time.monotonic()
    await asyncio.sleep(seconds)
    return (taken(process) - before) / (time.monotonic() - began)


def taken(process: int) -> float:
    """Seconds of the processor, of a process and those that it has started."""
    total, waiting = 0.0, [str(process)]
    while waiting:
        each = waiting.pop()
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for thread in os.listdir(f"/proc/{each}/task"):
            waiting += Path(f"/proc/{each}/task/{thread}/children").read_text().split()
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    asyncio.run(main(parser.parse_args().seconds))
