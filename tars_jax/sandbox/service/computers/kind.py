"""Computers as a kind of session of the service."""

from __future__ import annotations

import asyncio
import functools
import io
import textwrap
from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from starlette.routing import BaseRoute, Route

from tars_jax.sandbox.failures import Broken, SandboxFailure
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.computers.recording import SessionRecording
from tars_jax.sandbox.service.computers.routes import ComputerRoutes
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.computers.spec import read_spec
from tars_jax.sandbox.service.config import Owner
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.sandbox.service.kinds import Opening
from tars_jax.sandbox.sessions.leased_session import KeyedRequest
from tars_jax.web.protocol import RequestFields

WIDTH, HEIGHT, COLUMNS, ROWS = 640, 400, 76, 22
PAPER, INK, FAINT = (16, 20, 27), (214, 222, 233), (110, 122, 140)


class ComputersKind:
    """Computers as a `Kind` of session."""

    name = ComputerSession.kind

    def __init__(self, sessions: ComputerSessions) -> None:
        self.sessions = sessions
        self.default_lease_s, self.most_lease_s = sessions.config.lease_seconds, sessions.config.max_lease_seconds

    def running(self) -> ComputerSessions:
        return self.sessions

    def opening(self, fields: RequestFields, owner: Owner, seconds: float) -> Opening:
        """{parts?, memory_mib?, disk_mib?, ..., grace_seconds?, job_seconds?} or {snapshot, ...}"""
        snapshot = fields.optional_text("snapshot")
        with typed_errors():
            named = None if snapshot is None else self.sessions.snapshots.get(owner.name, snapshot)
            if named is not None:  # what it does not say is as it was
                usual = {**named.spec.to_json(), **{k: v for k, v in fields.values.items() if v is not None}}
                fields.ignore(list(named.spec.to_json()))
                spec = read_spec(RequestFields(usual))
            else:
                spec = read_spec(fields)

        async def open(request: KeyedRequest | None) -> tuple[ComputerSession, str]:
            return await self.sessions.lease(
                spec, owner.name, seconds=seconds, quota=owner.sessions,
                snapshot=None if named is None else named.snapshot, quotas=owner.quotas,
                request=request,
            )  # fmt: skip

        return open

    async def call(
        self, session: ComputerSession, value: Any, *, idempotency_key: str | None, person: bool
    ) -> dict[str, Any]:
        """{call: NAME, ...}: see README.md for the names -> an object"""
        return await session.call(value, idempotency_key=idempotency_key, person=person)

    async def picture(self, session: ComputerSession) -> bytes | None:
        if session.failure is None and not session.suspended and (screen := session.screen) is not None:
            try:
                return await screen.picture()
            except (Broken, SandboxFailure) as failure:
                return terminal_picture(str(failure))
        words = str(session.failure) if session.failure is not None else session.words()
        return await asyncio.to_thread(terminal_picture, words) if words else None

    def record(self, session: ComputerSession) -> None:
        session.record()

    def recording(self, session: ComputerSession) -> SessionRecording | None:
        return session.recording

    def routes(self, access: Access) -> Sequence[BaseRoute]:
        computers, one = ComputerRoutes(self.sessions, access), "/v1/sessions/{id}"
        return [
            Route(f"{one}/files", computers.read_file, methods=["GET"]),
            Route(f"{one}/files", computers.write_file, methods=["PUT"]),
            Route(f"{one}/snapshots", computers.take_snapshot, methods=["POST"]),
            Route(f"{one}/fork", computers.fork, methods=["POST"]),
            Route(f"{one}/suspend", computers.suspend, methods=["POST"]),
            Route(f"{one}/resume", computers.resume, methods=["POST"]),
            Route("/v1/snapshots", computers.snapshots, methods=["GET"]),
            Route("/v1/snapshots/{name:path}", computers.remove_snapshot, methods=["DELETE"]),
        ]

    def stats(self) -> dict[str, Any]:
        sessions = self.sessions
        counts = {
            "open": len(sessions), "lost": sessions.lost, "adopted": sessions.adopted, "collected": sessions.collected,
        }  # fmt: skip
        return {"computers": {**counts, "unavailable": sessions.unavailable or None}}


@functools.lru_cache(maxsize=64)
def terminal_picture(words: str) -> bytes:
    """PNG of the last lines."""
    lines = [
        part for line in words.splitlines() for part in textwrap.wrap(line, COLUMNS, drop_whitespace=False) or [""]
    ]
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(14)
    for row, line in enumerate(lines[-ROWS:]):
        printable = "".join(letter if letter.isprintable() else " " for letter in line)
        draw.text((14, 12 + 17 * row), printable, fill=FAINT if line.startswith("$ ") else INK, font=font)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
