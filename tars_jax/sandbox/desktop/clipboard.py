"""The clipboard of a desktop: what programs have copied, and what a user outside gives them to paste."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import threading
from collections.abc import Callable
from typing import Any, Self

from Xlib import X, Xatom, error
from Xlib.ext import xfixes
from Xlib.protocol import event

from tars_jax.sandbox.computer.connection_tracker import ConnectionTracker
from tars_jax.sandbox.desktop.connection import GONE, XConnection
from tars_jax.sandbox.failures import SandboxFailure

LARGEST = 200_000  # bytes of a text: a request of the X protocol has at most 262,140
SELECTIONS = ("CLIPBOARD", "PRIMARY")  # of Ctrl-V, and of the middle button


class Clipboard:
    """A link: while a copy of the computer is made it is detached, and what was put is forgotten."""

    def __init__(
        self, connect: Callable[[], XConnection], links: ConnectionTracker, copied: Callable[[str], object]
    ) -> None:
        """`connect`: to the X server; it blocks. `copied`: hears, in another thread, of each text of a program."""
        self._connect, self._links, self._copied = connect, links, copied
        self._selections: _Selections | None = None

    async def open(self) -> Self:
        """Raises SandboxFailure where the X server is gone."""
        async with self._links.in_use("a clipboard"):
            await self.attach()
        self._links.add(self)
        return self

    def put(self, text: str) -> None:
        """Programs will paste this text, at most LARGEST bytes of it, until one of them copies something."""
        if self._selections is not None:
            self._selections.put(text)

    async def detach(self) -> None:
        selections, self._selections = self._selections, None
        if selections is not None:
            await asyncio.to_thread(selections.close)

    async def attach(self) -> None:
        try:
            self._selections = await asyncio.to_thread(lambda: _Selections(self._connect(), self._copied))
        except (*GONE, error.XError) as gone:
            raise SandboxFailure("desktop", f"no connection to the X server: {gone}") from gone

    async def close(self) -> None:
        self._links.remove(self)
        await self.detach()


class _Selections:
    """Has a connection and a thread of its own until it is closed or the server has gone."""

    def __init__(self, connection: XConnection, copied: Callable[[str], object]) -> None:
        """Takes the connection over. Raises one of GONE or XError."""
        self._connection, self._copied = connection, copied
        self._display = display = connection.display
        self._window = connection.root.create_window(0, 0, 1, 1, 0, 0, X.InputOnly)
        self._atom = {
            name: display.intern_atom(name)
            for name in (*SELECTIONS, "UTF8_STRING", "TARGETS", "TEXT", "INCR", "TARS_CLIPBOARD")
        }
        self._text = b""
        self._given: list[bytes] = []  # by other threads
        self._wake, self._woken = socket.socketpair()
        display.xfixes_query_version()
        for name in SELECTIONS:
            mask = xfixes.XFixesSetSelectionOwnerNotifyMask
            display.xfixes_select_selection_input(self._window, self._atom[name], mask)
        display.flush()
        self._thread = threading.Thread(target=self._run, name="clipboard", daemon=True)
        self._thread.start()

    def put(self, text: str) -> None:
        self._given.append(text.encode(errors="replace")[:LARGEST])
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        self._thread.join(5.0)
        if self._thread.is_alive():
            self._connection.cut()
            self._thread.join()

    def _run(self) -> None:
        try:
            with contextlib.suppress(*GONE):
                while self._once():
                    pass
        finally:
            self._connection.close()
            self._wake.close()
            self._woken.close()

    def _once(self) -> bool:
        if not self._display.pending_events():
            ready, _, _ = select.select([self._display.fileno(), self._woken], [], [])
            if self._woken in ready:
                if b"x" in self._woken.recv(4096):
                    return False
                self._own()
        while self._display.pending_events():
            with contextlib.suppress(error.XError):
                self._answer(self._display.next_event())
        self._display.flush()
        return True

    def _own(self) -> None:
        given, self._given = self._given, []
        if given:
            self._text = given[-1]
            for name in SELECTIONS:
                self._window.set_selection_owner(self._atom[name], X.CurrentTime)
            self._display.flush()

    def _answer(self, happened: Any) -> None:
        if isinstance(happened, event.SelectionRequest):
            self._give(happened)
        elif isinstance(happened, event.SelectionNotify):
            self._take(happened)
        elif isinstance(happened, xfixes.SelectionNotify) and happened.owner not in (X.NONE, self._window):
            wanted, place = self._atom["UTF8_STRING"], self._atom["TARS_CLIPBOARD"]
            self._window.convert_selection(happened.selection, wanted, place, X.CurrentTime)

    def _take(self, told: Any) -> None:
        if told.property == X.NONE:  # no text
            return
        found = self._window.get_full_property(told.property, X.AnyPropertyType, sizehint=LARGEST // 4)
        self._window.delete_property(told.property)
        if found is None or found.property_type == self._atom["INCR"] or not isinstance(found.value, bytes):
            return  # longer than one message, or no text
        self._copied(found.value[:LARGEST].decode(errors="replace"))

    def _give(self, asked: Any) -> None:
        place = asked.property or asked.target
        texts = (self._atom["UTF8_STRING"], Xatom.STRING, self._atom["TEXT"])
        if asked.target == self._atom["TARGETS"]:
            asked.requestor.change_property(place, Xatom.ATOM, 32, [asked.target, *texts])
        elif asked.target in texts:
            text = self._text
            if asked.target == Xatom.STRING:
                text = text.decode(errors="replace").encode("latin-1", "replace")
            kind = Xatom.STRING if asked.target == Xatom.STRING else self._atom["UTF8_STRING"]
            asked.requestor.change_property(place, kind, 8, text)
        else:
            place = X.NONE
        told = {"time": asked.time, "selection": asked.selection, "target": asked.target, "property": place}
        asked.requestor.send_event(event.SelectionNotify(requestor=asked.requestor, **told))
