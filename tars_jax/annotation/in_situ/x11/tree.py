"""The top-level windows of an X screen, kept as the server tells of them: whose each is and what of it can be seen.

A window is that of the program inside the frame which a window manager puts around it. One without a name of its own,
as menus and tooltips are, has that of its program's other windows, where these agree.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import Any

from Xlib import X, error
from Xlib.ext import shape

from tars_jax.annotation.in_situ.privacy import Box, ScreenWindows, VisibleWindow
from tars_jax.sandbox.desktop.windows import Clients

DEPTH_INSIDE = 4  # of frames around a program's window
OPAQUE = 0xFFFFFFFF  # of _NET_WM_WINDOW_OPACITY
GONE_S = 0.5  # for which a window that closed is remembered: its last key comes after it
PROPERTIES = ("_NET_WM_NAME", "WM_NAME", "WM_CLASS", "_NET_WM_WINDOW_OPACITY", "_NET_WM_OPAQUE_REGION", "WM_STATE")


@dataclasses.dataclass(frozen=True)
class _Top:
    """A child of the root."""

    shown: VisibleWindow
    inside: int  # the program's window
    viewable: bool


class Tree:
    """Belongs to one thread. Calls raise what `gone` lists once the server is."""

    def __init__(self, shown: Any, own: set[int]) -> None:
        """`own`: ids of the recorder's windows."""
        self._display, self._own = shown, own
        self.root = shown.screen().root
        self._base = ~shown.display.info.resource_id_mask
        shown.set_error_handler(lambda complaint, request: None)  # of windows that closed meanwhile
        self.root.change_attributes(event_mask=X.SubstructureNotifyMask | X.StructureNotifyMask | X.PropertyChangeMask)
        self._clients = Clients(shown) if shown.has_extension("X-Resource") else None
        self._atoms = {name: shown.intern_atom(name) for name in (*PROPERTIES, "_NET_WM_CM_S0")}
        self._told = {self._atoms[name] for name in PROPERTIES}
        self._shape_event = getattr(shown.extension_event, "ShapeNotify", None)
        self._tops: dict[int, _Top] = {}
        self._owners: dict[int, int] = {}  # window -> the child of the root that it is in
        self._gone: dict[int, tuple[float, VisibleWindow]] = {}
        self._stale = True
        self._composited = False
        self._order: list[int] = []
        self._last = ScreenWindows((0, 0))

    def heard(self, event: Any) -> None:
        """An event of the server's. What it is about is asked for anew by the next `windows`."""
        if event.type == X.PropertyNotify:
            if event.window.id != self.root.id and event.atom in self._told:
                self._forget(self._top_of(event.window.id))
        elif event.type in (X.MapNotify, X.UnmapNotify, X.ConfigureNotify, X.CirculateNotify, X.CreateNotify):
            self._forget(event.window.id)
        elif event.type in (X.DestroyNotify, X.ReparentNotify):
            self._buried(event.window.id)
        elif event.type == self._shape_event:
            self._forget(event.affected_window.id)

    @property
    def is_stale(self) -> bool:
        return self._stale

    def windows(self) -> ScreenWindows:
        """The windows as of now; the same object where nothing has changed."""
        if self._stale:
            self._scan()
        focused = self._focus()
        if focused != self._last.focused:
            self._last = dataclasses.replace(self._last, focused=focused)
        return self._last

    def owner(self, window: int) -> VisibleWindow | None:
        """The top-level window that a window is in, or was in a moment ago."""
        top = self._climb(window)
        if top is not None and (found := self._tops.get(top)) is not None:
            return self._named(found)
        until, gone = self._gone.get(window, (0.0, None))
        return gone if time.monotonic() < until else None

    def manager(self) -> int:
        """A window of the window manager's; 0 where there is none."""
        found = self._property(self.root, "_NET_SUPPORTING_WM_CHECK")
        return found[0] if found else 0

    def _top_of(self, window: int) -> int:
        """The child of the root that a program's window is in; the focus may be on another one of it."""
        inside = (number for number, top in self._tops.items() if top.inside == window)
        return next(inside, self._owners.get(window, window))

    def _forget(self, top: int) -> None:
        self._tops.pop(top, None)
        self._stale = True

    def _buried(self, top: int) -> None:
        if (known := self._tops.pop(top, None)) is not None:
            until = time.monotonic() + GONE_S
            for window in (window for window, owner in self._owners.items() if owner == top):
                self._gone[window] = until, known.shown
        self._owners.clear()
        self._stale = True

    def _scan(self) -> None:
        self._stale = False
        geometry = self.root.get_geometry()
        composited = self._display.get_selection_owner(self._atoms["_NET_WM_CM_S0"]) != X.NONE
        if composited != self._composited:
            self._composited = composited
            self._tops.clear()
        self._order = [child.id for child in self.root.query_tree().children]
        now = time.monotonic()
        self._gone = {window: each for window, each in self._gone.items() if each[0] > now}
        for number in self._order:
            if number not in self._tops:
                with contextlib.suppress(error.XError):  # it closed
                    self._tops[number] = self._top(number)
                    self._reused(number)
        self._tops = {number: self._tops[number] for number in self._order if number in self._tops}
        shown = tuple(self._named(top) for top in self._tops.values() if top.viewable)
        size = geometry.width, geometry.height
        if (size, shown) != (self._last.size, self._last.shown):
            self._last = ScreenWindows(size, shown, self._last.focused)

    def _reused(self, number: int) -> None:
        """Numbers of a program that ended are given to the next one: what is remembered of them is not that one's."""
        base = self._tops[number].inside & self._base
        self._gone = {window: each for window, each in self._gone.items() if window & self._base != base}

    def _top(self, number: int) -> _Top:
        window = self._display.create_resource_object("window", number)
        attributes = window.get_attributes()
        viewable = attributes.map_state == X.IsViewable and attributes.win_class == X.InputOutput
        if number in self._own:
            geometry = window.get_geometry()
            return _Top(VisibleWindow(number, "", box=_box(geometry), own=True), number, viewable)
        inside = self._inside(window, DEPTH_INSIDE) or window
        inside.change_attributes(event_mask=X.PropertyChangeMask)
        names = bytes(self._property(inside, "WM_CLASS") or b"").decode("utf-8", "replace").split("\0")
        if inside.id == number and self.manager() and number & self._base == self.manager() & self._base:
            names = [""]  # a menu or a list of the window manager's is no application
        title = bytes(self._property(inside, "_NET_WM_NAME") or self._property(inside, "WM_NAME") or b"")
        geometry = window.get_geometry()
        process = self._clients.process_of(inside.id) if self._clients is not None else None
        return _Top(
            VisibleWindow(
                number, names[1] if len(names) > 1 else "", names[0], title.decode("utf-8", "replace"),
                _box(geometry), self._solid(window, inside, geometry), process or 0,
            ),
            inside.id, viewable,
        )  # fmt: skip

    def _inside(self, window: Any, depth: int) -> Any | None:
        """The window that its program has made known to the window manager."""
        if self._property(window, "WM_STATE") is not None:
            return window
        if depth:
            for child in window.query_tree().children:
                if (found := self._inside(child, depth - 1)) is not None:
                    return found
        return None

    def _solid(self, window: Any, inside: Any, geometry: Any) -> tuple[Box, ...] | None:
        """The parts that nothing below is seen through; None for all of it."""
        x, y = geometry.x + geometry.border_width, geometry.y + geometry.border_width
        if self._shape_event is not None:
            window.shape_select_input(1)
            if window.shape_query_extents().bounding_shaped:
                parts = window.shape_get_rectangles(shape.SK.Bounding).rectangles
                return tuple((x + part.x, y + part.y, part.width, part.height) for part in parts)
        if not self._composited:
            return None
        opacity = self._property(inside, "_NET_WM_WINDOW_OPACITY") or self._property(window, "_NET_WM_WINDOW_OPACITY")
        if opacity and opacity[0] < OPAQUE:
            return ()
        if 32 not in (geometry.depth, inside.get_geometry().depth):
            return None
        region = list(self._property(inside, "_NET_WM_OPAQUE_REGION") or ())
        at = self.root.translate_coords(inside, 0, 0)
        return tuple(
            (at.x + region[n], at.y + region[n + 1], region[n + 2], region[n + 3]) for n in range(0, len(region) - 3, 4)
        )

    def _named(self, top: _Top) -> VisibleWindow:
        """With the name of its program's other windows where it has none."""
        if top.shown.application or top.shown.own:
            return top.shown
        same = {
            (other.shown.application, other.shown.instance)
            for other in self._tops.values()
            if other.shown.application and other.inside & self._base == top.inside & self._base
        }
        if len(same) != 1:
            return top.shown
        application, instance = same.pop()
        return dataclasses.replace(top.shown, application=application, instance=instance)

    def _focus(self) -> VisibleWindow | None:
        focused = self._display.get_input_focus().focus
        if isinstance(focused, int):  # none, or wherever the pointer is
            return None
        with contextlib.suppress(error.XError):
            top = self._climb(focused.id)
            if top is not None and (found := self._tops.get(top)) is not None:
                return self._named(found)
        return None

    def _climb(self, window: int) -> int | None:
        """The child of the root that a window is in; None for the root and what is gone."""
        if window in self._tops:
            return window
        if (known := self._owners.get(window)) is not None:
            return known
        start, here = window, window
        try:
            while True:
                parent = self._display.create_resource_object("window", here).query_tree().parent
                if isinstance(parent, int):  # it is the root
                    return None
                if parent.id == self.root.id:
                    self._owners[start] = here
                    return here
                here = parent.id
        except error.XError:
            return None

    def _property(self, window: Any, name: str) -> Any:
        atom = self._atoms.get(name) or self._display.intern_atom(name)
        self._atoms[name] = atom
        found = window.get_full_property(atom, X.AnyPropertyType)
        return found.value if found is not None else None


def _box(geometry: Any) -> Box:
    border = 2 * geometry.border_width
    return geometry.x, geometry.y, geometry.width + border, geometry.height + border
