"""The phone of a session: what fingers do, what is seen, files to it and from it, programs on it."""

from __future__ import annotations

import asyncio
import base64
import io
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from tars_jax import InputError
from tars_jax.sandbox.browser.events import InputEvent, InsertText, KeyDown, MouseDown, MouseUp, Wheel
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.service.computers.part import SessionPart, Work, as_json, read_act, seconds
from tars_jax.web.protocol import RequestFields

if TYPE_CHECKING:
    from tars_jax.sandbox.computer.equipped.phone import ComputerPhone

MOST_ACTIONS = 100  # of one call
LARGEST = 8192  # pixels
LONGEST_WAIT_MS = 60_000.0
SLOP = 8.0  # pixels; a pointer that moves less taps
HOLD_S = 0.4
KEYS = {"Enter": "ENTER", "Backspace": "DEL", "Escape": "BACK", "Home": "HOME", "ArrowUp": "DPAD_UP",
        "ArrowDown": "DPAD_DOWN", "ArrowLeft": "DPAD_LEFT", "ArrowRight": "DPAD_RIGHT", "Tab": "TAB"}  # fmt: skip

Act = Callable[[Any], Awaitable[object]]


async def start_phone(
    machine: GuestMachine, width: int, height: int, snapshot: Mapping[str, Any] | None, *, screen: bool
) -> PhoneCalls:
    """`snapshot`: of the phone that this one follows. Raises InputError without what it needs, SandboxFailure."""
    try:
        from tars_jax.sandbox.computer.equipped.phone import ComputerPhone
    except ImportError as error:
        raise InputError(f"parts must leave phone out without {error.name}: pip install 'tars_jax[phone]'") from error
    saved = None if snapshot is None or not snapshot["saved"] else base64.b64decode(snapshot["saved"])
    phone = await ComputerPhone.open(machine, (width, height), saved=saved)
    return PhoneCalls(phone, restarted=snapshot is not None and saved is None, screen=screen)


