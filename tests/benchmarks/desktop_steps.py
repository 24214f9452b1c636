"""A step of a desktop, a click and the picture that shows its effect, with PyAutoGUI and mss; what a desktop takes.

    PYTHONPATH=. python tests/benchmarks/desktop_steps.py [--steps 300] [--turns 3] [--desktops 16]

The screen is 1280x720. A click changes the color of a window's place, 400x300 pixels. PyAutoGUI clicks without its
pause, and mss grabs until it sees the color change, which only a benchmark knows to look for; ours waits for a first
change (`Settle` with no time of quiet), and until the screen has settled, which is the default. A picture is pixels, or
a PNG as observations have it: Pillow's at level 1 there. In the last row a click changes nothing. Processor time is
the client's; it compares better than steps per second on a machine with other work. Needs python-xlib, pyautogui and
mss, and what launch/desktop.sh installs.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tars_jax.sandbox.browser.events import MouseDown, MouseMove, MouseUp
from tars_jax.sandbox.computer.machine import ThisMachine
from tars_jax.sandbox.desktop import Desktop, Settle

# A window that is drawn anew at each press, by X alone, so that no toolkit is measured.
WINDOW = """
from Xlib import X, display
shown = display.Display()
screen = shown.screen()
window = screen.root.create_window(0, 0, 400, 300, 0, screen.root_depth, event_mask=X.ButtonPressMask,
                                   override_redirect=True, background_pixel=0)
window.map()
pixel = 0
while True:
    if shown.next_event().type == X.ButtonPress:
        pixel ^= 0xFFFFFF
        window.change_attributes(background_pixel=pixel)
        window.clear_area()
        shown.flush()
"""
PEER = """
import io, sys, time
import mss, pyautogui
from PIL import Image
pyautogui.PAUSE, pyautogui.FAILSAFE = 0, False
steps, png = int(sys.argv[1]), sys.argv[2] == "PNG"
with getattr(mss, 'MSS', None)() if hasattr(mss, 'MSS') else mss.mss() as screen:
    area, grabs, last = screen.monitors[0], 0, None
    start, processor = time.perf_counter(), time.process_time()
    for step in range(steps):
        pyautogui.click(150 + step % 7, 150)
        give_up = time.perf_counter() + 1
        while time.perf_counter() < give_up:
            shown = screen.grab(area)
            pixel = bytes(shown.raw[:3])
            grabs += 1
            if pixel != last:
                break
        last = pixel
        if png:
            picture = Image.frombytes("RGB", shown.size, bytes(shown.raw), "raw", "BGRX")
            picture.save(io.BytesIO(), "PNG", compress_level=1)
seconds, processor = time.perf_counter() - start, time.process_time() - processor
print(steps / seconds, 1000 * processor / steps, grabs / steps)
"""
Turn = tuple[float, float, float]  # steps/s, the client's processor ms a step, and what the last one means
CHANGE, DEFAULT = Settle(first_ms=1000, quiet_ms=0), Settle()


async def ours(desktop: Desktop, steps: int, settle: Settle, at: tuple[int, int], png: bool) -> Turn:
    """Its last number: screenshots that show no effect."""
    stale, last, start, processor = 0, None, time.perf_counter(), time.process_time()
    for step in range(steps):
        x, y = at[0] + step % 7, at[1]
        shown = await desktop.act([MouseMove(x, y), MouseDown(x, y), MouseUp(x, y)], settle=settle)
        pixel = tuple(shown.pixels[0, 0])
        stale += pixel == last
        last = pixel
        if png:
            assert shown.png
    return steps / (time.perf_counter() - start), 1000 * (time.process_time() - processor) / steps, stale


async def peer(desktop: Desktop, steps: int, png: bool) -> Turn:
    """Its last number: grabs a step."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PEER, str(steps), "PNG" if png else "pixels", env={**os.environ, **desktop.env},
        stdout=subprocess.PIPE,
    )  # fmt: skip
    rate, cost, grabs = map(float, (await process.communicate())[0].split()[-3:])
    return rate, cost, grabs


