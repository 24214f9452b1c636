"""A phone as an environment: tasks over settings and apps, by touch, through a real ADB server.

train --config.environment=phone --config.environment_options='{"task": "flip_switches", "size": [180, 320]}'
train --config.environment=phone --config.environment_options='{"task": "add_contact"}' \\
  --config.sandbox.phones="('emulator-5554', '10.0.0.3:5555')"

It needs adb (`apt-get install adb`) and the extra phone. Without `config.sandbox.phones` each environment has a
stand-in of its own, and an episode a new one; its clock stands still between inputs, so that the same seed and actions
show the same pixels. With them an episode has one of these devices, which the user's own ADB server reaches.
"""

from __future__ import annotations

import asyncio
import dataclasses
import io
import random
from collections.abc import Sequence

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
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.phone_devices import PACKAGES, LeasedPhone, lease
from tars_jax.envs.phone_state import CALLS, COLUMNS, CONTACTS, StoredOnPhone, read_stored
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.phone import Phone, PhoneConfig
from tars_jax.sandbox.phone.adb import load_adbutils
from tars_jax.sandbox.phone.adb_server import SHARED_SERVER, find_adb
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tars_jax.tasks.phone import catalog

DEVICE_PROVIDERS = (CONTACTS, CALLS)  # what a device is judged by, beside settings
DENSITY = 160  # dots to an inch of a phone 360 pixels wide; others show the same, smaller or larger