class PhoneCalls(SessionPart):
    """`screen`: whether `act` and `screenshot` are its own, because the session has no other screen."""

    def __init__(self, phone: ComputerPhone, *, restarted: bool = False, screen: bool = False) -> None:
        self._phone, self._restarted = phone, restarted
        self._turn = asyncio.Lock()
        self._down: tuple[float, float, float] | None = None  # where a pointer went down, and when
        self.calls = {
            "phone_act": self._act, "phone_screenshot": self._screenshot, "phone_push": self._push,
            "phone_pull": self._pull, "phone_shell": self._shell,
        }  # fmt: skip
        if screen:
            self.calls |= {"act": self._events, "screenshot": self._screenshot}

    def snapshot(self) -> Any:
        saved = self._phone.saved()
        return {"saved": None if saved is None else base64.b64encode(saved).decode()}

    async def close(self) -> None:
        await self._phone.close()

    async def picture(self) -> bytes:
        return _png(await self._phone.phone.screenshot())

    async def _answer(self) -> dict[str, Any]:
        shown = await self._phone.phone.settle()
        package, activity = await self._phone.phone.front_app()
        self.kept()
        restarted, self._restarted = self._restarted, False
        png = await asyncio.to_thread(_png, shown.image)
        data = {"package": package, "activity": activity, "settled": shown.settled}
        return {"png": base64.b64encode(png).decode(), "data": data, "restarted": restarted}

    def _act(self, fields: RequestFields) -> Work:
        """{actions: [{action: "click", x, y}, {action: "type", text}, ...]} -> {png, data: {package}, restarted}"""
        given = fields.array("actions", required=True)
        if not 0 < len(given) <= MOST_ACTIONS:
            raise fields.error("actions", f"1 to {MOST_ACTIONS}")
        actions = [_action(value, f"actions[{index}]") for index, value in enumerate(given)]

        async def work() -> Any:
            async with self._turn:
                for act in actions:
                    await act(self._phone.phone)
                return await self._answer()

        return work

    def _events(self, fields: RequestFields) -> Work:
        """{events, advance_ms?} -> as `phone_act`: a pointer that goes down and up is a finger"""
        # It shows itself when it has come to rest, however long that takes.
        events, _ = read_act(fields, LONGEST_WAIT_MS, "a phone evaluates nothing")

        async def work() -> Any:
            async with self._turn:
                for event in events:
                    await self._touch(event)
                return await self._answer()

        return work

    async def _touch(self, event: InputEvent) -> None:
        phone, now = self._phone.phone, asyncio.get_running_loop().time()
        match event:
            case MouseDown():
                self._down = event.x, event.y, now
            case MouseUp() if self._down is not None:
                (x, y, since), self._down = self._down, None
                if math.hypot(event.x - x, event.y - y) >= SLOP:
                    await phone.drag((x, y), (event.x, event.y))
                elif now - since >= HOLD_S:
                    await phone.long_press(x, y)
                else:
                    await phone.click(x, y)
            case Wheel():
                await phone.scroll(event.x, event.y, "down" if event.dy >= 0 else "up")
            case InsertText():
                await phone.type(event.text)
            case KeyDown() if event.key in KEYS:
                await phone.key(KEYS[event.key])
            case KeyDown() if len(event.key) == 1:
                await phone.type(event.key)

    def _screenshot(self, fields: RequestFields) -> Work:
        async def work() -> Any:
            async with self._turn:
                return await self._answer()

        return work

    def _push(self, fields: RequestFields) -> Work:
        """{path, to} -> {bytes}: a file of the computer to a path of the phone"""
        return self._copy(fields, self._phone.push)

    def _pull(self, fields: RequestFields) -> Work:
        """{path, to} -> {bytes}: a file of the phone to a path of the computer"""
        return self._copy(fields, self._phone.pull)

    def _copy(self, fields: RequestFields, copy: Callable[[str, str], Awaitable[int]]) -> Work:
        path, to = fields.text("path"), fields.text("to")

        async def work() -> Any:
            async with self._turn:
                copied = {"bytes": await copy(path, to)}
                self.kept()
                return copied

        return work

    def _shell(self, fields: RequestFields) -> Work:
        """{argv, timeout_s?} -> {status, stdout, stderr}: a program on the phone"""
        argv, timeout_s = fields.array("argv", required=True), seconds(fields, 20.0)
        if not argv or not all(isinstance(word, str) for word in argv):
            raise fields.error("argv", "an array of texts, the program first")

        async def work() -> Any:
            async with self._turn:
                ran = await self._phone.phone.shell(*argv, timeout_s=timeout_s or None)
                self.kept()
                return {"status": ran.status, **as_json("stdout", ran.stdout), **as_json("stderr", ran.stderr)}

        return work


def _action(value: Any, where: str) -> Act:
    """The act of an action, by the names of the mobile grammar; lengths in pixels. Raises RequestError."""
    fields = RequestFields(value, where)
    name = fields.text("action")

    def place(x: str = "x", y: str = "y") -> tuple[float, float]:
        for each in (x, y):
            if fields.value(each) is None:
                raise fields.error(each, "pixels")
        return fields.number(x, 0, 0, LARGEST), fields.number(y, 0, 0, LARGEST)

    act: Act
    match name:
        case "click" | "long_press":
            at = place()
            act = lambda phone: getattr(phone, name)(*at)  # noqa: E731
        case "drag":
            start, end = place(), place("to_x", "to_y")
            act = lambda phone: phone.drag(start, end)  # noqa: E731
        case "scroll":
            at, direction = place(), fields.text("direction")
            act = lambda phone: phone.scroll(*at, direction)  # noqa: E731
        case "type":
            text = fields.text("text")
            act = lambda phone: phone.type(text)  # noqa: E731
        case "open_app":
            app = fields.text("app")
            act = lambda phone: phone.open_app(app)  # noqa: E731
        case "press_home" | "press_back" | "press_enter" | "press_recents":
            act = lambda phone: getattr(phone, name)()  # noqa: E731
        case _:
            raise fields.error(
                "action", "one of click, long_press, drag, scroll, type, open_app, press_home, press_back, "
                "press_enter, press_recents",
            )  # fmt: skip
    fields.done()
    return act


def _png(image: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
