"""Settling: a screenshot is taken once the screen has settled, or the time for that is over.

Where programs are seen to wait, and for no moment within the time that we would wait, that time is cut short.
"""

from __future__ import annotations

import select
import time

import numpy as np
from Xlib.ext import damage

from tars_jax.sandbox.desktop.config import Settle
from tars_jax.sandbox.desktop.connection import XConnection
from tars_jax.sandbox.desktop.programs import Programs
from tars_jax.sandbox.desktop.screen import Cursor, FrameBuffer

SMALL_SHARE = 0.01  # of a screen: what changes without end and is no larger is a caret, a clock or a spinner
SAMPLES = 4  # of a screen that does not settle, before such a thing is told from a picture that is still drawn
SAMPLE_S = 0.06  # between them
LOOK_S, MOST_LOOK_S = 0.0005, 0.008  # between looks at the programs, at first and at last


class DamageWatch:
    """Hears from the X server that something was drawn (XDamage), and that the cursor looks another way."""

    def __init__(self, connection: XConnection, frames: FrameBuffer, cursor: Cursor, programs: Programs) -> None:
        self._connection, self._frames, self._cursor, self._programs = connection, frames, cursor, programs
        shown = connection.display
        shown.damage_query_version()  # the server refuses what comes before it
        self._damage = connection.root.damage_create(damage.DamageReportNonEmpty)
        events = shown.extension_event
        self._drawn, self._cursor_changed = events.DamageNotify, events.DisplayCursorNotify
        shown.flush()

    def drain(self) -> bool:
        """Takes the events that have come. Whether something was drawn since the last time."""
        shown, drawn = self._connection.display, False
        while shown.pending_events():
            event = shown.next_event()
            if event.type == self._drawn:
                drawn = True
                shown.damage_subtract(self._damage)  # goes out with what is sent next
            elif (event.type, getattr(event, "sub_code", None)) == self._cursor_changed:
                self._cursor.changed()
        return drawn

    def settle(self, settle: Settle) -> bool:
        """Waits until the screen has settled. False: the bound came first."""
        start = time.monotonic()
        end = start + settle.bound_ms / 1000
        quiet_from, wait = start, settle.first_ms / 1000
        unrest, look_s, can_tell = Unrest(self._frames, start), LOOK_S, True
        while (now := time.monotonic()) < end:
            if (left := min(quiet_from + wait, end) - now) <= 0:
                return True
            if can_tell:
                at_rest = self._programs.at_rest(wait)
                if at_rest:
                    self.drain()
                    return True
                can_tell = at_rest is not None
                left, look_s = min(left, look_s), min(2 * look_s, MOST_LOOK_S)
            if self._hears(left) and self.drain():
                quiet_from, wait = time.monotonic(), settle.quiet_ms / 1000
                if unrest.is_small(quiet_from):
                    return True
        return False

    def _hears(self, seconds: float) -> bool:
        self._connection.display.flush()
        if self._connection.display.display.event_queue:
            return True
        return bool(select.select([self._connection.display.fileno()], [], [], seconds)[0])


class Unrest:
    """Tells a small thing that moves without end from a screen that is still being drawn, by a few samples."""

    def __init__(self, frames: FrameBuffer, start: float) -> None:
        self._frames, self._next = frames, start + 2 * SAMPLE_S
        self._last: np.ndarray | None = None
        self._small = 0

    def is_small(self, now: float) -> bool:
        """Whether all that changed in the last samples lay in one small part of the screen."""
        if now < self._next:
            return False
        self._next = now + SAMPLE_S
        sample, last = self._frames.words(), self._last
        self._last = sample
        if last is None:
            return False
        changed = sample != last
        rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        area = (np.ptp(rows) + 1) * (np.ptp(columns) + 1) if len(rows) else 0
        self._small = self._small + 1 if area <= SMALL_SHARE * sample.size else 0
        return self._small >= SAMPLES