def memory_mib(pids: set[int]) -> float:
    """Proportional set size, so that what processes share is counted once."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def descendants(pid: int) -> set[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {pid for child in children for pid in {int(child), *descendants(int(child))}}


async def speed(arguments: argparse.Namespace, home: Path) -> None:
    machine = ThisMachine(home)
    start = time.perf_counter()
    desktop = await Desktop.start(machine)
    print(f"start of a desktop: {1000 * (time.perf_counter() - start):.0f} ms")
    await machine.start([sys.executable, "-c", WINDOW], env=desktop.env)
    await asyncio.sleep(2)
    window, nothing = (150, 150), (700, 500)
    sides: dict[str, Callable[[], Awaitable[Turn]]] = {
        "pixels: pyautogui + mss": lambda: peer(desktop, arguments.steps, False),
        "pixels: ours, first change": lambda: ours(desktop, arguments.steps, CHANGE, window, False),
        "pixels: ours, settled": lambda: ours(desktop, arguments.steps, DEFAULT, window, False),
        "PNG: pyautogui + mss": lambda: peer(desktop, arguments.steps, True),
        "PNG: ours, settled": lambda: ours(desktop, arguments.steps, DEFAULT, window, True),
        "PNG: ours, no change": lambda: ours(desktop, arguments.steps, DEFAULT, nothing, True),
    }
    if not all(importlib.util.find_spec(name) for name in ("mss", "pyautogui")):
        print("mss and pyautogui are not installed: only ours is measured (pip install mss pyautogui)")
        sides = {name: side for name, side in sides.items() if "mss" not in name}
    base = (math.nan, math.nan)
    rows: dict[str, list[Turn]] = {name: [] for name in sides}
    for _ in range(arguments.turns):
        for name, side in sides.items():
            rows[name].append(await side())
    print(f"{'':<28}{'steps/s':>9}{'ratio':>7}{'ms/step':>9}{'ratio':>7}")
    for name, turns in rows.items():
        rate, cost, last = (statistics.median(column) for column in zip(*turns, strict=True))
        if "mss" in name:
            base, note = (rate, cost), f"{last:.1f} grabs a step"
        else:
            note = "" if "no change" in name else f"{sum(turn[2] for turn in turns):.0f} without the effect"
        print(f"{name:<28}{rate:>9.0f}{rate / base[0]:>7.1f}{cost:>9.2f}{base[1] / cost:>7.1f}  {note}")
    await desktop.close()
    await machine.close()


async def many(arguments: argparse.Namespace, home: Path) -> None:
    machine = ThisMachine(home)
    start = time.perf_counter()
    desktops = [await Desktop.start(machine) for _ in range(arguments.desktops)]
    seconds = time.perf_counter() - start
    empty = memory_mib(descendants(os.getpid()))
    for desktop in desktops:
        await desktop.launch("terminal")
    full = memory_mib(descendants(os.getpid()))
    print(
        f"{len(desktops)} desktops at once: {seconds / len(desktops):.2f} s each to start, "
        f"{empty / len(desktops):.0f} MiB each with the window manager, {full / len(desktops):.0f} with a terminal"
    )
    start = time.perf_counter()
    await asyncio.gather(*(ours_at_once(desktop, 30) for desktop in desktops))
    print(f"all at once: {30 * len(desktops) / (time.perf_counter() - start):.0f} steps/s in all")
    for desktop in desktops:
        await desktop.close()
    await machine.close()


async def ours_at_once(desktop: Desktop, steps: int) -> None:
    for step in range(steps):
        await desktop.act([MouseMove(100 + step, 100)], settle=Settle(first_ms=5, quiet_ms=5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--desktops", type=int, default=16)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(speed(arguments, Path(folder)))
        if arguments.desktops:
            asyncio.run(many(arguments, Path(folder)))


if __name__ == "__main__":
    main()
