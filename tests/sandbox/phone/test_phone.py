"""A Phone drives the stand-in by adbutils and a real ADB server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.failures import FAILURES, SandboxFailure
from tars_jax.sandbox.phone import PHONE_FAILURES, AdbServer, Phone, PhoneConfig
from tars_jax.sandbox.phone.app_names import find_package
from tars_jax.sandbox.phone.screens import read_png, same
from tars_jax.sandbox.phone.stand_in import shell_service
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.device.tables import OWN_KEYBOARD
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tars_jax.sandbox.phone.text_input import pieces
from tests.sandbox.phone.conftest import place_of
from tests.waiting import PATIENCE_S

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def _rows(stand_in: StandIn, package: str, table: str) -> list[Any]:
    return stand_in.call(lambda device: device.find(package).rows(table))  # type: ignore[union-attr]


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with StandIn(StandInDevice(seed=4)) as made:
        yield made


@pytest.fixture
def phone(adb_server: AdbServer, stand_in: StandIn, run: Run) -> Iterator[Phone]:
    pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")
    yield run(Phone(PhoneConfig(serial=stand_in.serial, adb_port=adb_server.port)).start())
    from adbutils import AdbClient

    with contextlib.suppress(Exception):
        AdbClient("127.0.0.1", adb_server.port).disconnect(stand_in.serial)


OnceItSleeps = Callable[[Callable[[], None]], None]


@pytest.fixture
def once_it_sleeps(monkeypatch: pytest.MonkeyPatch) -> OnceItSleeps:
    """Does something, in a thread of its own, once the stand-in runs the next "sleep"."""
    run_line, asleep = shell_service.run, threading.Event()

    async def run(device: StandInDevice, line: str, read_input: Any) -> Any:
        if line.startswith("sleep"):
            asleep.set()
        return await run_line(device, line, read_input)

    def arm(act: Callable[[], None]) -> None:
        monkeypatch.setattr(shell_service, "run", run)
        threading.Thread(target=lambda: act() if asleep.wait(PATIENCE_S) else None, daemon=True).start()

    return arm


def _place(stand_in: StandIn, id: str) -> tuple[float, float]:
    return stand_in.call(lambda device: place_of(device, id))


async def _click(phone: Phone, stand_in: StandIn, *ids: str) -> None:
    for id in ids:
        await phone.click(*_place(stand_in, id))


@pytest.mark.multiprocess
def test_the_screen_and_apps_by_name_and_by_package(phone: Phone, stand_in: StandIn, run: Run) -> None:
    assert run(phone.size()) == run(phone.screenshot()).size == (360, 640)
    assert run(phone.open_app("Notes")) == "com.tarsjax.notes"
    assert run(phone.open_app("com.tarsjax.calculator")) == "com.tarsjax.calculator"
    assert run(phone.front_app()) == ("com.tarsjax.calculator", ".MainActivity")
    run(phone.press_home())
    assert run(phone.front_app())[0] == "com.tarsjax.launcher"
    run(phone.press_recents())
    run(phone.press_back())
    with pytest.raises(InputError, match="app_name must be an app of the phone"):
        run(phone.open_app("Chess"))


TEXTS = (
    "plain",
    "two  spaces and 'quotes' \"double\"",
    "100%s %d %% 5% sale",
    "$HOME `id` $(id) \\ ; | & > < * ? # ! ~",
    "Grüße, naïve façade Ωß",
    "😀 日本語 emoji",
    "-n",
)


@pytest.mark.multiprocess
def test_text_arrives_as_it_was(phone: Phone, stand_in: StandIn, run: Run) -> None:
    run(phone.open_app("notes"))
    for text in TEXTS:
        run(_click(phone, stand_in, "new_note"))
        run(phone.type(f"{text}\n{text}"))
        run(_click(phone, stand_in, "save"))
        notes = [(note["title"], note["body"]) for note in _rows(stand_in, "com.tarsjax.notes", "notes/notes")]
        assert (text, text) in notes
        assert stand_in.call(lambda device: device.setting("secure", "default_input_method")) == OWN_KEYBOARD


@pytest.mark.multiprocess
def test_letters_that_no_way_leads_to(phone: Phone, stand_in: StandIn, run: Run) -> None:
    stand_in.call(lambda device: setattr(device, "keyboards", (OWN_KEYBOARD,)))
    with pytest.raises(InputError, match="printable ASCII on a phone that has neither"):
        run(phone.type("ä"))
    with pytest.raises(InputError, match="control characters"):
        run(phone.type("a\x1b"))


@pytest.mark.multiprocess
def test_fingers(phone: Phone, stand_in: StandIn, run: Run) -> None:
    run(phone.open_app("settings"))
    run(phone.scroll(180, 320, "down"))
    assert stand_in.call(lambda device: device.front.scroll) > 100
    run(phone.scroll(180, 5, "up"))
    assert stand_in.call(lambda device: device.front.scroll) == 0
    run(_click(phone, stand_in, "display"))
    x, y = _place(stand_in, "screen_brightness")
    run(phone.drag((x, y), (x - 90, y)))
    assert abs(int(stand_in.call(lambda device: device.setting("system", "screen_brightness"))) - 64) < 4
    run(phone.open_app("calculator"))
    run(phone.double_click(*_place(stand_in, "key_7")))
    assert _rows(stand_in, "com.tarsjax.calculator", "calculator/state")[0]["display"] == "77"
    run(phone.open_app("phone"))
    run(phone.long_press(*_place(stand_in, "key_0")))
    assert "+" in [widget.text for widget in stand_in.call(lambda device: device.widgets())]
    run(phone.press_home())
    icons = [widget.id for widget in stand_in.call(lambda device: device.widgets()) if widget.kind == "icon"]
    run(phone.drag_and_drop(_place(stand_in, icons[0]), _place(stand_in, icons[1])))
    assert [w.id for w in stand_in.call(lambda device: device.widgets()) if w.kind == "icon"][:2] == icons[1::-1]


@pytest.mark.multiprocess
def test_a_turned_phone_and_other_sizes(phone: Phone, stand_in: StandIn, run: Run) -> None:
    run(phone.rotate(1))
    assert run(phone.size()) == run(phone.screenshot()).size == (640, 360)
    run(phone.rotate(0))
    assert run(phone.shell("wm", "size", "777x501")).status == 0
    assert run(phone.size()) == run(phone.screenshot()).size == (777, 501)
    assert run(phone.settle()).settled


@pytest.mark.multiprocess
def test_a_field_is_cleared_and_keys_have_names(phone: Phone, stand_in: StandIn, run: Run) -> None:
    run(phone.open_app("notes"))
    run(_click(phone, stand_in, "new_note"))
    run(phone.type("wrong"))
    run(phone.clear_text())
    run(phone.type("right"))
    run(phone.key("KEYCODE_7"))
    run(phone.key("DEL"))
    assert stand_in.call(lambda device: device.focus.text) == "right"  # type: ignore[union-attr]
    for key in ("NOKEY", "a b", "x;y"):
        with pytest.raises(InputError):
            run(phone.key(key))
    for place in ((-1, 0), (float("nan"), 0), (0, 1e9)):
        with pytest.raises(InputError, match="pixels"):
            run(phone.click(*place))


@pytest.mark.multiprocess
def test_files(phone: Phone, run: Run) -> None:
    content = bytes(range(256)) * 4000
    run(phone.push(content, "/sdcard/a b ä.bin"))
    assert run(phone.pull("/sdcard/a b ä.bin")) == content
    with pytest.raises(InputError, match="path must be a file"):
        run(phone.pull("/sdcard/none"))


@pytest.mark.multiprocess
def test_a_screenshot_that_comes_broken_is_tried_again_and_then_fails(
    phone: Phone, stand_in: StandIn, run: Run
) -> None:
    import tars_jax.sandbox.phone.stand_in.commands as commands
    from tars_jax.sandbox.phone.stand_in.commands.command import CommandOutput

    whole, broken = commands.COMMANDS["screencap"], 0

    def screencap(device: StandInDevice, args: list[str], given: bytes) -> CommandOutput:
        nonlocal broken
        broken -= 1
        return CommandOutput(whole(device, args, given).stdout[:1000]) if broken >= 0 else whole(device, args, given)

    commands.COMMANDS["screencap"] = screencap
    try:
        broken = 2
        assert run(phone.screenshot()).size == (360, 640)
        broken = 3
        with pytest.raises(SandboxFailure) as failed:
            run(phone.screenshot())
        assert failed.value.kind == "screen"
    finally:
        commands.COMMANDS["screencap"] = whole


@pytest.mark.multiprocess
def test_failures_are_typed(
    adb_server: AdbServer, phone: Phone, stand_in: StandIn, run: Run, once_it_sleeps: OnceItSleeps
) -> None:
    def kind(work: Coroutine[Any, Any, Any]) -> str:
        with pytest.raises(SandboxFailure) as failed:
            run(work)
        assert failed.value.kind in PHONE_FAILURES and failed.value.kind in FAILURES
        return failed.value.kind

    port = adb_server.port
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = free.getsockname()[1]
    assert kind(Phone(PhoneConfig(adb_port=nobody)).start()) == "adb_server"
    assert kind(Phone(PhoneConfig(serial=f"127.0.0.1:{nobody}", adb_port=port)).start()) == "no_device"
    assert kind(Phone(PhoneConfig(serial="emulator-9", adb_port=port)).start()) == "no_device"
    with StandIn() as second, StandIn(authorized=False) as strange:
        run(Phone(PhoneConfig(serial=second.serial, adb_port=port)).start())
        assert kind(Phone(PhoneConfig(adb_port=port)).start()) == "several_devices"
        assert kind(Phone(PhoneConfig(serial=strange.serial, adb_port=port)).start()) == "unauthorized"
    assert kind(phone.shell("sleep", "5", timeout_s=0.5)) == "timeout"
    assert run(phone.shell("echo", "alive")).text == "alive\n"
    once_it_sleeps(stand_in.close)
    assert kind(phone.shell("sleep", "60")) == "offline"
    with StandIn(StandInDevice(seed=4), port=stand_in.port):
        again = run(Phone(PhoneConfig(serial=stand_in.serial, adb_port=port)).start())
        assert run(again.shell("echo", "back")).text == "back\n"


@pytest.mark.multiprocess
def test_an_adb_server_that_is_killed(stand_in: StandIn, run: Run, once_it_sleeps: OnceItSleeps) -> None:
    pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")
    try:
        server = AdbServer()
    except InputError as error:
        pytest.skip(str(error))
    with server:
        phone = run(Phone(PhoneConfig(serial=stand_in.serial, adb_port=server.port)).start())
        once_it_sleeps(server.kill)
        with pytest.raises(SandboxFailure) as failed:
            run(phone.shell("sleep", "60"))
        assert failed.value.kind == "adb_server"
    with AdbServer(port=server.port):
        run(phone.start())
        assert run(phone.shell("echo", "back")).text == "back\n"


@pytest.mark.multiprocess
def test_two_phones_act_at_once(adb_server: AdbServer, phone: Phone, stand_in: StandIn, run: Run) -> None:
    async def both(second: StandIn) -> None:
        async with Phone(PhoneConfig(serial=second.serial, adb_port=adb_server.port)) as other:
            await asyncio.gather(phone.open_app("notes"), other.open_app("phone"))
            fronts = await asyncio.gather(phone.front_app(), other.front_app())
            assert [front[0] for front in fronts] == ["com.tarsjax.notes", "com.android.dialer"]

    with StandIn() as second:
        run(both(second))


def test_without_adbutils_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "adbutils", None)
    with pytest.raises(InputError, match=r"tars_jax\[phone\]"):
        Phone()


@pytest.mark.parametrize(
    "field", [{"adb_port": 70000}, {"screenshot_tries": 0}, {"settle_s": 0}, {"call_timeout_s": -1}]
)
def test_impossible_settings_are_refused(field: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(field))):
        PhoneConfig(**field)


def test_percent_s_is_never_one_part() -> None:
    line = "a %s%%s b" * 60
    parts = list(pieces(line))
    assert "".join(part.replace("%s", " ") for part in parts) == line


def test_pngs_of_odd_phones() -> None:
    image = StandInDevice().screenshot()
    import io

    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    png = buffer.getvalue()
    assert same(read_png(b"[Warning] Multiple displays were found\n" + png), image)
    assert same(read_png(png.replace(b"\n", b"\r\n")), image)
    for bad in (b"", b"error", png[:200], png[:-40]):
        with pytest.raises(InputError, match="screenshot must be"):
            read_png(bad)


@pytest.mark.parametrize(
    ("name", "package"),
    [("Settings", "com.android.settings"), ("  chrome ", "com.android.chrome"), ("org.x.notes", "org.x.notes"),
     ("notes", "org.x.notes"), ("my app", "com.a.my_app"), ("two", None), ("", None), ("Photos", None), ("Own", "a.b")],
)  # fmt: skip
def test_names_of_apps(name: str, package: str | None) -> None:
    installed = ["com.android.settings", "com.android.chrome", "org.x.notes", "com.a.my_app", "p.two", "q.two", "a.b"]
    assert find_package(name, installed, {"own": "a.b", "gone": "x.y"}) == package
