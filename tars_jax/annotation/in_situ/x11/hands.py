"""Input of hands on an X screen, told by XRECORD: each key with the window that the server gave it to.

The server tells a key twice: that it was pressed, and to whom it was delivered (as a core event, or as the first bytes
of one of XInput 2). Both come in the server's own order, so a key belongs to the right window however late it is read;
one that a locked screen, a dialog for a password or another program grabbed was delivered to that.
"""

from __future__ import annotations

import queue
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from Xlib import X, error
from Xlib.ext import record

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Button, KeyStroke, Moved, Scrolled
from tars_jax.annotation.in_situ.privacy import VisibleWindow
from tars_jax.annotation.in_situ.sources import HandInput, RecordingClock, SourceLost
from tars_jax.annotation.in_situ.x11.connecting import connect, gone
from tars_jax.annotation.in_situ.x11.keys import COMMANDS, Keymap
from tars_jax.annotation.in_situ.x11.screen import XScreen

BUTTONS = {1: "left", 2: "middle", 3: "right"}
WHEEL = {4: (0, -1), 5: (0, 1), 6: (-1, 0), 7: (1, 0)}
EVENT_BYTES = 32
CORE = struct.Struct("<BBHIIIIhhhhHBx")  # type, detail, sequence, time, root, event, child, x, y of root, ..., state
GENERIC = struct.Struct("<BBHIHHIIIII")  # type, extension, sequence, length, kind, device, time, detail, root, event
GENERIC_EVENT = 35
TAKEN = frozenset((*range(X.KeyPress, X.MotionNotify + 1), X.MappingNotify, GENERIC_EVENT))
XI_PRESS, XI_RELEASE = 2, 3
LONG_AGO = 1 << 31  # of the server's clock, which begins again at 2**32 ms


