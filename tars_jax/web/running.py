"""Serving the application: by uvicorn in this thread until a signal comes, or in a thread beside."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from types import FrameType
from typing import Any, Literal

import uvicorn
from starlette.types import ASGIApp

from tars_jax import InputError
from tars_jax.web.credentials import Certificate
from tars_jax.web.http1 import Http1
from tars_jax.web.listening import ListenAddress, address, listen


def serve(
    app: ASGIApp,
    config: ListenAddress,
    on_start: Callable[[str], None],
    say: Callable[[str], None],
    *,
    plain: bool = False,
    sockets: bool = False,
    certificate: Certificate | None = None,
) -> None:
    """Serves until SIGTERM or Ctrl-C, then lets the requests under way finish; a second Ctrl-C does not wait for them.

    Args:
        on_start: hears the address, http://HOST:PORT or https://, when the application has started.
        say: hears what a signal leads to.
        plain: for an application that starts processes: asyncio's own event loop. It takes WebSockets, too.
        sockets: it takes WebSockets.
        certificate: for TLS; None: none.

    Raises InputError when the address cannot be had, or the application says at its start that it cannot be.
    """
    listening = listen(config)
    with listening:
        _run(_Server(app, config, say, plain, on_start, certificate, sockets=plain or sockets), listening)


@contextlib.contextmanager
def serving(
    app: ASGIApp, config: ListenAddress, *, plain: bool = False, certificate: Certificate | None = None
) -> Iterator[str]:
    """Serves in a thread of its own while the block runs; yields the address, as `serve` tells it."""
    listening = listen(config)
    server = _Server(app, config, lambda words: None, plain, lambda address: None, certificate, sockets=plain)
    thread = threading.Thread(target=_run, args=(server, listening), name="server", daemon=True)
    with listening:
        thread.start()
        while thread.is_alive() and not server.started:
            time.sleep(0.01)
        try:
            yield address(listening, certificate)
        finally:
            server.should_exit = True
            thread.join()


@contextlib.asynccontextmanager
async def serving_here(
    app: ASGIApp, config: ListenAddress, listening: socket.socket, *, sockets: bool = False, lifespan: bool = True
) -> AsyncIterator[None]:
    """Serves at a socket of `listen` on the running event loop while the block runs; signals are the program's own.

    `sockets`: the application takes WebSockets. `lifespan`: it hears of start and end.
    """
    server = _Beside(app, config, lambda words: None, True, lambda address: None, sockets=sockets)
    server.config.lifespan = "auto" if lifespan else "off"
    task = asyncio.create_task(server.serve([listening]))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        yield
    finally:
        server.should_exit = True
        await task


def _run(server: _Server, listening: socket.socket) -> None:
    try:
        server.run([listening])
    except SystemExit as error:  # uvicorn's word for an application that did not start; its log has said why
        raise InputError("server: it could not start; the line above says why") from error


class _Dropped(logging.Filter):
    """Without what uvicorn says of requests that take longer than the time to stop, however late: they are cancelled,
    as was said, which is no error of theirs."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, asyncio.CancelledError) and "graceful shutdown exceeded" not in record.getMessage()


_dropped = _Dropped()


class _Server(uvicorn.Server):
    """uvicorn that says what its signals do and ends as a program that has done what it was told."""

    def __init__(
        self,
        app: ASGIApp,
        config: ListenAddress,
        say: Callable[[str], None],
        plain: bool,
        on_start: Callable[[str], None],
        certificate: Certificate | None = None,
        *,
        sockets: bool,
    ) -> None:
        protocol: Literal["websockets-sansio", "none"] = "websockets-sansio" if sockets else "none"
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,  # uvicorn's own would close the handlers that the program has
                log_level=logging.ERROR,  # its warnings say what clients send that is no request: anybody's to repeat
                access_log=False,
                http=Http1,
                ws=protocol,
                loop="asyncio" if plain else "auto",
                server_header=False,
                ssl_certfile=certificate.chain if certificate else None,
                ssl_keyfile=certificate.key if certificate else None,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=max(1, round(config.stop_seconds)),
            )
        )
        self._say, self._seconds, self._on_start = say, config.stop_seconds, on_start
        self._certificate = certificate
        logging.getLogger("uvicorn.error").addFilter(_dropped)  # twice is once

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if sockets and self.started:
            self._on_start(address(sockets[0], self._certificate))

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()

        def in_loop(*told: Any) -> None:  # by the loop, or a signal could come in the midst of what another says
            loop.call_soon_threadsafe(self.handle_exit, *told)

        before = {number: signal.signal(number, in_loop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            self.should_exit = True  # before a word that may not come out: whoever read them may be gone
            under_way = len(self.server_state.tasks)
            self._say(
                f"stopping: no new requests; the {under_way} under way have {self._seconds:g} seconds to finish "
                "(Ctrl-C again: they are dropped now)"
            )
        elif sig == signal.SIGINT:
            self.force_exit = True
            self._say("stopping now: requests under way are dropped")


class _Beside(_Server):
    """One whose program hears its signals itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
