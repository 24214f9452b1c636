"""One connection with an X server and what it is used for: hands, eyes and the list of windows. Its calls block."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.desktop.config import Settle
from tars_jax.sandbox.desktop.devices import Devices, goes
from tars_jax.sandbox.desktop.files import Inside
from tars_jax.sandbox.desktop.png import PngEncoder
from tars_jax.sandbox.desktop.programs import Programs
from tars_jax.sandbox.desktop.screen import Cursor, FrameBuffer
from tars_jax.sandbox.desktop.screenshot import Screenshot
from tars_jax.sandbox.desktop.server import XServer
from tars_jax.sandbox.desktop.settling import DamageWatch
from tars_jax.sandbox.desktop.windows import Clients, Windows

CARRIED = Settle(first_ms=300, quiet_ms=250, bound_ms=1000)  # of a drag: whoever it is dropped on looks at it first


class Attachment:
    """Belongs to one thread at a time."""

    def __init__(
        self, server: XServer, inside: Inside, size: tuple[int, int], before: Devices | None = None
    ) -> None:  # fmt: skip
        """`size`: that the screen must have. `before`: the devices of an earlier connection, whose keys are still held.

        Raises SandboxFailure where the server is gone, or one of GONE.
        """
        self.connection = server.connect()
        try:
            clients = Clients(self.connection.display)
            self.devices = Devices(self.connection) if before is None else before.moved(self.connection)
            self.windows = Windows(self.connection, clients)
            self._cursor = Cursor(self.connection)
            self._frames = FrameBuffer(server.frame_buffer(), size)
        except BaseException:
            self.connection.close()
            raise
        programs = Programs(inside, server.process, lambda: clients.processes(self._cursor.find))
        self._watch = DamageWatch(self.connection, self._frames, self._cursor, programs)
        self._encoder = PngEncoder()

    def see(self, settle: Settle | None) -> Screenshot:
        """A screenshot, with `settle` once the screen has settled."""
        if settle is None:
            self._watch.drain()
        else:
            self._watch.settle(settle)
        frame = self._frames.frame()
        self._cursor.draw(frame)
        return Screenshot(frame, self._encoder)

    def act(self, events: Sequence[InputEvent], settle: Settle) -> Screenshot:
        """Raises InputError for an event that cannot be; then none was sent."""
        self.devices.check(events)
        self._watch.drain()
        *first, last = goes(events)
        for part in first:
            self.devices.send(part)
            self._watch.settle(CARRIED)
        self.devices.send(last)
        return self.see(settle)

    def pointer(self) -> tuple[int, int]:
        found = self.connection.root.query_pointer()
        return found.root_x, found.root_y

    def cut(self) -> None:
        """Ends the connection at once, from any thread, and so every call that waits."""
        self.connection.cut()

    def close(self) -> None:
        """The server goes on."""
        self.connection.close()
        self._frames.close()