class XHands:
    """Listens in a thread of its own from the beginning."""

    def __init__(self, name: str, clock: RecordingClock, screen: XScreen) -> None:
        """`screen`: of the same server and the thread in which `take` is called. Raises InputError for a server
        without XRECORD."""
        self._clock, self._screen = clock, screen
        self._control, self._listening = connect(name), connect(name)
        if not self._control.has_extension("RECORD"):
            raise InputError("config.display must be an X server with the extension RECORD; this one has none")
        self._keymap = Keymap(self._control)
        self._mask = self._control.display.info.resource_id_mask
        # One range for all, as the server heeds no second one: what it tells beyond is dropped at once.
        wanted = {"core_requests": (0, 0), "core_replies": (0, 0), "ext_requests": (0, 0, 0, 0),
                  "ext_replies": (0, 0, 0, 0), "errors": (0, 0), "client_started": False,
                  "client_died": False, "device_events": (X.KeyPress, X.MotionNotify),
                  "delivered_events": (X.KeyPress, GENERIC_EVENT)}  # fmt: skip
        self._context = self._control.record_create_context(0, [record.AllClients], [wanted])
        self._control.sync()
        self._came: queue.SimpleQueue[tuple[float, bytes, int]] = queue.SimpleQueue()
        self._offset: float | None = None  # of the server's clock
        self._pressed: list[tuple[float, bytes, list[tuple[int, int]]]] = []  # a key that is not known yet whose it is
        self._lost = ""
        self._thread = threading.Thread(target=self._listen, name="xrecord", daemon=True)
        self._thread.start()

    def take(self) -> Sequence[HandInput]:
        found: list[HandInput] = []
        lost = self._lost
        came = [self._came.get_nowait() for _ in range(self._came.qsize())]
        if came:
            self._screen.windows()  # those that keys went to are known from here on
        for at, event, client in came:
            found += self._event(at, event, client)
        # Who a key was delivered to follows it at once: a later look has all of it.
        if self._pressed and self._clock.now() - self._pressed[0][0] > 0.02:
            found += self._resolved()
        if lost and not found:
            raise SourceLost(lost)
        return found

    def close(self) -> None:
        for act in (lambda: self._control.record_disable_context(self._context), self._control.close):
            try:
                act()
            except (*gone(), error.XError):
                pass
        self._thread.join(5)

    def _listen(self) -> None:
        try:
            self._listening.record_enable_context(self._context, self._reply)
            self._lost = "the X server ended it"
        except (*gone(), error.XError) as failed:
            self._lost = f"the X server is gone: {failed}"

    def _reply(self, reply: Any) -> None:
        if reply.category == record.FromServer or reply.category == record.FromClient:
            now = time.monotonic()
            data = reply.data
            for start in range(0, len(data) - EVENT_BYTES + 1, EVENT_BYTES):
                event = data[start : start + EVENT_BYTES]
                if event[0] & 0x7F in TAKEN:
                    self._came.put((now, event, reply.id_base))

    def _event(self, at: float, data: bytes, client: int) -> list[HandInput]:
        """`client`: whom it was delivered to, by the first of its numbers."""
        kind = data[0] & 0x7F
        if kind == GENERIC_EVENT:
            _, _, _, _, what, _, when, detail, _, window, _ = GENERIC.unpack(data)
            if what in (XI_PRESS, XI_RELEASE):
                self._delivered(what == XI_PRESS, detail, when, (window, client))
            return []
        if kind == X.MappingNotify:
            self._keymap.refresh()
            return []
        _, detail, _, when, _, window, _, x, y, *_ = CORE.unpack(data)
        is_key = kind in (X.KeyPress, X.KeyRelease)
        if window:  # it was delivered to that
            if is_key:
                self._delivered(kind == X.KeyPress, detail, when, (window, client))
            return []
        found = self._resolved()
        moment = self._time(at, when)
        if is_key:
            self._pressed.append((moment, data, []))
        elif kind == X.MotionNotify:
            found.append(HandInput(Moved(time=moment, x=x, y=y)))
        elif detail in BUTTONS:
            pressed = Button(time=moment, x=x, y=y, button=BUTTONS[detail], down=kind == X.ButtonPress)  # type: ignore[arg-type]
            found.append(HandInput(pressed))
        elif detail in WHEEL and kind == X.ButtonPress:
            dx, dy = WHEEL[detail]
            found.append(HandInput(Scrolled(time=moment, x=x, y=y, dx=dx, dy=dy)))
        return found

    def _delivered(self, down: bool, code: int, when: int, to: tuple[int, int]) -> None:
        for _, data, receivers in self._pressed:
            kind, detail, _, pressed, *_ = CORE.unpack(data)
            if (kind & 0x7F == X.KeyPress, detail, pressed) == (down, code, when):
                receivers.append(to)

    def _resolved(self) -> list[HandInput]:
        """The keys of which all is known now."""
        found = []
        for moment, data, receivers in self._pressed:
            kind, code, _, _, _, _, _, _, _, _, _, state, _ = CORE.unpack(data)
            down = kind & 0x7F == X.KeyPress
            name, text = self._keymap.key(code, state, down)
            key = KeyStroke(time=moment, key=name, down=down, text=text)
            found.append(HandInput(key, self._owner(receivers, state)))
        self._pressed.clear()
        return found

    def _owner(self, receivers: list[tuple[int, int]], state: int) -> VisibleWindow | None:
        """Of a key; None where it went to several windows, to none, or to one that is not known.

        What the window manager grabs, as Alt+Tab, belongs to the window that had the focus.
        """
        owners = {}
        for window, client in receivers:
            if client and client == self._screen.manager() & ~self._mask:
                owner = self._screen.windows().focused if state & COMMANDS else None
            else:
                owner = self._screen.owner(window)
            owners[owner.id if owner is not None else 0] = owner
        return owners.popitem()[1] if len(owners) == 1 else None

    def _time(self, at: float, when: int) -> float:
        """Of the recording, by the server's time stamp, which runs as the monotonic clock does and was there first."""
        offset = at - when / 1000
        if self._offset is None or offset < self._offset or offset - self._offset > LONG_AGO / 1000:
            self._offset = offset
        return self._clock.at(self._offset + when / 1000)
