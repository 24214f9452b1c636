"""Server-sent events of a session: its state whenever that changes, and the versions of its screen."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.service import AnnotationService
from tars_jax.annotation.interactive.view import state_of
from tars_jax.web.protocol import to_json

HEARTBEAT_SECONDS = 10.0
LOOK_SECONDS = 0.4  # between pictures of a session that a person has
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def states(service: AnnotationService, id: str, live: LiveEpisode, *, counted: bool) -> Response:
    """`counted`: the tab of who has the session; a second one is told. While a person has it, what changes on its
    screen by itself is shown, too."""

    async def items() -> AsyncIterator[bytes]:
        with service.watched(id) if counted else contextlib.nullcontext():
            seen = -1
            while True:
                version = live.version
                if version != seen:
                    seen = version
                    yield event("state", state_of(id, live, service.notes.get(id)))
                else:
                    yield b": alive\n\n"
                if service.live.get(id) is not live or not live.is_open:
                    return
                if counted and live.state.phase == "person":
                    await live.changed(seen, LOOK_SECONDS)
                    await live.look()
                else:
                    await live.changed(seen, HEARTBEAT_SECONDS)

    return StreamingResponse(items(), media_type="text/event-stream", headers=_HEADERS)


def frames(service: AnnotationService, id: str, live: LiveEpisode) -> Response:
    """Streams versions of the screen; nothing comes while a secret is typed."""

    async def items() -> AsyncIterator[bytes]:
        seen, shown = -1, -1
        while service.live.get(id) is live:
            if not live.state.secret and live.screen_version != shown:
                shown = live.screen_version
                yield event("frame", {"version": shown})
            else:
                yield b": alive\n\n"
            if not live.is_open:
                return
            seen = await live.changed(live.version if seen < 0 else seen, HEARTBEAT_SECONDS)

    return StreamingResponse(items(), media_type="text/event-stream", headers=_HEADERS)


def event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: ".encode() + to_json(data) + b"\n\n"
