"""The windows of a desktop, as the window manager knows them (EWMH): for verifiers and for the set-up of tasks; and the
processes behind them, as the X server knows them: no program can say that it is another."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from PIL import Image
from Xlib import X, display, error
from Xlib.ext import res
from Xlib.protocol import event

from tars_jax.sandbox.desktop.connection import XConnection
from tars_jax.sandbox.desktop.screenshot import WindowInfo

LARGEST_REQUEST = 200_000  # bytes of a picture in one request; the protocol's own limit is 262140
BY_A_PAGER = 2  # who asks, of a message to the window manager
_SERVER = 0  # the client that the server itself is; where one is asked for, all of them
_UNKNOWN = 0  # the process of a program that lives outside


class Windows:
    def __init__(self, connection: XConnection, clients: Clients) -> None:
        self._connection, self._clients = connection, clients

    def list(self) -> list[WindowInfo]:
        """Top-level windows, those opened first before others. One that closes meanwhile is left out."""
        root = self._connection.root
        active = self._property(root, "_NET_ACTIVE_WINDOW") or [0]
        found = []
        for number in self._property(root, "_NET_CLIENT_LIST") or []:
            try:
                found.append(self._window(number, number == active[0]))
            except error.XError:
                continue
        return found

    def activate(self, number: int) -> None:
        self._ask(number, "_NET_ACTIVE_WINDOW", BY_A_PAGER, X.CurrentTime)

    def close(self, number: int) -> None:
        """Asks a window to close; its program may ask the user first."""
        self._ask(number, "_NET_CLOSE_WINDOW", X.CurrentTime, BY_A_PAGER)

    def _window(self, number: int, active: bool) -> WindowInfo:
        window = self._connection.display.create_resource_object("window", number)
        shape = window.get_geometry()
        place = self._connection.root.translate_coords(window, 0, 0)
        title = self._property(window, "_NET_WM_NAME") or self._property(window, "WM_NAME") or b""
        names = [
            name.decode("utf-8", "replace") for name in bytes(self._property(window, "WM_CLASS") or b"").split(b"\0")
        ]
        return WindowInfo(
            number, bytes(title).decode("utf-8", "replace"), (names[0], names[1] if len(names) > 1 else ""),
            self._clients.process_of(number), place.x, place.y, shape.width, shape.height, active,
        )  # fmt: skip

    def _property(self, window: Any, name: str) -> Any:
        found = window.get_full_property(self._connection.display.get_atom(name), X.AnyPropertyType)
        return found.value if found is not None else None

    def _ask(self, number: int, message: str, *values: int) -> None:
        shown, root = self._connection.display, self._connection.root
        data = (32, [*values, *[0] * (5 - len(values))])
        root.send_event(
            event.ClientMessage(window=number, client_type=shown.get_atom(message), data=data),
            event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask,
        )
        shown.flush()


def paint_root(connection: XConnection, paint: int | Image.Image) -> None:
    """Gives the screen behind all windows one color, 0xRRGGBB, or a picture of the screen's size."""
    root = connection.root
    if isinstance(paint, int):
        root.change_attributes(background_pixel=paint)
    else:
        width, height = paint.size
        pixmap = root.create_pixmap(width, height, connection.screen.root_depth)
        context = pixmap.create_gc()
        rows = max(1, LARGEST_REQUEST // (4 * width))
        for top in range(0, height, rows):
            part = paint.crop((0, top, width, min(top + rows, height)))
            pixmap.put_image(
                context, 0, top, width, part.height, X.ZPixmap, connection.screen.root_depth, 0,
                part.convert("RGBX").tobytes("raw", "BGRX"),
            )  # fmt: skip
        root.change_attributes(background_pixmap=pixmap)
        context.free()
        pixmap.free()
    root.clear_area(0, 0, 0, 0)
    connection.display.flush()


class Clients:
    """Asks the server (X-Resource 1.2), which took each client's process from the kernel when it connected."""

    def __init__(self, shown: display.Display) -> None:
        """Raises XError where the server lacks the extension."""
        self._display = shown
        self._display.res_query_version()

    def processes(self, meanwhile: Callable[[], None] = lambda: None) -> frozenset[int]:
        """Ids inside of all that are connected and of the server, without this process.

        The server has done what it was sent before. `meanwhile` may ask it more, which then takes no time of its own.
        """
        asked = self._ask(_SERVER)
        meanwhile()
        return frozenset(process for _, process in _ids(asked)) - {_UNKNOWN, os.getpid()}

    def process_of(self, resource: int) -> int | None:
        """The process that made a window, or another resource; None where it is gone, or was made from outside."""
        found = [process for client, process in _ids(self._ask(resource)) if client != _SERVER]
        return found[0] if found and found[0] != _UNKNOWN else None

    def _ask(self, client: int) -> Any:
        """For one client, which any of its resources names, or for all; the answer is waited for when it is read."""
        inner = self._display.display
        specs = [{"client": client, "mask": res.LocalClientPIDMask}]
        return res.QueryClientIds(display=inner, defer=1, opcode=inner.get_extension_major(res.extname), specs=specs)


def _ids(asked: Any) -> list[tuple[int, int]]:
    """(client, process) of each."""
    asked.reply()
    return [(each.spec.client, each.value[0]) for each in asked.ids if each.value]
