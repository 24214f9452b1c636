"""AndroidWorld's actions and HTTP form on the stand-in, with requests as its client makes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.sandbox.phone import AdbServer, Phone, PhoneConfig
from tars_jax.sandbox.phone.android_world import PreparedPhone, Suite, make_app, read_action
from tars_jax.sandbox.phone.android_world.actions import read_bounds
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.sandbox.phone.conftest import place_of

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@dataclasses.dataclass
class _Volume:
    """Set the media volume, or say what it is."""

    level: int
    template: str = "Set the media volume to {level}."

    @property
    def goal(self) -> str:
        return self.template.format(level=self.level)

    async def initialize_task(self, environment: PreparedPhone) -> None:
        await environment.phone.shell("settings", "put", "system", "volume_music", "5")

    async def tear_down(self, environment: PreparedPhone) -> None:
        await environment.phone.press_home()

    async def is_successful(self, environment: PreparedPhone) -> float:
        shown = (await environment.phone.shell("settings", "get", "system", "volume_music")).text.strip()
        return float(shown == str(self.level) or environment.answer == str(self.level))


def _suite(combinations: int, seed: int) -> Suite:
    return {"Volume": [_Volume((seed + index) % 15 + 1) for index in range(combinations)]}


def _notes(stand_in: StandIn) -> list[Any]:
    def rows(device: StandInDevice) -> list[Any]:
        app = device.find("com.tarsjax.notes")
        assert app is not None
        return list(app.rows("notes/notes"))

    return stand_in.call(rows)


class Client:
    """The calls of AndroidWorld's client, by httpx."""

    def __init__(self, base: str, **headers: str) -> None:
        self._http = httpx.Client(base_url=base, timeout=60, headers=headers)

    def get(self, path: str, status: int = 200, **params: Any) -> Any:
        return self._checked(self._http.get(path, params=params), status)

    def post(self, path: str, status: int = 200, json: Any = None, **params: Any) -> Any:
        return self._checked(self._http.post(path, params=params, json=json), status)

    def act(self, status: int = 200, **action: Any) -> Any:
        return self.post("/execute_action", status, json=action)

    @staticmethod
    def _checked(response: httpx.Response, status: int) -> Any:
        assert response.status_code == status, response.text
        return response.json()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with StandIn(StandInDevice(seed=6)) as made:
        yield made


@pytest.fixture
def client(adb_server: AdbServer, stand_in: StandIn, run: Run) -> Iterator[Client]:
    pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")
    phone = run(Phone(PhoneConfig(serial=stand_in.serial, adb_port=adb_server.port)).start())
    with serving(make_app(phone, {"android_world": _suite}), ListenAddress(stop_seconds=1), plain=True) as base:
        yield Client(base)


@pytest.mark.slow
@pytest.mark.multiprocess
def test_actions_do_what_androidworld_means(client: Client, stand_in: StandIn) -> None:
    def at(id: str) -> dict[str, int]:
        x, y = stand_in.call(lambda device: place_of(device, id))
        return {"x": int(x), "y": int(y)}

    def scroll() -> float:
        return stand_in.call(lambda device: device.front.scroll)

    client.act(action_type="open_app", app_name="Settings")
    client.act(action_type="scroll", direction="down")
    assert scroll() > 0
    client.act(action_type="swipe", direction="down")
    assert scroll() == 0
    client.act(action_type="swipe", direction="up")
    assert scroll() > 0
    client.act(action_type="navigate_home")
    client.act(action_type="click", **at("icon_notes"))
    client.act(action_type="click", **at("new_note"))
    client.act(action_type="input_text", text="Zürich 100%s", **at("title_field"))  # ends with Enter: to the text
    client.act(action_type="input_text", text="abc", **at("text_field"))
    client.act(action_type="input_text", text="neu", clear_text=True, **at("text_field"))
    client.act(action_type="click", **at("save"))
    note = _notes(stand_in)[0]
    assert (note["title"], note["body"]) == ("Zürich 100%s", "neu\n")
    client.act(action_type="long_press", **at(f"note_{note['_id']}"))
    rows = _notes(stand_in)
    assert note["_id"] not in [row["_id"] for row in rows]
    client.act(action_type="navigate_back")
    assert stand_in.call(lambda device: device.shows_home)
    client.act(action_type="open_app", app_name="calculator")
    ids = [widget.id for widget in stand_in.call(lambda device: device.widgets())]
    client.act(action_type="double_tap", index=ids.index("key_8"))
    client.act(action_type="click", index=str(ids.index("key_9")))
    assert "889" in [widget.text for widget in stand_in.call(lambda device: device.widgets())]
    for quiet in ("wait", "status", "unknown", "keyboard_enter"):
        client.act(action_type=quiet, goal_status="complete")


