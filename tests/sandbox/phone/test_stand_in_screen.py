"""The simulated phone itself, without ADB."""

from __future__ import annotations

import hashlib

import pytest

from tars_jax import InputError
from tars_jax.sandbox.phone.stand_in.apps.calculator import evaluate
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tests.sandbox.phone.conftest import place_of, tap


def _hash(device: StandInDevice) -> str:
    return hashlib.sha256(device.screenshot().tobytes()).hexdigest()


def _walk(device: StandInDevice) -> list[str]:
    seen = [_hash(device)]
    for ids in (("icon_settings", "display", "ui_night_mode"), ("icon_contacts",), ("icon_notes", "new_note", "key_a")):
        device.press("HOME")
        for id in ids:
            tap(device, id)
            seen.append(_hash(device))
    return seen


def test_the_same_seed_and_actions_give_the_same_bytes_and_another_seed_others() -> None:
    first = _walk(StandInDevice(seed=1))
    assert first == _walk(StandInDevice(seed=1))
    assert len(set(first)) == len(first), "each action shows"
    assert first[0] != _walk(StandInDevice(seed=2))[0]


def test_a_switch_and_its_setting_are_one() -> None:
    device = StandInDevice()
    tap(device, "icon_settings", "wifi_on")
    assert device.setting("global", "wifi_on") == "0"
    before = _hash(device)
    device.put_setting("global", "wifi_on", "1")
    assert _hash(device) != before


def test_a_list_scrolls_to_its_end_and_no_further() -> None:
    device = StandInDevice()
    tap(device, "icon_settings")
    ids = {widget.id for widget in device.widgets()}
    assert "about" not in ids
    for _ in range(5):
        device.touch((180, 500), (180, 100), 300)
    assert "about" in {widget.id for widget in device.widgets()}
    end = _hash(device)
    device.touch((180, 500), (180, 100), 300)
    assert _hash(device) == end
    tap(device, "about")
    device.press("BACK")
    assert device.front.name == "Settings"


def test_what_is_scrolled_away_cannot_be_tapped() -> None:
    device = StandInDevice()
    tap(device, "icon_settings")
    x, _ = place_of(device, "wifi_on")
    device.touch((180, 500), (180, 300), 300)
    device.touch((x, 40), (x, 40), 50)  # the header, under which the row has gone
    assert device.setting("global", "wifi_on") == "1"


def test_a_note_is_written_with_the_keys_on_the_screen() -> None:
    device = StandInDevice()
    tap(device, "icon_notes", "new_note", "key_shift", "key_H", "key_i", "key_space", "key_signs", "key_7", "key_!")
    tap(device, "key_delete", "key_letters", "key_enter", "key_a", "key_enter", "key_b", "save")
    note = device.find("com.tarsjax.notes").rows("notes/notes")[0]  # type: ignore[union-attr]
    assert (note["title"], note["body"]) == ("Hi 7", "a\nb")


def test_back_hides_the_keyboard_then_leaves_the_page_then_the_app() -> None:
    device = StandInDevice()
    tap(device, "icon_contacts", "new_contact")
    assert any(widget.kind == "key" for widget in device.widgets())
    device.press("BACK")
    assert not any(widget.kind == "key" for widget in device.widgets())
    device.press("BACK")
    assert "new_contact" in {widget.id for widget in device.widgets()}
    device.press("BACK")
    assert device.front is device.home


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1+2×3", "7"),
        ("7÷2", "3.5"),
        ("1÷0", "Error"),
        ("0.1+0.2", "0.3"),
        ("2-5", "-3"),
        ("-2×3", "-6"),
        ("5+", "Error"),
        ("1÷3", "0.333333333333"),
        ("", "Error"),
        ("999999999999×999999999999", "1.000000000E+24"),
    ],
)
def test_the_calculator(text: str, value: str) -> None:
    assert evaluate(text) == value


def test_the_calculator_by_its_keys() -> None:
    device = StandInDevice()
    tap(device, "icon_calculator", *(f"key_{key}" for key in ("1", "2", "point", "5", "multiply", "8", "equals")))
    (row,) = device.find("com.tarsjax.calculator").rows("calculator/state")  # type: ignore[union-attr]
    assert row["display"] == "100"
    assert row["history"] == "12.5×8=100"


def test_a_contact_is_called_and_the_call_is_logged() -> None:
    device = StandInDevice(seed=5)
    contacts, dialer = device.find("com.android.contacts"), device.find("com.android.dialer")
    assert contacts is not None and dialer is not None
    (number,) = [row["data1"] for row in contacts.rows("contacts/phones") if row["_id"] == 1]
    tap(device, "icon_contacts", "contact_1", "call")
    assert device.front is dialer
    assert [row["number"] for row in dialer.rows("call_log/calls")] == [number]
    tap(device, "end_call")
    tap(device, "key_4", "key_2", "call")
    assert [row["number"] for row in dialer.rows("call_log/calls")] == [number, "42"]


def test_recent_apps_are_gone_to_and_ended() -> None:
    device = StandInDevice()
    for icon in ("icon_notes", "icon_calculator"):
        device.press("HOME")
        tap(device, icon)
    device.press("APP_SWITCH")
    tap(device, "recent_com.tarsjax.notes")
    assert device.front.name == "Notes"
    device.press("APP_SWITCH")
    place = place_of(device, "recent_com.tarsjax.calculator")
    device.touch(place, place, 1000)
    assert "recent_com.tarsjax.calculator" not in {widget.id for widget in device.widgets()}


def test_an_icon_is_dragged_to_the_place_of_another() -> None:
    device = StandInDevice()
    order = [row["package"] for row in device.home.rows("home/icons")]
    ids = [widget.id for widget in device.widgets() if widget.kind == "icon"]
    device.touch(place_of(device, ids[0]), place_of(device, ids[3]), 1000, drag=True)
    assert [row["package"] for row in device.home.rows("home/icons")] == [order[3], *order[1:3], order[0], *order[4:]]


def test_a_slider_goes_where_the_finger_lifts() -> None:
    device = StandInDevice()
    tap(device, "icon_settings", "display")
    _, y = place_of(device, "screen_brightness")
    device.touch((100, y), (360 * 0.75, y), 300)
    assert abs(int(device.setting("system", "screen_brightness")) - 191) <= 2


@pytest.mark.parametrize(
    "size",
    [
        (333, 577, 200),
        pytest.param((360, 640, 160), marks=pytest.mark.full),
        pytest.param((1080, 2400, 420), marks=pytest.mark.full),
        pytest.param((161, 163, 160), marks=pytest.mark.full),
        pytest.param((800, 480, 160), marks=pytest.mark.full),
    ],
)
def test_every_app_is_drawn_in_every_size_and_turned(size: tuple[int, int, int]) -> None:
    device = StandInDevice(*size)
    for rotation in ("0", "1"):
        device.put_setting("system", "user_rotation", rotation)
        for app in list(device.apps()):
            device.open(app.package)
            image = device.screenshot()
            assert image.size == (size[:2] if rotation == "0" else (size[1], size[0]))
            assert len(image.quantize(16).getcolors() or []) > 3


@pytest.mark.parametrize("size", [(0, 640, 160), (360, 9999, 160), (360, 640, 1)])
def test_impossible_screens_are_refused(size: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="must be"):
        StandInDevice(*size)


def test_settings_that_are_no_numbers_do_no_harm() -> None:
    device = StandInDevice()
    for name in ("user_rotation", "screen_brightness", "volume_music"):
        device.put_setting("system", name, "²x")
    tap(device, "icon_settings", "display")
    device.press("VOLUME_UP")
    assert device.screenshot().size == (360, 640)
