"""The ways to a server inside of a computer, as the library's transports: a program's stdin and stdout, or a port."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any

import anyio
import httpcore2
import httpx2
import mcp_types as types
import pydantic
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import methods

from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.mcp.spec import ServerSpec

LONGEST_MESSAGE = 8 << 20  # bytes
ROUND = 1 << 32  # ids of requests of one owner of a connection; the next one has others
LEAVES_IN_S = 10.0  # until a server's stream has ended that was let go
MOST_NONSENSE = 100  # lines that are no messages, as of programs that print what they do
STRICT = "2025-11-25"  # the revision that asks most of a tool
POLL_S = 0.2
ENDING_S = 10.0  # for a killed program, at most


@dataclasses.dataclass
class ConnectionState:
    """What became of the connection of a server."""

    process: int | None = None  # that serves; given at the beginning: one that runs is gone on with
    why: str = ""  # why it is over; empty: it goes on
    leaving: bool = False  # whether the process is to stay at the end
    rest: bytes = b""  # of a message, that came before
    round: int = 0  # how often the process was taken up: late answers to those before are nobody's
    greeting: types.InitializeResult | None = None  # of a server that need not be greeted again
    left_out: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # tools that are none, and why


@contextlib.asynccontextmanager
async def by_program(
    machine: GuestMachine, spec: ServerSpec, way: ConnectionState
) -> AsyncGenerator[TransportStreams, None]:
    """Starts the program, or goes on with the one of `way`; it is killed at the end, unless that is only left.

    Raises GuestError where there is none.
    """
    if way.process is not None:
        reader, writer = await machine.attach(way.process, longest_line=LONGEST_MESSAGE)
    else:
        way.process, (reader, writer) = await machine.pipe(
            [spec.command, *spec.args], env=spec.env, cwd=spec.cwd or None, longest_line=LONGEST_MESSAGE, kept=True
        )
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        nonsense = 0
        async with received:
            while not way.why:
                try:
                    line = await reader.readline()
                except ValueError:
                    way.why = f"a message of more than {LONGEST_MESSAGE >> 20} MiB came"
                    return
                except OSError:
                    line = b""
                if way.leaving and not line.endswith(b"\n"):
                    way.rest += line
                    return
                if not line:
                    way.why = way.why or "it has ended"
                    return
                line, way.rest = way.rest + line, b""
                if not line.strip():
                    continue
                message = _parsed(line)
                if isinstance(message, Exception):
                    if (nonsense := nonsense + 1) >= MOST_NONSENSE:
                        way.why = f"it wrote {MOST_NONSENSE} lines that are no messages"
                        return
                    continue
                if (own := _renumbered(message.message, -way.round * ROUND)) is None:
                    continue
                try:
                    await received.send(SessionMessage(_with_tools(own, way)))
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    if not way.leaving:
                        return

    async def write() -> None:
        async with sent:
            async for message in sent:
                if (answer := _greeted(message.message, way.greeting)) is not None:
                    for each in answer:
                        await received.send(each)
                    continue
                told = _renumbered(message.message, way.round * ROUND) or message.message
                text = told.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    writer.write(text.encode() + b"\n")
                    await writer.drain()
                except OSError:
                    return

    try:
        async with anyio.create_task_group() as group:
            heard = anyio.Event()
            group.start_soon(_then, read, heard)
            group.start_soon(write)
            try:
                yield incoming, outgoing
            finally:
                if way.leaving and not way.why:
                    incoming.close()  # nobody hears what still comes, up to half a message
                    with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVES_IN_S), contextlib.suppress(OSError):
                        writer.write_eof()
                        await heard.wait()
                way.why = way.why or "it was closed"
                group.cancel_scope.cancel()
    finally:
        incoming.close()
        outgoing.close()
        writer.close()
        if not way.leaving:
            await _kill(machine, way.process)


@contextlib.asynccontextmanager
async def by_port(
    machine: GuestMachine, spec: ServerSpec, way: ConnectionState
) -> AsyncGenerator[TransportStreams, None]:
    """To a port inside, once something answers there; a command is started for it, unless `way` has its process.

    That is killed at the end, unless it is only left.
    """
    if spec.command and way.process is None:
        way.process = await machine.start([spec.command, *spec.args], env=spec.env, cwd=spec.cwd or None)
    try:
        await _until_it_answers(machine, spec, way)
        async with (
            httpx2.AsyncClient(transport=_GuestTransport(machine, spec.port), timeout=spec.call_s) as client,
            streamable_http_client(
                f"http://127.0.0.1:{spec.port}{spec.path}", http_client=client, max_sse_event_size=LONGEST_MESSAGE
            ) as (incoming, outgoing),
            anyio.create_task_group() as group,
        ):
            received, checked = anyio.create_memory_object_stream[SessionMessage | Exception](0)

            async def read() -> None:
                async with received:
                    async for message in incoming:
                        if isinstance(message, SessionMessage):
                            message.message = _with_tools(message.message, way)
                        await received.send(message)

            group.start_soon(read)
            try:
                yield checked, outgoing
            finally:
                checked.close()
                group.cancel_scope.cancel()
    finally:
        way.why = way.why or "it was closed"
        if way.process is not None and not way.leaving:
            await _kill(machine, way.process)


async def _then(work: Callable[[], Awaitable[None]], done: anyio.Event) -> None:
    try:
        await work()
    finally:
        done.set()


def _with_tools(message: types.JSONRPCMessage, way: ConnectionState) -> types.JSONRPCMessage:
    """A list of tools without those that are none, for which the library refuses the whole list."""
    tools = message.result.get("tools") if isinstance(message, types.JSONRPCResponse) else None
    if not isinstance(message, types.JSONRPCResponse) or not isinstance(tools, list):
        return message
    good = []
    for tool in tools:
        try:
            methods.validate_server_result("tools/list", STRICT, {"tools": [tool]})
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"][2:])) or "it"
            name = str(tool.get("name") if isinstance(tool, dict) else tool)
            way.left_out.append((name, f"{place}: {first['msg']}; got {first['input']!r:.80}"))
        else:
            good.append(tool)
    return message.model_copy(update={"result": {**message.result, "tools": good}})


def _greeted(message: types.JSONRPCMessage, greeting: types.InitializeResult | None) -> Sequence[SessionMessage] | None:
    """What a server that was greeted before would answer to a greeting; None: the message is for the server."""
    if greeting is None:
        return None
    if isinstance(message, types.JSONRPCRequest) and message.method == "initialize":
        result = greeting.model_dump(by_alias=True, mode="json", exclude_none=True)
        return [SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result))]
    if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/initialized":
        return []
    return None


def _renumbered(message: types.JSONRPCMessage, by: int) -> types.JSONRPCMessage | None:
    """Requests of ours, what takes them back, and answers to them with other ids; None: an answer to another's."""
    if isinstance(message, types.JSONRPCRequest) and by >= 0 and isinstance(message.id, int):
        return message.model_copy(update={"id": message.id + by})
    if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and by <= 0 and isinstance(message.id, int):
        own = message.id + by
        return message.model_copy(update={"id": own}) if 0 <= own < ROUND else None
    if isinstance(message, types.JSONRPCNotification) and by > 0 and message.method == "notifications/cancelled":
        params = dict(message.params or {})
        if isinstance(params.get("requestId"), int):
            return message.model_copy(update={"params": {**params, "requestId": params["requestId"] + by}})
    return message


