"""/v1/rl/sessions: live contexts of the policy, tokens in and tokens out.

A session has a lease of its own: when nobody has asked it for anything that long, or when it is deleted, its slot is
free. A client that disappears therefore leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
import secrets
from collections.abc import AsyncGenerator
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from tars_jax.inference.answer_fields import answer_fields
from tars_jax.inference.chat_protocol import logit_bias, stop_sequences
from tars_jax.inference.config import ServerConfig
from tars_jax.inference.data_urls import ImageUrl, decode_images
from tars_jax.inference.sampling import Sampling, until_text
from tars_jax.inference.server.generation import answers, engine_errors
from tars_jax.inference.server.served import Served
from tars_jax.inference.server.weights import Weights
from tars_jax.inference.session import Session
from tars_jax.json_fields import short_repr
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import EventStream, JsonResponse, read_json

INLINE_BYTES = 1 << 16  # a body of more is read in a thread, so that it holds nobody up
MAX_IMAGES, MAX_PIXELS = 64, 4096 * 4096
MAX_SEED = 2**63 - 1
# So long a request waits for the one before it. After a cancelled one the next may come, on another connection, before
# the server has seen that the first was closed.
OVERLAP_S = 1.0

log = logging.getLogger(__name__)


@dataclasses.dataclass
class _Live:
    """A session that a client holds."""

    session: Session
    lease: float
    closing: contextlib.AsyncExitStack
    asked: float  # when the last request ended
    turn: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)  # held by a request while it is answered


@dataclasses.dataclass(frozen=True)
class _Ask:
    """One request for an answer, read."""

    tokens: list[int]
    images: list[ImageUrl]
    restart: bool
    sampling: Sampling
    stream: bool


class SessionEndpoints:
    """Endpoints of the live sessions of a server. Use as an async context manager: the sessions are closed with it."""

    def __init__(self, served: Served, config: ServerConfig, weights: Weights) -> None:
        self._served, self._config, self._weights, self._engine = served, config, weights, served.engine
        vision = served.engine.model.vision
        # A larger image has more tokens than a window holds.
        self._max_pixels = min(MAX_PIXELS, served.engine.config.max_length * (vision.patch * vision.merge) ** 2)
        self._live: dict[str, _Live] = {}
        self._reaper: asyncio.Task[None] | None = None
        self.expired = 0

    def __len__(self) -> int:
        return len(self._live)

    async def __aenter__(self) -> SessionEndpoints:
        self._reaper = asyncio.create_task(self._reap())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._reaper is not None
        self._reaper.cancel()
        for id in list(self._live):
            await self._close(id)

    async def create(self, request: Request) -> Response:
        """{seed?, lease_seconds?} -> {id, lease_seconds, version, weights}"""
        fields = RequestFields(await read_json(request))
        seed, lease = self._seed_and_lease(fields)
        closing = contextlib.AsyncExitStack()
        with engine_errors(0):
            session = await closing.enter_async_context(self._engine.session(seed))
        return self._opened(session, lease, closing)

    async def fork(self, request: Request) -> Response:
        """{seed?, lease_seconds?} -> {id, ...}: a session with the same context and a random stream of its own."""
        fields = RequestFields(await read_json(request))
        seed, lease = self._seed_and_lease(fields)
        live = await self._take(request)
        closing = contextlib.AsyncExitStack()
        try:
            with engine_errors(0):
                session = await closing.enter_async_context(live.session.fork(seed))
        finally:
            self._rest(live)
        return self._opened(session, lease, closing)

    async def delete(self, request: Request) -> Response:
        """Ends the session, and an answer that is under way."""
        self._find(request)
        await self._close(request.path_params["id"])
        return Response(status_code=204)

    async def respond(self, request: Request) -> Response:
        """{tokens, images?, restart?, sampling...} -> {tokens, log_probs, versions, finish, weights, routes?}, or the
        first three in pieces."""
        body = await read_json(request)
        long = len(await request.body()) > INLINE_BYTES
        ask = await asyncio.to_thread(self._read, body) if long else self._read(body)
        images = await decode_images(ask.images, self._max_pixels)
        live = await self._take(request)
        if ask.stream:
            return await EventStream.begin(self._pieces(live, ask, images))
        try:
            with engine_errors(self._config.request_seconds):
                async with asyncio.timeout(self._config.request_seconds):
                    sampled = await live.session.respond(ask.tokens, images, restart=ask.restart, sampling=ask.sampling)
        finally:
            self._rest(live)
        return JsonResponse(answer_fields(sampled, self._weights.word))

    def _rest(self, live: _Live) -> None:
        live.turn.release()
        live.asked = asyncio.get_running_loop().time()

    async def _pieces(self, live: _Live, ask: _Ask, images: list[np.ndarray]) -> AsyncGenerator[dict[str, Any], None]:
        """Tokens as they come, then how it ended."""

        respond = functools.partial(
            live.session.respond, ask.tokens, images, restart=ask.restart, sampling=ask.sampling
        )
        arriving = answers([respond])
        deadline = asyncio.get_running_loop().time() + self._config.request_seconds
        try:
            with engine_errors(self._config.request_seconds):
                finish = ""
                while not finish:
                    async with asyncio.timeout_at(deadline):
                        [(_, tokens, ended)] = await anext(arriving)
                    if tokens:
                        yield {
                            "tokens": [each.token for each in tokens],
                            "log_probs": [each.log_prob for each in tokens],
                            "versions": [each.version for each in tokens],
                        }
                    if ended is not None:
                        finish = ended.finish
                        yield {"finish": finish, "kept": len(ended.tokens)}
        finally:
            try:
                await arriving.aclose()
            finally:  # also where a second cancellation comes
                self._rest(live)

    def _read(self, body: Any) -> _Ask:
        """Raises RequestError that names the field."""
        fields, engine = RequestFields(body), self._engine
        tokens = fields.token_ids("tokens", engine.model.vocabulary)
        urls = fields.array("images")
        if len(urls) > MAX_IMAGES:
            raise fields.error("images", f"at most {MAX_IMAGES} images")
        images = [ImageUrl(url, f"images[{index}]") for index, url in enumerate(urls)]
        for image in images:
            if not isinstance(image.url, str):
                raise RequestError(f"{image.param} must be a data URL; got {short_repr(image.url)}", image.param)
        stops = stop_sequences(fields, most=16)
        top_p = fields.number("top_p", 1.0, 0.0, 1.0)
        if top_p == 0:
            raise fields.error("top_p", "a number above 0, at most 1")
        sampling = Sampling(
            temperature=fields.number("temperature", engine.config.temperature, 0.0, 100.0),
            top_p=top_p,
            top_k=fields.integer("top_k", 0, 0, engine.model.vocabulary) or 0,
            frequency_penalty=fields.number("frequency_penalty", 0.0, -2.0, 2.0),
            presence_penalty=fields.number("presence_penalty", 0.0, -2.0, 2.0),
            logit_bias=logit_bias(fields, engine.model.vocabulary),
            max_new_tokens=fields.integer("max_new_tokens", None, 0, engine.config.max_length),
            seed=_optional_seed(fields),
            constraint=fields.optional_text("constraint"),
            until=until_text(stops, self._served.codec.decode) if stops else None,
        )
        ask = _Ask(tokens, images, fields.flag("restart"), sampling, fields.flag("stream"))
        fields.done()
        return ask

    def _seed_and_lease(self, fields: RequestFields) -> tuple[int, float]:
        seed = _optional_seed(fields)
        lease = fields.number("lease_seconds", self._config.lease_seconds, 0.1, self._config.max_lease_seconds)
        fields.done()
        return secrets.randbits(32) if seed is None else seed, lease

    def _opened(self, session: Session, lease: float, closing: contextlib.AsyncExitStack) -> Response:
        id = secrets.token_urlsafe(16)
        self._live[id] = _Live(session, lease, closing, asyncio.get_running_loop().time())
        said = {"id": id, "lease_seconds": lease, "version": self._engine.version, "weights": self._weights.word}
        return JsonResponse(said, status_code=201)

    def _find(self, request: Request) -> _Live:
        live = self._live.get(request.path_params["id"])
        if live is None:
            raise RequestError(
                "there is no such session; it was deleted or its lease ran out", status=404, code="session_not_found"
            )
        return live

    async def _take(self, request: Request) -> _Live:
        """The session, for this request alone until `_rest`."""
        live = self._find(request)
        try:
            async with asyncio.timeout(OVERLAP_S):
                await live.turn.acquire()
        except TimeoutError as error:
            raise RequestError("the session's last answer is under way", status=409, code="session_in_use") from error
        if request.path_params["id"] not in self._live:
            live.turn.release()
        return self._find(request)

    async def _close(self, id: str) -> None:
        live = self._live.pop(id)
        await live.closing.aclose()

    async def _reap(self) -> None:
        while True:
            now = asyncio.get_running_loop().time()
            ends = {id: live.asked + live.lease for id, live in self._live.items() if not live.turn.locked()}
            for id in [id for id, end in ends.items() if end <= now]:
                try:
                    await self._close(id)
                except Exception:
                    log.exception("session %s did not close", id)
                self.expired += 1
            await asyncio.sleep(0.25)


def _optional_seed(fields: RequestFields) -> int | None:
    seed = fields.integer("seed", None, 0, MAX_SEED)
    return None if seed is None else seed % 2**32
