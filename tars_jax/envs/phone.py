"""A phone as an environment: tasks over the settings and apps of the stand-in, by touch, through a real ADB server.

train --config.environment=phone --config.environment_options='{"task": "flip_switches", "size": [180, 320]}'

It needs adb (`apt-get install adb`) and the extra phone. Each environment has a phone of its own, and an episode a new
one; its clock stands still between inputs, so that the same seed and actions show the same pixels.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence

from PIL import Image

from tars_jax import InputError
from tars_jax.agent.actions import (
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    LongPress,
    OpenApp,
    Point,
    PressBack,
    PressHome,
    Scroll,
    Type,
    Wait,
)
from tars_jax.agent.platforms import PLATFORM_ACTIONS
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.sandbox.phone import Phone, PhoneConfig
from tars_jax.sandbox.phone.adb import load_adbutils
from tars_jax.sandbox.phone.adb_server import find_adb
from tars_jax.sandbox.phone.shared_server import SHARED_SERVER
from tars_jax.sandbox.phone.stand_in.device import Device
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tars_jax.tasks.phone import catalog

DENSITY = 160  # dots to an inch of a phone 360 pixels wide; others show the same, smaller or larger


class PhoneEnvironment:
    """Success is a verdict over what the phone has stored, and the answer; a task ends as soon as it is done.

    Args:
      task: one of `tars_jax.tasks.phone.catalog.TASKS`; empty: the seed draws one.
      level: from 1 to 3.
      size: (width, height) of the screen in pixels.

    Raises InputError for options that it cannot have, and where adb or adbutils is missing.
    """

    action_space = ActionSpace("phone", PLATFORM_ACTIONS["phone"])
    max_steps = 24
    reference_player = staticmethod(catalog.reference_player)

    def __init__(self, task: str = "", level: int = 1, size: Sequence[int] = (360, 640)) -> None:
        catalog.check_level(task, level)
        self._density = max(72, min(640, round(DENSITY * min(size) / 360)))
        Device.check_size(size[0], size[1], self._density)
        load_adbutils()
        find_adb()
        self._task, self._level, self._size = task, level, (int(size[0]), int(size[1]))
        self._stand_in: StandIn | None = None
        self._phone: Phone | None = None
        self._scene: catalog.Scene | None = None
        self._done = self._scrolled = 0

    @property
    def instruction(self) -> str:
        return self._scene.instruction if self._scene else ""

    async def reset(self, task: Task) -> Observation:
        await self.close()
        self._stand_in = StandIn(Device(*self._size, self._density, seed=task.seed))
        try:
            port = await asyncio.to_thread(SHARED_SERVER.acquire)
            self._phone = await Phone(PhoneConfig(serial=self._stand_in.serial, adb_port=port)).start()
        except BaseException:
            await self.close()
            raise
        self._name, self._scene = catalog.draw_scene(self._task, self._level, task.seed, self._state(None))
        self._done = self._scrolled = 0
        return await self._observed("", self._scene.verdict(self._state(None)))

    async def step(self, actions: Sequence[Action]) -> Transition:
        assert self._phone is not None and self._scene is not None  # the guard resets before it steps
        said: list[str] = []
        answer: str | None = None
        ended = False
        for action in actions:
            if isinstance(action, Finished | CallUser):
                ended, answer = True, getattr(action, "content", "")
                break
            self._count(action)
            try:
                await self._do(self._phone, action)
            except InputError as error:
                said.append(f"{action.name}: {error}")
        wrong = self._scene.verdict(self._state(answer))
        observation = await self._observed("\n".join(said), wrong)
        return Transition(observation, float(not wrong), ended or not wrong, success=not wrong)

    async def close(self) -> None:
        stand_in, self._stand_in = self._stand_in, None
        phone, self._phone = self._phone, None
        self._scene = None
        if stand_in is not None:
            await asyncio.to_thread(stand_in.close)
        if phone is not None:
            await asyncio.to_thread(SHARED_SERVER.release)

    async def _do(self, phone: Phone, action: Action) -> None:
        def place(point: Point | None) -> tuple[float, float]:
            return point.pixels(*self._size) if point is not None else (self._size[0] / 2, self._size[1] / 2)

        match action:
            case Click(point):
                await phone.click(*place(point))
            case LongPress(point):
                await phone.long_press(*place(point))
            case Drag(start_point, end_point):
                await phone.drag(place(start_point), place(end_point))
            case Scroll(point, direction):
                await phone.scroll(*place(point), direction)
            case Type(content):
                await phone.type(content)
            case OpenApp(app_name):
                await phone.open_app(app_name)
            case PressHome():
                await phone.press_home()
            case PressBack():
                await phone.press_back()
            case Wait():
                pass  # nothing moves by itself
            case _:
                raise InputError("a phone has no such action")

    def _count(self, action: Action) -> None:
        """Follows the steps of the solution, for a reference player."""
        assert self._scene is not None
        self._scrolled += isinstance(action, Scroll)
        if self._done >= len(self._scene.solution):
            return
        widget = None
        if isinstance(action, Click):
            places = self._widgets()
            at = (action.point.x, action.point.y)
            widget = next((name for name, place in places.items() if tuple(place) == at), None)
        given = {name: getattr(action, name, None) for name in ("content", "app_name")}
        if catalog.step_done(self._scene.solution[self._done], action.name, given, widget):
            self._done, self._scrolled = self._done + 1, 0

    def _state(self, answer: str | None) -> catalog.PhoneState:
        assert self._stand_in is not None
        return self._stand_in.call(lambda device: _stored(device, answer))

    def _widgets(self) -> dict[str, tuple[int, int]]:
        assert self._stand_in is not None
        return self._stand_in.call(_places)

    async def _observed(self, text: str, wrong: str) -> Observation:
        assert self._phone is not None and self._scene is not None
        image = await self._phone.screenshot()
        state = self._scene.state(self._done, self._widgets(), self._scrolled)
        return Observation(_png(image), text, {"state": state, "task": self._name, "wrong": wrong})


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _rows(device: Device, package: str, table: str, *columns: str) -> list[tuple[str, ...]]:
    app = device.find(package)
    assert app is not None, package
    return [tuple(str(row[column]) for column in columns) for row in app.rows(table)]


def _stored(device: Device, answer: str | None) -> catalog.PhoneState:
    settings: Mapping[str, str] = {
        **{f"{table} {name}": device.setting(table, name) for table, name, *_ in catalog.SWITCHES.values()},
        "system language": device.setting("system", "language"),
    }
    return catalog.PhoneState(
        settings,
        tuple((title, text) for title, text in _rows(device, "com.tarsjax.notes", "notes/notes", "title", "body")),
        tuple(sorted((name, number) for name, number in _rows(
            device, "com.android.contacts", "com.android.contacts/data/phones", "display_name", "data1"))),
        tuple(number for (number,) in _rows(device, "com.android.dialer", "call_log/calls", "number")),
        answer,
    )  # fmt: skip


def _places(device: Device) -> dict[str, tuple[int, int]]:
    """The middles of what a finger can reach of each widget that does something, 0 to 1000 from the left and top."""
    width, height = device.size
    found = {}
    for widget in device.widgets():
        box = widget.visible
        x, y = (box.left + box.right) / 2 * device.scale, (box.top + box.bottom) / 2 * device.scale
        if widget.tap is not None and min(box.right - box.left, box.bottom - box.top) >= 8:
            found[widget.id] = (round(1000 * x / width), round(1000 * y / height))
    return found