async def _until_it_answers(machine: GuestMachine, spec: ServerSpec, way: ConnectionState) -> None:
    while True:
        try:
            _, writer = await machine.connect(spec.port)
        except GuestError:
            if way.process is not None and (status := await machine.wait(way.process, 0)) is not None:
                way.why = f"its program has ended with {status}"
                raise ConnectionError(way.why) from None
            await asyncio.sleep(POLL_S)
        else:
            writer.close()
            return


async def _kill(machine: GuestMachine, process: int) -> None:
    with contextlib.suppress(GuestError, SandboxFailure):
        await asyncio.shield(_ended(machine, process))


async def _ended(machine: GuestMachine, process: int) -> None:
    await machine.kill(process)
    await machine.wait(process, ENDING_S)  # whoever goes on with the server next finds it gone


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValueError, RecursionError) as error:
        return error


class _GuestTransport(httpx2.AsyncBaseTransport):
    """HTTP over streams to one port of the inside, whatever host an address names."""

    def __init__(self, machine: GuestMachine, port: int) -> None:
        self._pool = httpcore2.AsyncConnectionPool(network_backend=_Backend(machine, port), max_connections=16)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        url = httpcore2.URL(
            scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
        )
        inner = httpcore2.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        try:
            response = await self._pool.handle_async_request(inner)
        except httpcore2.TimeoutException as error:
            raise httpx2.ReadTimeout(str(error)) from error
        except httpcore2.NetworkError as error:
            raise httpx2.NetworkError(str(error)) from error
        except httpcore2.ProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        return httpx2.Response(
            response.status, headers=response.headers, stream=_Body(response), extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._response.aiter_stream():
                yield part
        except httpcore2.TimeoutException as error:
            raise httpx2.ReadTimeout(str(error)) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise httpx2.ReadError(str(error)) from error

    async def aclose(self) -> None:
        await self._response.aclose()


class _Backend(httpcore2.AsyncNetworkBackend):
    def __init__(self, machine: GuestMachine, port: int) -> None:
        self._machine, self._port = machine, port

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:  # fmt: skip
        try:
            return _Stream(*await self._machine.connect(self._port))
        except (GuestError, SandboxFailure) as error:
            raise httpcore2.ConnectError(str(error)) from error

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("there are only ports")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout("nothing came in time") from error
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            self._writer.write(buffer)
            async with asyncio.timeout(timeout):
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore2.WriteTimeout("nothing was taken in time") from error
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("there is no TLS inside of a computer")

    def get_extra_info(self, info: str) -> Any:
        return None