class PhoneEnvironment:
    """Success is a verdict over what the phone has stored, and the answer; a task ends as soon as it is done.

    For tasks of one's own, a class made of this one says in `draw` what a seed's task is.

    Args:
      task: one of `tars_jax.tasks.phone.catalog.TASKS`; empty: the seed draws one that the phone can have.
      level: from 1 to 3.
      size: (width, height) of the stand-in's screen in pixels; pictures of a device are made to fit into it.
      packages: of a device, whose data is cleared before each episode; None: contacts, calls and their apps.

    Raises InputError for options that it cannot have, and where adb or adbutils is missing.
    """

    action_space = ActionSpace("phone", PLATFORM_ACTIONS["phone"])
    max_steps = 24
    reference_player = staticmethod(catalog.reference_player)

    def __init__(
        self, task: str = "", level: int = 1, size: Sequence[int] = (360, 640), packages: Sequence[str] | None = None,
        resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        catalog.check_level(task, level)
        self._density = max(72, min(640, round(DENSITY * min(size) / 360)))
        StandInDevice.check_size(size[0], size[1], self._density)
        load_adbutils()
        sandbox = None if resources is None else resources.sandbox
        self._serials = () if sandbox is None else sandbox.phones
        if self._serials and task not in ("", *catalog.DEVICE_TASKS):
            raise InputError(
                f"task must be one of {', '.join(catalog.DEVICE_TASKS)} with sandbox.phones, as others are for "
                f"the stand-in; got {task!r}"
            )
        if not self._serials:
            find_adb()
        self._task, self._level, self._size = task, level, (int(size[0]), int(size[1]))
        self._packages = PACKAGES if packages is None else tuple(packages)
        self._held: StandInPhone | LeasedPhone | None = None
        self._scene: catalog.PhoneScene | None = None
        self._done = self._scrolled = 0

    @property
    def instruction(self) -> str:
        return self._scene.instruction if self._scene else ""

    def draw(self, seed: int, first: catalog.PhoneState) -> tuple[str, catalog.PhoneScene]:
        """A seed's task, by its name, on a phone as it is at first. Raises InputError for one that it cannot have."""
        task = self._task
        if self._serials and not task:
            can_be = catalog.DEVICE_TASKS if first.contacts else catalog.DEVICE_TASKS[:2]
            task = random.Random(f"task {seed}").choice(can_be)
        return catalog.draw_scene(task, self._level, seed, first)

    async def reset(self, task: Task) -> Observation:
        await self.close()
        if self._serials:
            self._held = await lease(self._serials, self._packages)
        else:
            self._held = await StandInPhone.start(StandInDevice(*self._size, self._density, seed=task.seed))
        self._phone, self._screen = self._held.phone, await self._held.phone.size()
        stored = await self._stored(None)
        if stored.missing:
            raise InputError(f"sandbox.phones must have {stored.missing[0]}; {self._phone.serial} has not")
        self._name, self._scene = self.draw(task.seed, stored.state)
        self._done = self._scrolled = 0
        return await self._observed("", self._verify(stored))

    async def step(self, actions: Sequence[Action]) -> Transition:
        assert self._held is not None and self._scene is not None  # the guard resets before it steps
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
        if self._serials:
            await self._phone.settle()
        wrong = self._verify(await self._stored(answer))
        observation = await self._observed("\n".join(said), wrong)
        return Transition(observation, float(not wrong), ended or not wrong, success=not wrong)

    async def close(self) -> None:
        held, self._held = self._held, None
        self._scene = None
        if held is not None:
            await asyncio.to_thread(held.close)

    async def _stored(self, answer: str | None) -> StoredOnPhone:
        return await read_stored(self._phone, DEVICE_PROVIDERS if self._serials else tuple(COLUMNS), answer)

    def _verify(self, stored: StoredOnPhone) -> str:
        """Says what is wrong; something that an agent has made unreadable is."""
        assert self._scene is not None
        return f"{stored.missing[0]} does not answer" if stored.missing else self._scene.verify(stored.state)

    async def _do(self, phone: Phone, action: Action) -> None:
        def place(point: Point | None) -> tuple[float, float]:
            return point.pixels(*self._screen) if point is not None else (self._screen[0] / 2, self._screen[1] / 2)

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

    def _widgets(self) -> dict[str, tuple[int, int]]:
        """Widgets of the stand-in, for a reference player; nobody knows those of a device."""
        return self._held.stand_in.call(_places) if isinstance(self._held, StandInPhone) else {}

    async def look(self) -> Observation | None:
        """A device's screen as it is now; None of the stand-in, which stands still."""
        return Observation(_png(await self._picture())) if self._serials and self._scene is not None else None

    async def _picture(self) -> Image.Image:
        image = await self._phone.screenshot()
        if self._serials:
            image.thumbnail(self._size)
        return image

    async def _observed(self, text: str, wrong: str) -> Observation:
        assert self._scene is not None
        image = await self._picture()
        state = self._scene.state(self._done, self._widgets(), self._scrolled)
        return Observation(_png(image), text, {"state": state, "task": self._name, "wrong": wrong})


@dataclasses.dataclass(eq=False)
class StandInPhone:
    """A stand-in of this process, until `close`."""

    stand_in: StandIn
    phone: Phone

    @classmethod
    async def start(cls, device: StandInDevice) -> StandInPhone:
        """Raises InputError without adb, SandboxFailure."""
        stand_in = StandIn(device)
        try:
            port = await asyncio.to_thread(SHARED_SERVER.acquire)
        except BaseException:
            stand_in.close()
            raise
        held = cls(stand_in, Phone(PhoneConfig(serial=stand_in.serial, adb_port=port)))
        try:
            await held.phone.start()
        except BaseException:
            held.close()
            raise
        return held

    def close(self) -> None:
        self.stand_in.close()
        SHARED_SERVER.release()


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _places(device: StandInDevice) -> dict[str, tuple[int, int]]:
    """The middles of what a finger can reach of each widget that does something, 0 to 1000 from the left and top."""
    width, height = device.size
    found = {}
    for widget in device.widgets():
        box = widget.visible
        x, y = (box.left + box.right) / 2 * device.scale, (box.top + box.bottom) / 2 * device.scale
        if widget.tap is not None and min(box.right - box.left, box.bottom - box.top) >= 8:
            found[widget.id] = (round(1000 * x / width), round(1000 * y / height))
    return found
