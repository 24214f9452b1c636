"""The guest's socket: several connections, several calls at once on each."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from tars_jax.sandbox.computer.guest import frames
from tars_jax.sandbox.computer.guest.calls import Call, CallError
from tars_jax.sandbox.computer.guest.dialing import dial_out
from tars_jax.sandbox.computer.guest.files import GuestFiles
from tars_jax.sandbox.computer.guest.identity import TOKEN, Identity, OomScoreAdj, end_with, guard, identity
from tars_jax.sandbox.computer.guest.loop import READ, WRITE, Loop
from tars_jax.sandbox.computer.guest.processes import Processes
from tars_jax.sandbox.computer.guest.program_runs import ProgramRuns
from tars_jax.sandbox.computer.guest.streams import Streams
from tars_jax.sandbox.computer.guest.terminals import Terminals
from tars_jax.sandbox.computer.guest.watches import Watches

VERSION = 1
MOST_CALLS = 256  # of one connection that are not answered
MOST_STRANGERS = 32  # connections that have not said the token
MOST_UNSENT = 16 << 20  # bytes of answers that a connection does not take
CHUNK = 1 << 18


class GuestConnection:
    def __init__(self, server: GuestServer, peer: socket.socket, *, is_known: bool) -> None:
        self._server, self._peer, self._is_known = server, peer, is_known
        self._leaving = False  # closed as soon as all is sent
        self._frames = frames.FrameReader()
        self._unsent = bytearray()
        self._pending: list[tuple[bytes, bytes]] = []  # frames whose turn has not come
        self._calls = 0  # that are not answered
        self._closed = self._is_stream = self._taking = False
        peer.setblocking(False)
        self._watch()

    def _watch(self) -> None:
        if self._closed or self._is_stream:
            return
        busy = self._leaving or self._calls >= MOST_CALLS or len(self._unsent) >= MOST_UNSENT
        events = (0 if busy else READ) | (WRITE if self._unsent else 0)
        self._server.loop.watch(self._peer.fileno(), events, self._ready)

    def _ready(self, events: int) -> None:
        if events & WRITE:
            self._flush()
        if events & READ and not self._closed:
            self._read()
        self._watch()

    def _read(self) -> None:
        try:
            chunk = self._peer.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            return self._end()
        try:
            self._pending += self._frames.feed(chunk)
        except frames.FrameError as error:
            self._refuse(str(error))
            return
        self._take_turns()

    def _end(self) -> None:
        """The peer says no more: it has what it was answered, unless it went away while a call was going on."""
        self._leaving = bool(self._unsent) and not self._calls
        if not self._leaving:
            self.close()

    def _take_turns(self) -> None:
        if self._taking:  # a call that is answered at once is part of the turn
            return
        self._taking = True
        try:
            self._serve_pending()
        finally:
            self._taking = False

    def _serve_pending(self) -> None:
        while self._pending and self._calls < MOST_CALLS and not self._closed and not self._is_stream:
            text, data = self._pending.pop(0)
            try:
                message = frames.parse(text)
            except ValueError as error:  # also bytes that are no text
                self._send({"id": None, "error": {"code": "input", "message": f"a call must be JSON: {error}"}}, b"")
                continue
            self._calls += 1
            self._server.serve(self, Call(message, data, self._answer))

    def _refuse(self, why: str) -> None:
        self._send({"id": None, "error": {"code": "input", "message": why}}, b"")
        self.close()

    def may(self, call: Call) -> bool:
        """Whether the connection has said the token; a call that says it is no other."""
        if self._is_known:
            return True
        token = call.text("token", "") if call.name == "hello" else ""
        self._is_known = _same(token, self._server.token)
        if not self._is_known:
            self._refuse("the first call must be hello, with the token")
        return self._is_known

    def _answer(self, message: dict[str, Any], data: bytes | bytearray) -> None:
        self._calls -= 1
        self._send(message, data)
        self._take_turns()
        self._watch()

    def _send(self, message: dict[str, Any], data: bytes | bytearray) -> None:
        if self._closed:
            return
        try:
            self._unsent += frames.pack(message, data)
        except frames.FrameError as error:
            self._unsent += frames.pack({"id": message["id"], "error": {"code": "EMSGSIZE", "message": str(error)}})
        self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._peer.send(memoryview(self._unsent)[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
        if self._leaving and not self._unsent:
            self.close()

    def leave(self, call: Call) -> None:
        """Answers how many other connections there are, and is closed."""
        call.check_read()
        self._leaving = True
        call.answer({"connections": len(self._server.open) - 1 + self._server.streams})

    def take(self) -> tuple[socket.socket, bytes]:
        """The connection becomes a stream: its socket, and what it said behind its last call."""
        if self._closed:
            raise ConnectionError
        self._is_stream = True
        self._server.open.discard(self)
        self._server.loop.watch(self._peer.fileno(), 0, self._ready)
        self._peer.setblocking(True)  # the answer goes out first; it is short
        with contextlib.suppress(OSError):
            self._peer.sendall(self._unsent)
        self._unsent.clear()
        return self._peer, self._frames.rest()

    def close_stranger(self) -> None:
        """Programs inside that find the socket must not hold all descriptors."""
        if not self._is_known:
            self.close()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._server.open.discard(self)
            self._server.loop.watch(self._peer.fileno(), 0, self._ready)
            self._peer.close()
            self._pending.clear()
            self._unsent.clear()


class GuestServer:
    def __init__(self, who: Identity, token: str, sacrifice: OomScoreAdj) -> None:
        self.token = token
        self._who = who
        self.loop = Loop(who.drop)
        self._processes = Processes(who, self.loop, sacrifice)
        self._terminals = Terminals(self._processes, who, self.loop)
        self._files = GuestFiles(self.loop)
        self._streams = Streams(self._processes, self.loop)
        runs, watches = ProgramRuns(self._processes, self.loop), Watches(who, self.loop)
        parts = (self, self._processes, runs, self._terminals, self._files, self._streams, watches)
        self._calls: dict[str, Callable[[Call], None]] = {
            name.removeprefix("call_"): getattr(part, name)
            for part in parts for name in dir(part) if name.startswith("call_")
        }  # fmt: skip
        self._stream_calls = {
            "connect": self._streams.call_connect, "pipe": self._streams.call_pipe, "attach": self._streams.call_attach,
        }  # fmt: skip
        self._strangers: list[GuestConnection] = []  # the last connections, with and without a token
        self.open: set[GuestConnection] = set()  # but those that have become streams

    def serve_at(self, where: str) -> None:
        """A path, fd:N for a socket that listens already, or dial:PATH where the host listens."""
        if where.startswith("dial:"):
            dial_out(where.removeprefix("dial:"), lambda peer: self.loop.hand(lambda: self._welcome(peer)))
            return
        listener = listen(where)
        os.set_inheritable(listener.fileno(), False)
        listener.setblocking(False)
        self.loop.watch(listener.fileno(), READ, lambda _: self._accept(listener))

    def _accept(self, listener: socket.socket) -> None:
        try:
            peer, _address = listener.accept()
        except OSError:  # it has gone again, or there are too many
            return
        self._welcome(peer)

    def _welcome(self, peer: socket.socket) -> None:
        connection = GuestConnection(self, peer, is_known=not self.token)
        self.open.add(connection)
        if self.token:
            self._strangers.append(connection)
            if len(self._strangers) > MOST_STRANGERS:
                self._strangers.pop(0).close_stranger()

    @property
    def streams(self) -> int:
        return self._streams.open

    def serve(self, connection: GuestConnection, call: Call) -> None:
        try:
            if not isinstance(call.name, str):
                raise CallError("input", f"call must be text; got {call.name!r:.80}")
            if not connection.may(call):
                return
            if call.name == "leave":
                connection.leave(call)
            elif call.name in self._stream_calls:
                self._stream_calls[call.name](call, connection.take)
            elif call.name in self._calls:
                self._calls[call.name](call)
            else:
                raise CallError("input", f"call must be one of {', '.join(sorted(self._calls))}; got {call.name!r:.80}")
        except CallError as error:
            call.fail(error)
        except OSError as error:  # no descriptor or no memory is left, for instance
            call.fail(CallError.of(error, str(call.name)))
        except Exception as error:
            call.fail(CallError("input", f"{call.name}: {type(error).__name__}: {error}"))
            raise

    def call_hello(self, call: Call) -> None:
        call.answer({
            "version": VERSION, "home": self._who.home, "pid": os.getpid(), "python": sys.executable,
            "folder": os.path.dirname(os.path.abspath(__file__)), "environment": dict(self._who.environment),
        })  # fmt: skip

    def call_end(self, call: Call) -> None:
        """The guest and all that it started end."""
        call.answer()
        self.end()

    def end(self) -> None:
        self.loop.stopped = True

    def run(self) -> None:
        try:
            self.loop.run(self._processes.reap)
        finally:
            self._processes.end_all()


def _same(one: str, other: str) -> bool:
    """In a time that does not tell where they differ."""
    first, second = one.encode(errors="replace"), other.encode()
    return len(first) == len(second) and not sum(a ^ b for a, b in zip(first, second, strict=True))


def listen(where: str) -> socket.socket:
    if where.startswith("fd:"):
        return socket.socket(fileno=int(where.removeprefix("fd:")))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(where)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)  # for the guest's own user alone
    listener.bind(where)
    os.umask(before)
    listener.listen(64)
    return listener


def main(arguments: list[str]) -> int:
    if not arguments:
        print("guest: SOCKET must be given: a path, fd:N or dial:PATH", file=sys.stderr)
        return 2
    settings = dict(argument.split("=", 1) for argument in arguments[1:])
    if "owner" in settings:
        end_with(int(settings["owner"]))
    sacrifice = OomScoreAdj()  # before `guard`, which closes /proc to us as to others
    guard(subreaper="subreaper" in settings)
    os.umask(0o022)
    token = os.environ.pop(TOKEN, "")
    server = GuestServer(identity(settings.get("user", ""), settings.get("home", "")), token, sacrifice)
    server.serve_at(arguments[0])
    signal.set_wakeup_fd(server.loop.wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # The kernel keeps from a container's first process what it does not handle, so nobody inside can end it.
        signal.signal(number, signal.SIG_DFL if os.getpid() == 1 else lambda *_: server.end())
    server.run()
    return 0
