"""A desktop on real X: what is typed arrives, what is drawn is seen, what goes wrong is said."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.sandbox.browser.events import InputEvent, InsertText, KeyDown, KeyUp, MouseDown, MouseMove, Wheel
from tars_jax.sandbox.computer.machine import ThisMachine
from tars_jax.sandbox.failures import Broken, SandboxFailure
from tests.sandbox.desktop.conftest import Room, click
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.multiprocess
WRITTEN = "Grüße, “Wörld” ß € ¿ñ Ωμ сколько łąćź 你好 😀🚀 {[|]}~^`´ ABCxyz 42%$#@!"


def test_a_screenshot_is_png_and_pixels_with_the_cursor(room: Room) -> None:
    desktop = room.desktop
    shown = room.run(desktop.act([MouseMove(640, 700)]))
    assert shown.size == desktop.size == (1280, 720)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(shown.png))), shown.pixels)
    assert room.run(desktop.pointer()) == (640, 700)
    moved = room.run(desktop.act([MouseMove(40, 40)]))
    changed = np.argwhere((shown.pixels != moved.pixels).any(-1))
    assert {tuple(place // 100) for place in changed} <= {(0, 0), (6, 6), (7, 6)}, "only the cursor is elsewhere"
    assert tuple(moved.pixels[400, 5]) == (0x2C, 0x3E, 0x50)


def test_text_of_any_script_arrives_in_a_terminal(room: Room) -> None:
    async def type_it() -> None:
        (room.home / "typed").unlink(missing_ok=True)
        await room.desktop.launch("terminal", "-e", "cat > typed; read line")

        async def active() -> bool:
            return (await room.desktop.windows())[-1].active

        assert await until(active)
        window = (await room.desktop.windows())[-1]
        assert (window.app, window.process is not None) == (("xterm", "XTerm"), True)
        keys: list[InputEvent] = [event for key in "a*B7?" for event in (KeyDown(key), KeyUp(key))]
        shifted: list[InputEvent] = [
            KeyDown("Shift"),
            KeyDown("c"),
            KeyUp("c"),
            KeyUp("Shift"),
            KeyDown("Enter"),
            KeyUp("Enter"),
        ]
        await room.desktop.act([InsertText(f"{WRITTEN}\n{WRITTEN[::-1]}\n"), *keys, *shifted])
        capitals: list[InputEvent] = [KeyDown("CapsLock"), KeyUp("CapsLock")]
        await room.desktop.act([*capitals, InsertText(f"éÉ яЯ αΩ ß {WRITTEN}\n"), *capitals])
        await room.desktop.act([KeyDown("Control"), KeyDown("d"), KeyUp("d"), KeyUp("Control")])
        lines = f"{WRITTEN}\n{WRITTEN[::-1]}\na*B7?C\néÉ яЯ αΩ ß {WRITTEN}\n"

        async def arrived() -> bool:
            return (room.home / "typed").read_text("utf-8") == lines

        assert await until(arrived), (room.home / "typed").read_text("utf-8")
        await room.desktop.close_window(window.id)

        async def closed() -> bool:
            return window.id not in [other.id for other in await room.desktop.windows()]

        assert await until(closed)

    room.run(type_it())


def test_the_menu_of_the_screen_starts_an_application(room: Room) -> None:
    async def choose() -> None:
        before = await room.desktop.act([MouseMove(900, 300)])
        count = len(await room.desktop.windows())
        shown = await room.desktop.act(click(900, 300, "right"))
        for _ in range(100):
            if not np.array_equal(before.pixels[305:340, 905:960], shown.pixels[305:340, 905:960]):
                break
            shown = await room.desktop.act([])
        await room.desktop.act(click(920, 312))

        async def opened() -> bool:
            return len(await room.desktop.windows()) > count

        assert await until(opened)
        for window in await room.desktop.windows():
            await room.desktop.close_window(window.id)

    room.run(choose())


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (MouseDown(1, 1, "fourth"), "mouse button must be one of left, middle, right; got 'fourth'"),
        (MouseMove(float("nan"), 1), "mouse position must be two finite numbers of pixels"),
        (KeyDown("Hyper"), "key must be one character of the US layout or one of"),
        (InsertText("a\0b"), "text must be of characters that a keyboard types"),
        (Wheel(1, 1, 0, float("inf")), "wheel must be two numbers of pixels"),
    ],
)
def test_an_event_that_cannot_be_is_refused_before_any_is_sent(room: Room, event: object, words: str) -> None:
    at = room.run(room.desktop.pointer())
    with pytest.raises(InputError, match=words):
        room.run(room.desktop.act([MouseMove(3, 3), event]))  # type: ignore[list-item]
    assert room.run(room.desktop.pointer()) == at


def test_an_application_that_does_not_start_is_said(room: Room) -> None:
    async def launch(*argv: str) -> None:
        await room.desktop.launch(argv, window_s=0.5)

    with pytest.raises(InputError, match="'sh' ended with status 3: no luck"):
        room.run(launch("sh", "-c", "echo no luck >&2; exit 3"))
    with pytest.raises(InputError, match="'sleep' opened none within 0.5 s"):
        room.run(launch("sleep", "60"))
    with pytest.raises(InputError, match="application must be one of terminal, editor"):
        room.run(room.desktop.launch("no such"))


def test_who_has_no_cookie_is_refused(room: Room) -> None:
    display = room.desktop.env["DISPLAY"]
    stranger = {**os.environ, "DISPLAY": display, "XAUTHORITY": "/dev/null"}
    asked = subprocess.run(["xterm", "-e", "true"], env=stranger, capture_output=True, text=True, timeout=PATIENCE_S)
    assert asked.returncode != 0 and "uthoriz" in asked.stderr
    with_cookie = {**os.environ, **room.desktop.env}
    assert subprocess.run(["xterm", "-e", "true"], env=with_cookie, timeout=60).returncode == 0


def test_two_desktops_on_one_machine_and_a_dead_server_is_a_failure(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tars_jax.sandbox.desktop import Desktop, DesktopConfig
    from tars_jax.sandbox.desktop import desktop as desktop_module

    async def live() -> None:
        machine = ThisMachine(tmp_path)
        desktop = await Desktop.start(machine, DesktopConfig(width=320, height=240))
        assert desktop.env["DISPLAY"] != room.desktop.env["DISPLAY"]
        assert (await desktop.screenshot()).pixels.shape == (240, 320, 3)
        await machine.kill(desktop.processes[0], signal.SIGSEGV)
        monkeypatch.setattr(desktop_module, "ENDS_IN_S", 0.0)  # which it outlives on a busy machine, as it says why
        for _ in range(2):
            with pytest.raises(Broken, match="the X server was ended inside, "):
                await desktop.act([MouseMove(1, 1)])
        await desktop.close()
        with pytest.raises(SandboxFailure, match="desktop: it is closed"):
            await desktop.screenshot()
        await machine.close()

    asyncio.run(live())
    assert room.run(room.desktop.screenshot()).size == (1280, 720)


def test_a_server_that_is_stopped_inside_is_waited_for_once(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tars_jax.sandbox.desktop import Desktop

    async def live() -> None:
        machine = ThisMachine(tmp_path)
        desktop = await Desktop.start(machine)
        await machine.kill(desktop.processes[0], signal.SIGSTOP)
        monkeypatch.setattr("tars_jax.sandbox.desktop.desktop.CALL_S", 0.5)
        with pytest.raises(Broken, match="the X server was stopped inside"):
            await desktop.act([MouseMove(1, 1)])
        monkeypatch.setattr("tars_jax.sandbox.desktop.desktop.CALL_S", 100 * PATIENCE_S)
        for call in (desktop.screenshot, desktop.windows, lambda: desktop.act([MouseMove(1, 1)])):
            with pytest.raises(Broken, match="the X server was stopped inside"):
                await asyncio.wait_for(call(), PATIENCE_S)
        await desktop.detach()  # as before a copy
        await desktop.attach()
        await desktop.close()
        await machine.close()

    asyncio.run(live())


GRABS = """
import sys, time
from Xlib.display import Display
display = Display(sys.argv[1])
display.grab_server()
display.sync()
print("held", flush=True)
time.sleep(600)
"""


def test_a_server_that_a_program_keeps_to_itself_is_the_doing_of_who_is_inside(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tars_jax.sandbox.desktop import Desktop

    async def live() -> None:
        machine = ThisMachine(tmp_path)
        desktop = await Desktop.start(machine)
        monkeypatch.setattr("tars_jax.sandbox.desktop.desktop.CALL_S", 0.5)
        desktop._thread.submit(time.sleep, 2)  # it is us who are late
        with pytest.raises(SandboxFailure, match="has not answered within"):
            await desktop.windows()
        await desktop.close()

        monkeypatch.setattr("tars_jax.sandbox.desktop.desktop.CALL_S", PATIENCE_S)
        desktop = await Desktop.start(machine)
        grabber = subprocess.Popen(
            [sys.executable, "-c", GRABS, desktop.env["DISPLAY"]],
            env={**os.environ, **desktop.env},
            stdout=subprocess.PIPE,
        )
        try:
            assert grabber.stdout is not None and grabber.stdout.readline() == b"held\n"
            monkeypatch.setattr("tars_jax.sandbox.desktop.desktop.CALL_S", 0.5)
            with pytest.raises(Broken, match="the X server is held inside"):
                await desktop.windows()
        finally:
            grabber.kill()
            grabber.wait()
            if grabber.stdout is not None:
                grabber.stdout.close()
        await desktop.close()
        await machine.close()

    asyncio.run(live())


def test_a_frame_buffer_that_was_cut_short_is_the_doing_of_who_is_inside(room: Room, tmp_path: Path) -> None:
    from tars_jax.sandbox.desktop import Desktop

    async def live() -> None:
        machine = ThisMachine(tmp_path)
        desktop = await Desktop.start(machine)
        os.truncate(Path(desktop.env["XAUTHORITY"]).parent / "Xvfb_screen0", 4096)
        with pytest.raises(Broken, match="frame buffer was cut short"):
            await desktop.screenshot()
        await desktop.close()
        await machine.close()

    asyncio.run(live())