@pytest.mark.multiprocess
def test_the_screenshot_is_the_screen(client: Client, stand_in: StandIn) -> None:
    stand_in.call(lambda device: device.resize((200, 300)))
    for wait in (True, False):
        pixels = np.array(client.get("/screenshot", wait_to_stabilize=wait)["pixels"], np.uint8)
        assert np.array_equal(pixels, np.asarray(stand_in.call(lambda device: device.screenshot())))


@pytest.mark.multiprocess
def test_a_task_from_its_goal_to_its_score(client: Client) -> None:
    assert client.get("/health") == {"status": "success"}
    assert client.get("/suite/task_list", max_index=-1) == {"task_list": ["Volume"]}
    client.get("/suite/reinitialize", n_task_combinations=3, seed=5, task_family="android_world")
    assert client.get("/suite/task_length", task_type="Volume") == {"length": 3}
    task: dict[str, Any] = {"task_type": "Volume", "task_idx": 1}
    assert client.get("/task/goal", **task) == {"goal": "Set the media volume to 7."}
    assert client.get("/task/template", **task) == {"template": "Set the media volume to {level}."}
    client.post("/task/initialize", **task)
    assert client.get("/task/score", **task) == {"score": 0.0}
    client.act(action_type="answer", text="7")
    assert client.get("/task/score", **task) == {"score": 1.0}
    client.post("/reset", go_home="True")
    assert client.get("/task/score", **task) == {"score": 0.0}
    client.post("/task/tear_down", **task)
    client.post("/close")
    client.get("/health", 500)


@pytest.mark.multiprocess
def test_bad_requests_are_refused_and_a_lost_phone_is_no_score(client: Client, stand_in: StandIn) -> None:
    assert "action_type must be one of" in client.act(400, action_type="fly")["detail"]
    assert "index must be 0 to" in client.act(400, action_type="click", index=9999)["detail"]
    assert "app_name must be" in client.act(400, action_type="open_app", app_name="Chess")["detail"]
    client.act(400, action_type="click")
    client.act(400, action_type="scroll")
    client.post("/execute_action", 422, json=[1])
    client.post("/reset", 422)
    client.post("/reset", 422, go_home="perhaps")
    client.get("/task/score", 400, task_type="Nothing", task_idx=0)
    client.get("/task/score", 400, task_type="Volume", task_idx=-1)
    client.get("/suite/reinitialize", 400, task_family="other")
    client.get("/suite/reinitialize", 422, n_task_combinations=10**9)
    client.get("/nothing", 404)
    stand_in.close()
    assert client.get("/task/score", 503, task_type="Volume", task_idx=0)["kind"] == "offline"


@pytest.mark.multiprocess
def test_foreign_names_and_those_without_the_token_stay_outside(
    adb_server: AdbServer, stand_in: StandIn, run: Run
) -> None:
    pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")
    phone = run(Phone(PhoneConfig(serial=stand_in.serial, adb_port=adb_server.port)).start())
    with serving(make_app(phone, token="secret"), ListenAddress(stop_seconds=1), plain=True) as base:
        Client(base).get("/health", 401)
        Client(base, Authorization="Bearer secret").get("/health")
        Client(base, Authorization="Bearer secret", Host="evil.example").get("/health", 400)


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"action_type": 3},
        {"action_type": "click", "index": 1, "x": 2},
        {"action_type": "click", "x": "nan", "y": 1},
        {"action_type": "click", "x": -1, "y": 1},
        {"action_type": "click", "x": True, "y": 1},
        {"action_type": "click", "index": 10**400},
        {"action_type": "wait", "z": 1},
        {"action_type": "wait", "keycode": "7"},
        {"action_type": "scroll", "direction": "sideways"},
        {"action_type": "input_text", "text": ["a"]},
        {"action_type": "input_text", "clear_text": "yes"},
    ],
)
def test_actions_that_are_none(action: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read_action(action)


def test_numbers_may_be_texts_and_texts_numbers() -> None:
    action = read_action({"action_type": "click", "x": "12", "y": 7.6, "text": 5})
    assert (action.x, action.y, action.text) == (12, 7, "5")
    assert read_action(action.to_json()) == action


@pytest.mark.parametrize("xml", [b"", b"<hierarchy>", b"<!DOCTYPE x [<!ENTITY a 'b'>]><hierarchy/>", bytes(9 << 20)])
def test_dumps_that_are_none(xml: bytes) -> None:
    with pytest.raises(InputError, match="dump"):
        read_bounds(xml)
