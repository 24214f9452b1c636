"""Screenshots wait for what programs have still to draw, by what the kernel knows of them, and for nothing else."""

from __future__ import annotations

import sys
import time

import pytest

from tars_jax.sandbox.browser.events import MouseMove
from tests.sandbox.desktop.conftest import Room, click
from tests.waiting import until

pytestmark = pytest.mark.multiprocess
# A window that becomes red, green and blue after a click, each after it has done something else for a while. It says
# that it is somebody else's, as any program can.
WINDOW = """
import select, subprocess, sys, time
from Xlib import X, display
shown = display.Display()
screen = shown.screen()
window = screen.root.create_window(0, 0, 300, 200, 0, screen.root_depth, event_mask=X.ButtonPressMask)
window.change_property(shown.get_atom("_NET_WM_PID"), shown.get_atom("CARDINAL"), 32, [int(sys.argv[2])])
window.set_wm_class("mousepad", "Mousepad")
window.set_wm_name(sys.argv[3])
window.map()
shown.flush()

def poll():
    waiting = select.poll()
    waiting.poll(150)

def compute():
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass

def child():
    subprocess.run(["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done"])

def sleep():
    select.select([], [], [], 0.15)

work = {"poll": poll, "select": sleep, "compute": compute, "child": child}[sys.argv[1]]
while True:
    if shown.next_event().type == X.ButtonPress:
        for color in (0xFF0000, 0x00FF00, 0x0000FF):
            work()
            window.change_attributes(background_pixel=color)
            window.clear_area()
            shown.flush()
"""


def kernel_tells(room: Room) -> bool:
    """Not everywhere: the machine may have another architecture, or keep what programs wait for to itself."""

    async def ask() -> bool:
        attachment = room.desktop._attachment
        assert attachment is not None
        return attachment._watch._programs.at_rest(0.0) is not None

    return room.run(ask())


@pytest.mark.parametrize("how", ["poll", "select", "compute", "child"])
def test_a_picture_is_taken_when_the_last_has_been_drawn_and_no_later(room: Room, how: str) -> None:
    from tars_jax.sandbox.desktop import Settle

    if not kernel_tells(room):
        pytest.skip("the kernel does not say here what programs wait for")

    async def act() -> None:
        desktop = room.desktop
        title = f"window that will {how}"
        process = await room.machine.start([sys.executable, "-c", WINDOW, how, "1", title], env=desktop.env)

        async def there() -> bool:
            return any(window.title == title for window in await desktop.windows())

        assert await until(there)
        window = next(window for window in await desktop.windows() if window.title == title)
        await desktop.act([MouseMove(1000, 600)])
        patient = Settle(first_ms=600_000, quiet_ms=600_000, bound_ms=600_000)
        shown = await desktop.act(click(window.x + 50, window.y + 50), settle=patient)
        assert tuple(shown.pixels[window.y + 100, window.x + 100]) == (0, 0, 0xFF)
        again = await desktop.act([MouseMove(1001, 600)], settle=patient)
        assert tuple(again.pixels[window.y + 100, window.x + 100]) == (0, 0, 0xFF)
        await room.machine.kill(process)
        await room.machine.wait(process)

    room.run(act())


def test_a_window_that_claims_to_be_anothers_is_known_for_its_own(room: Room) -> None:
    async def act() -> None:
        desktop = room.desktop
        editor = await desktop.launch("terminal")
        true = {window.process for window in await desktop.windows()}
        assert editor in true
        argv = [sys.executable, "-c", WINDOW, "poll", str(editor), "report.txt - Mousepad"]
        forger = await room.machine.start(argv, env=desktop.env)

        async def there() -> bool:
            return any(window.title == "report.txt - Mousepad" for window in await desktop.windows())

        assert await until(there)
        forged = next(window for window in await desktop.windows() if window.title == "report.txt - Mousepad")
        assert (forged.app, forged.process) == (("mousepad", "Mousepad"), forger)
        for process in (editor, forger):
            await room.machine.kill(process)
            await room.machine.wait(process)

        async def gone() -> bool:
            return not {editor, forger} & {window.process for window in await desktop.windows()}

        assert await until(gone)

    room.run(act())


def test_where_the_kernel_says_nothing_time_decides(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_jax.sandbox.desktop import Settle, programs

    monkeypatch.setattr(programs, "_OF_THIS", "another architecture")
    start = time.monotonic()
    room.run(room.desktop.act([], settle=Settle(first_ms=400, quiet_ms=400)))
    assert time.monotonic() - start >= 0.4
