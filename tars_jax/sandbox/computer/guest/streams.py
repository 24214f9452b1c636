"""Connections that become a stream of bytes: to a port or a socket inside, or to a program's stdin and stdout."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import weakref
from collections.abc import Callable

from tars_jax.sandbox.computer.guest.calls import Call, CallError, encodable
from tars_jax.sandbox.computer.guest.loop import READ, WRITE, Loop
from tars_jax.sandbox.computer.guest.processes import Processes

CHUNK = 1 << 16
CONNECT_S = 10.0

Take = Callable[[], tuple[socket.socket, bytes]]


class Half:
    """One direction: what `source` says goes to `target`, at the pace that it takes it."""

    def __init__(self, source: socket.socket, target: socket.socket, first: bytes = b"") -> None:
        self.source, self.target = source, target
        self.waiting = first
        self.ended = self.told = False  # no more to read; the target knows
        self.refused = False  # the target takes nothing any more

    def read(self) -> None:
        try:
            self.waiting = self.source.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self.waiting = b""
        self.ended = not self.waiting

    def write(self) -> None:
        try:
            while self.waiting:
                self.waiting = self.waiting[self.target.send(self.waiting) :]
        except BlockingIOError:
            return
        except OSError:
            self.waiting, self.ended, self.refused = b"", True, True
        if self.ended and not self.told:
            self.told = True
            with contextlib.suppress(OSError):
                self.target.shutdown(socket.SHUT_WR)


class GuestStream:
    """Both directions, until both have ended or one side is broken.

    A `kept` one outlives its host: what the inside says then waits in its socket until another host is attached.
    """

    def __init__(
        self, loop: Loop, host: socket.socket, inside: socket.socket, first: bytes, ended: Callable[[], None], *,
        kept: bool = False,
    ) -> None:  # fmt: skip
        """`ended` is told whenever a host has gone."""
        self._loop, self._inside, self._ended, self._kept = loop, inside, ended, kept
        self._host: socket.socket | None = None
        self._unsaid = self._unheard = b""  # that the inside, and the host, has not taken yet
        inside.setblocking(False)
        self.attach(host, first)

    def attach(self, host: socket.socket, first: bytes) -> None:
        """Attaches another host in the place of the one before."""
        self._leave()
        host.setblocking(False)
        self._host = host
        self._halves = (Half(host, self._inside, self._unsaid + first), Half(self._inside, host, self._unheard))
        self._wanted = {host: -1, self._inside: -1}
        self._step()

    def _leave(self) -> None:
        if (host := self._host) is not None:
            self._host = None
            self._unsaid, self._unheard = (half.waiting for half in self._halves)
            for each in (host, self._inside):
                self._loop.watch(each.fileno(), 0, lambda _: None)
            host.close()
            self._ended()

    def close(self) -> None:
        self._leave()
        self._inside.close()

    def end_with_host(self) -> None:
        """Ends the stream with its host: what the inside has said may still be heard."""
        self._kept = False
        if self._host is None:
            self.close()
        else:
            self._step()

    def _ready(self, which: socket.socket, events: int) -> None:
        for half in self._halves:
            if half.source is which and events & READ and not half.waiting and not half.ended:
                half.read()
        self._step()

    def _step(self) -> None:
        for half in self._halves:
            if not (self._kept and half.ended and half is self._halves[0]):  # the inside does not hear of a host's end
                half.write()
        said, heard = self._halves
        if self._kept and ((said.ended and not said.refused) or heard.refused):
            self._leave()
            return
        if said.told and heard.told:
            self.close()
            return
        for each in self._wanted:
            wanted = 0
            for half in self._halves:
                if half.source is each and not half.waiting and not half.ended:
                    wanted |= READ
                if half.target is each and half.waiting:
                    wanted |= WRITE
            if wanted != self._wanted[each]:
                self._wanted[each] = wanted
                self._loop.watch(each.fileno(), wanted, lambda events, each=each: self._ready(each, events))  # type: ignore[misc]


class Streams:
    """`take` gives the socket of the connection that a call came on, and what it said behind the call."""

    def __init__(self, processes: Processes, loop: Loop) -> None:
        self._processes, self._loop = processes, loop
        self._kept: dict[int, GuestStream] = {}  # by process
        self._passing: weakref.WeakSet[GuestStream] = weakref.WeakSet()  # to ports and sockets
        self.open = 0  # that have a host

    def call_connect(self, call: Call, take: Take) -> None:
        """Connects to a port of the inside, or the path of a socket there. After the answer the connection is the
        stream."""
        call.check_read("port", "path")
        path = call.text("path", "")
        port = 0 if path else call.whole("port", least=1, most=65535)
        encodable(path)

        def work() -> None:
            try:
                inside = _reach(path, port)
            except OSError as error:
                failure = CallError.of(error, f"nothing answers at {path or f'port {port}'}")
                self._loop.hand(lambda: call.fail(failure))
            else:
                self._loop.hand(lambda: self._connected(call, inside, take))

        self._loop.work(work)

    def _connected(self, call: Call, inside: socket.socket, take: Take) -> None:
        if stream := self._begin(call, inside, take):
            self._passing.add(stream)

    def call_part(self, call: Call) -> None:
        """Streams to ports and sockets end."""
        call.check_read()
        for stream in list(self._passing):
            stream.close()
        call.answer()

    def call_pipe(self, call: Call, take: Take) -> None:
        """Starts a program; after the answer the connection is its stdin and stdout.

        `kept`: the end of the connection is no end for the program; `attach` gives it another one.
        """
        call.check_read("argv", "env", "cwd", "kept")
        kept = call.flag("kept")
        inside, theirs = socket.socketpair()
        try:
            descriptor = theirs.fileno()
            pid = self._processes.start(
                call.words("argv"), call.texts("env"), call.text("cwd", ""), stdin=descriptor, stdout=descriptor,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except BaseException:
            inside.close()
            raise
        finally:
            theirs.close()
        if (stream := self._begin(call, inside, take, pid, kept=kept)) and kept:
            self._kept[pid] = stream
            self._processes.on_end(pid, lambda _: self._kept.pop(pid).end_with_host())

    def call_attach(self, call: Call, take: Take) -> None:
        """Attaches to a program that `pipe` has started as `kept`, in the place of whoever was connected to it."""
        call.check_read("process")
        pid = call.whole("process")
        if (stream := self._kept.get(pid)) is None:
            raise CallError("ESRCH", f"process must be one that was started to be kept, and runs; got {pid}")
        call.answer({"process": pid})
        with contextlib.suppress(ConnectionError):  # it has gone meanwhile
            host, first = take()
            self.open += 1
            stream.attach(host, first)

    def _begin(
        self, call: Call, inside: socket.socket, take: Take, pid: int | None = None, *, kept: bool = False
    ) -> GuestStream | None:
        call.answer({"process": pid} if pid else {})
        try:
            host, first = take()
        except ConnectionError:  # it has gone meanwhile
            inside.close()
            return None
        self.open += 1
        return GuestStream(self._loop, host, inside, first, self._ended, kept=kept)

    def _ended(self) -> None:
        self.open -= 1


def _reach(path: str, port: int) -> socket.socket:
    if path:
        inside = socket.socket(socket.AF_UNIX)
        try:
            inside.settimeout(CONNECT_S)
            inside.connect(os.fsencode(path))
        except BaseException:
            inside.close()
            raise
        return inside
    try:
        return socket.create_connection(("127.0.0.1", port), CONNECT_S)
    except OSError:
        with contextlib.suppress(OSError):
            return socket.create_connection(("::1", port), CONNECT_S)
        raise
