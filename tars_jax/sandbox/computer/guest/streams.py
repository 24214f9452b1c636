"""Connections that become a stream of bytes: to a port or a socket inside, or to a program's stdin and stdout."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable

from tars_jax.sandbox.computer.guest.calls import Call, CallError, encodable
from tars_jax.sandbox.computer.guest.loop import READ, WRITE, Loop
from tars_jax.sandbox.computer.guest.processes import Processes

CHUNK = 1 << 16
CONNECT_S = 10.0


class Half:
    """One direction: what `source` says goes to `target`, at the pace that it takes it."""

    def __init__(self, source: socket.socket, target: socket.socket, first: bytes = b"") -> None:
        self.source, self.target = source, target
        self.waiting = first
        self.ended = self.told = False  # no more to read; the target knows

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
            self.waiting, self.ended = b"", True
        if self.ended and not self.told:
            self.told = True
            with contextlib.suppress(OSError):
                self.target.shutdown(socket.SHUT_WR)


class Stream:
    """Both directions, until both have ended or one side is broken."""

    def __init__(
        self, loop: Loop, host: socket.socket, inside: socket.socket, first: bytes, ended: Callable[[], None]
    ) -> None:  # fmt: skip
        self._loop, self._sockets, self._ended = loop, (host, inside), ended
        for each in self._sockets:
            each.setblocking(False)
        self._halves = (Half(host, inside, first), Half(inside, host))
        self._wanted = {host: -1, inside: -1}
        self._step()

    def _ready(self, which: socket.socket, events: int) -> None:
        for half in self._halves:
            if half.source is which and events & READ and not half.waiting and not half.ended:
                half.read()
        self._step()

    def _step(self) -> None:
        for half in self._halves:
            half.write()
        if all(half.told for half in self._halves):
            for each in self._sockets:
                self._loop.watch(each.fileno(), 0, lambda _: None)
                each.close()
            self._ended()
            return
        for each in self._sockets:
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
        self.open = 0

    def call_connect(self, call: Call, take: Callable[[], tuple[socket.socket, bytes]]) -> None:
        """To a port of the inside, or the path of a socket there. After the answer the connection is the stream."""
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
                self._loop.hand(lambda: self._begin(call, inside, take))

        self._loop.work(work)

    def call_pipe(self, call: Call, take: Callable[[], tuple[socket.socket, bytes]]) -> None:
        """Starts a program; after the answer the connection is its stdin and stdout."""
        call.check_read("argv", "env", "cwd")
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
        self._begin(call, inside, take, pid)

    def _begin(
        self, call: Call, inside: socket.socket, take: Callable[[], tuple[socket.socket, bytes]], pid: int | None = None
    ) -> None:
        call.answer({"process": pid} if pid else {})
        try:
            host, first = take()
        except ConnectionError:  # it has gone meanwhile
            inside.close()
            return
        self.open += 1
        Stream(self._loop, host, inside, first, self._ended)

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
