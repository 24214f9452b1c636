"""/v1/sessions: leases, lists, renewal, release, checkpoints, recordings."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import tempfile
from collections.abc import AsyncIterator, Coroutine
from typing import IO, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tars_jax.json_fields import shown
from tars_jax.sandbox.browser.service.access import Access
from tars_jax.sandbox.browser.service.config import ServiceConfig
from tars_jax.sandbox.browser.service.errors import LONGEST_WORD, typed_errors
from tars_jax.sandbox.browser.sessions import Sessions
from tars_jax.sandbox.browser.sessions.journal import Journal, journal_from_json
from tars_jax.sandbox.browser.sessions.recording import Recording
from tars_jax.sandbox.browser.sessions.session import Session
from tars_jax.sandbox.browser.site import MAX_SIDE, PageSpec, Site
from tars_jax.web.protocol import Fields, RequestError, busy
from tars_jax.web.responses import JsonResponse, read_json

PIECE = 1 << 20  # bytes of a recording that are in memory
COMES_BACK_S = 5.0  # a client that was told to come again does so at once


@dataclasses.dataclass
class _Leasing:
    """A lease that several requests may wait for, one after another; without any for a while it is given up."""

    task: asyncio.Task[tuple[Session, str]]
    asked: Any  # the request's body
    waiting: int = 0

    async def wait(self) -> tuple[Session, str]:
        self.waiting += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self.waiting -= 1
            asyncio.get_running_loop().call_later(COMES_BACK_S, self._give_up)

    def _give_up(self) -> None:
        if not self.waiting:
            self.task.cancel()  # nothing happens to one that is done

    def is_over(self, sessions: Sessions) -> bool:
        """Whether it failed, or its session has ended."""
        if not self.task.done():
            return False
        return self.task.cancelled() or bool(self.task.exception()) or self.task.result()[0].id not in sessions


class SessionRoutes:
    def __init__(self, sessions: Sessions, config: ServiceConfig, access: Access) -> None:
        self._sessions, self._config, self._access = sessions, config, access
        self._leasing: dict[tuple[str, str], _Leasing] = {}  # by owner and word

    async def lease(self, request: Request) -> Response:
        """{site, width?, height?, single_canvas?, network?, record?} or {checkpoint} -> 201 {id, token, ...}

        A request that comes again with the same word `once`, as its answer did not arrive, gets the same session.
        """
        owner = self._access.owner(request)
        asked = await read_json(request)
        fields = Fields(asked)
        begin = self._begin(fields)
        seconds = fields.number("lease_seconds", self._sessions.config.lease_s, 0.1, self._sessions.config.max_lease_s)
        record, once = fields.flag("record"), fields.optional_text("once", LONGEST_WORD)
        fields.done()
        leasing = self._sessions.lease(begin, owner.name, seconds=seconds, quota=owner.sessions)
        with typed_errors():
            try:
                async with asyncio.timeout(self._config.open_seconds):
                    session, token = await (leasing if once is None else self._once((owner.name, once), asked, leasing))
            except TimeoutError as error:
                raise busy(f"no page within {self._config.open_seconds:g} seconds; come again") from error
            if record:
                try:
                    self._sessions.record(session)
                except BaseException:  # nobody has heard of it
                    await self._sessions.release(session.id)
                    raise
        return JsonResponse({**session.to_json(), "token": token}, status_code=201)

    async def _once(
        self, word: tuple[str, str], asked: Any, leasing: Coroutine[Any, Any, tuple[Session, str]]
    ) -> tuple[Session, str]:
        """The lease under this word: one that has begun, as long as its session lives, otherwise `leasing`.

        Raises RequestError where the word was that of another request.
        """
        for key in [key for key, each in self._leasing.items() if each.is_over(self._sessions)]:
            del self._leasing[key]
        if word in self._leasing:
            leasing.close()
            if self._leasing[word].asked != asked:
                raise RequestError("once must be an idempotency key of this request alone; got that of another", "once")
        else:
            self._leasing[word] = _Leasing(asyncio.create_task(leasing), asked)
        return await self._leasing[word].wait()

    async def list(self, request: Request) -> Response:
        return JsonResponse({"sessions": [session.to_json() for session in self._access.visible(request)]})

    async def inspect(self, request: Request) -> Response:
        return JsonResponse(self._access.session(request).to_json())

    async def renew(self, request: Request) -> Response:
        """{lease_seconds?} -> the session"""
        session = self._access.session(request)
        fields = Fields(await read_json(request))
        given = fields.value("lease_seconds")
        seconds = fields.number("lease_seconds", 0.0, 0.1, self._sessions.config.max_lease_s)
        fields.done()
        with typed_errors():
            return JsonResponse(self._sessions.renew(session.id, None if given is None else seconds).to_json())

    async def release(self, request: Request) -> Response:
        session = self._access.session(request)
        with typed_errors():
            await self._sessions.release(session.id)
        return Response(status_code=204)

    async def checkpoint(self, request: Request) -> Response:
        """Where the page is; its field `journal` opens another session at the same place."""
        session = self._access.session(request)
        with typed_errors():
            place = await session.checkpoint()
        return JsonResponse({**place, "journal": place["journal"].to_json()})

    async def record(self, request: Request) -> Response:
        session = self._access.session(request)
        with typed_errors():
            self._sessions.record(session)
        return Response(status_code=204)

    async def recording(self, request: Request) -> Response:
        """The recording up to here, one .zip file (sessions/recording.py plays it)."""
        session = self._access.session(request)
        if session.recording is None:
            raise RequestError("the session is not recorded: POST here begins it", status=404, code="not_recorded")
        with typed_errors():
            packed = await _packed(session.recording)  # before the response begins, so that a failure has its status
        name = f'attachment; filename="session-{session.id}.zip"'
        headers = {"Content-Disposition": name, "Content-Length": str(packed.tell())}
        return StreamingResponse(_pieces(packed), media_type="application/zip", headers=headers)

    def _begin(self, fields: Fields) -> PageSpec | Journal:
        if (checkpoint := fields.value("checkpoint")) is not None:
            with typed_errors("checkpoint"):
                journal = journal_from_json(Fields(checkpoint, "checkpoint").array("journal", required=True), "journal")
            site = journal.spec.site
            folders = [str(site.root), *(str(folder) for _, folder in site.mounts)]
            if any(self._config.folder(folder) is None for folder in folders):
                raise RequestError(
                    f"checkpoint.journal must be of a site that this service shows; got {shown(folders)}", "checkpoint"
                )
            return journal
        manager = self._sessions.manager.config
        return PageSpec(
            self._site(Fields(fields.value("site"), "site")),
            fields.integer("width", manager.width, 1, MAX_SIDE) or manager.width,
            fields.integer("height", manager.height, 1, MAX_SIDE) or manager.height,
            fields.flag("single_canvas"),
            tuple(_hosts(fields)),
        )

    def _site(self, fields: Fields) -> Site:
        mounts = fields.value("mounts") or {}
        if not isinstance(mounts, dict):
            raise fields.error("mounts", "an object, name -> folder")
        site = Site(
            self._folder(fields, "root", fields.text("root")),
            fields.text("index", "index.html"),
            tuple((name, self._folder(fields, "mounts", folder)) for name, folder in mounts.items()),
        )
        fields.done()
        return site

    def _folder(self, fields: Fields, name: str, given: Any) -> Any:
        folder = self._config.folder(given) if isinstance(given, str) and "\0" not in given else None
        if folder is None:
            raise fields.error(name, "a folder of tars_jax/ or below the service's roots")
        return folder


def _hosts(fields: Fields) -> list[str]:
    hosts = fields.array("network")
    if not all(isinstance(host, str) for host in hosts):
        raise fields.error("network", "an array of hosts")
    return hosts


async def _packed(recording: Recording) -> IO[bytes]:
    """On the disk, open at its end: a long recording is larger than what a service may hold in memory."""
    with contextlib.ExitStack() as unless_packed:
        file = unless_packed.enter_context(tempfile.TemporaryFile())
        await asyncio.to_thread(recording.pack, file)
        unless_packed.pop_all()
    return file


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        file.seek(0)
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
