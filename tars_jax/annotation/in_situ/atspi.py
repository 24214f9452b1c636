"""Listens to AT-SPI by its C library and says in lines of JSON what has the focus. A program: python atspi.py.

    {"secret": true}                          a field for a password has the focus, or {"secret": false} another one
    {"process": 4711, "tree": {"role": "frame", "name": "...", "box": [x, y, w, h], "children": [...]}}

Ends where the library or the bus is not there, and when its standard input is closed. Takes the standard library alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from typing import Any

PASSWORD_TEXT = 40  # ATSPI_ROLE_PASSWORD_TEXT
SCREEN = 0  # ATSPI_COORD_TYPE_SCREEN
MOST_NODES, MOST_DEPTH, MOST_CHILDREN = 600, 24, 100
TIMEOUT_MS = 500  # of a program that is asked
POINTER = ctypes.c_void_p


class AtspiEvent(ctypes.Structure):
    """The beginning of AtspiEvent."""

    _fields_ = (("type", ctypes.c_char_p), ("source", POINTER), ("detail1", ctypes.c_int), ("detail2", ctypes.c_int))


class AtspiRectangle(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int), ("width", ctypes.c_int), ("height", ctypes.c_int))


HEARD = ctypes.CFUNCTYPE(None, ctypes.POINTER(AtspiEvent), POINTER)


def main() -> int:
    try:
        spi, gobject, glib = (
            ctypes.CDLL(name) for name in ("libatspi.so.0", "libgobject-2.0.so.0", "libglib-2.0.so.0")
        )
    except OSError:
        return 1
    for name in ("atspi_event_listener_new", "atspi_accessible_get_child_at_index", "atspi_accessible_get_name",
                 "atspi_accessible_get_role_name", "atspi_accessible_get_component_iface",
                 "atspi_component_get_extents"):  # fmt: skip
        getattr(spi, name).restype = POINTER
    spi.atspi_event_get_type.restype = ctypes.c_size_t
    if spi.atspi_init() not in (0, 1):
        return 1
    spi.atspi_set_timeout(TIMEOUT_MS, TIMEOUT_MS)

    def text(call: Any, node: int) -> str:
        found = call(POINTER(node), None)
        if not found:
            return ""
        words = ctypes.string_at(found).decode("utf-8", "replace")
        glib.g_free(POINTER(found))
        return words

    def describe(node: int, left: list[int], depth: int) -> dict[str, Any]:
        left[0] -= 1
        said: dict[str, Any] = {
            "role": text(spi.atspi_accessible_get_role_name, node), "name": text(spi.atspi_accessible_get_name, node),
        }  # fmt: skip
        if component := spi.atspi_accessible_get_component_iface(POINTER(node)):
            if box := spi.atspi_component_get_extents(POINTER(component), SCREEN, None):
                found = AtspiRectangle.from_address(box)
                said["box"] = [found.x, found.y, found.width, found.height]
                glib.g_free(POINTER(box))
            gobject.g_object_unref(POINTER(component))
        children = []
        if depth < MOST_DEPTH and spi.atspi_accessible_get_role(POINTER(node), None) != PASSWORD_TEXT:
            count = spi.atspi_accessible_get_child_count(POINTER(node), None)
            for place in range(max(0, min(count, MOST_CHILDREN))):
                if left[0] <= 0:
                    break
                if child := spi.atspi_accessible_get_child_at_index(POINTER(node), place, None):
                    children.append(describe(child, left, depth + 1))
                    gobject.g_object_unref(POINTER(child))
        if children:
            said["children"] = children
        return said

    @HEARD
    def heard(event: Any, _: Any) -> None:
        kind, source = event.contents.type or b"", event.contents.source
        if source and kind.startswith(b"object:state-changed:focused") and event.contents.detail1:
            say({"secret": spi.atspi_accessible_get_role(POINTER(source), None) == PASSWORD_TEXT})
        elif source and kind.startswith(b"window:activate"):
            process = spi.atspi_accessible_get_process_id(POINTER(source), None)
            say({"secret": False})
            say({"process": process, "tree": describe(source, [MOST_NODES], 0)})
        gobject.g_boxed_free(ctypes.c_size_t(spi.atspi_event_get_type()), event)

    listener = spi.atspi_event_listener_new(heard, None, None)
    for kind in (b"object:state-changed:focused", b"window:activate"):
        spi.atspi_event_listener_register(POINTER(listener), kind, None)
    threading.Thread(target=end_with_input, daemon=True).start()
    spi.atspi_event_main()
    return 0


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
