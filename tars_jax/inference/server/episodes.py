"""/v1/rl/episodes: what a chat client plays, recorded as it was sampled.

A trainer opens an episode and gives its key to a program that talks to /v1/chat/completions and knows nothing else of
us; what it asks with that key (`Authorization: Bearer KEY`, or the header `X-Episode: ID` beside the server's own key)
is the episode. A program that knows how well it did says so with the same key, once, at /v1/rl/reward. `finish` hands
over the windows (conversation_windows.py) and the reward, and ends the episode: the key opens nothing any more.

Where the server keeps what is played (`Served.keep`), requests without a key are recorded, too, each with the
conversation that it goes on with (`PrefixEpisodes`).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import hmac
import logging
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tars_jax.inference.answer_fields import answer_fields
from tars_jax.inference.chat_protocol import ChatRequest, message_of
from tars_jax.inference.chat_template import Message, Prompt
from tars_jax.inference.config import ServerConfig
from tars_jax.inference.conversation_windows import Conversation, ConversationWindow, Place, Turn
from tars_jax.inference.data_urls import encode_image
from tars_jax.inference.sampling import OnToken, Sampled, Sampling
from tars_jax.inference.server.episode import Episode, PrefixEpisodes, give_up_sessions
from tars_jax.inference.server.served import Served
from tars_jax.inference.server.weights import Weights
from tars_jax.inference.session import Session
from tars_jax.json_fields import short_repr
from tars_jax.web.protocol import RequestError, RequestFields, busy
from tars_jax.web.responses import JsonResponse, read_json

log = logging.getLogger(__name__)
HEADER = "x-episode"
PREFIX = "ep-"  # of keys: one that is over is told from a server's own
MOST_EPISODES = 4096
INLINE_CHARACTERS = 1 << 14
MOST_REWARD = 1e6
MOST_SESSIONS = 4  # that an episode holds; of more windows the one that was asked longest ago is read again


class EpisodeEndpoints:
    """Endpoints of the episodes of a server. Use as an async context manager."""

    def __init__(self, served: Served, config: ServerConfig, weights: Weights) -> None:
        self._served, self._config, self._engine, self._weights = served, config, served.engine, weights
        self._open: dict[str, Episode] = {}
        begin = functools.partial(self._new, None, None)
        self._by_prefix = PrefixEpisodes(begin, config.idle_seconds) if served.keep is not None else None
        self._reaper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> EpisodeEndpoints:
        self._reaper = asyncio.create_task(self._reap())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._reaper is not None
        self._reaper.cancel()
        for episode in self._open.values():
            give_up_sessions(episode.conversation)
        if self._by_prefix is not None:
            await self._keep(self._by_prefix.all_over())

    def has_key(self, key: str) -> bool:
        """Whether a key is that of an episode; asked where requests are admitted."""
        return self._by_key(key) is not None

    def asking(self, headers: Mapping[str, str]) -> Episode | None:
        """The episode that a request for an answer is of; None: of none. Raises RequestError for one that is over, or
        has had all its answers."""
        episode = self.of(headers)
        if episode is not None and episode.most_answers is not None and episode.begun >= episode.most_answers:
            episode.refused += 1
            message = f"the episode has had the {episode.most_answers} answers that it may have"
            raise RequestError(message, status=403, code="episode_over")
        return episode

    def of(self, headers: Mapping[str, str]) -> Episode | None:
        """The episode of any other request; None: of none."""
        if (id := headers.get(HEADER)) is not None:
            return self._find(id)
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.startswith(PREFIX):
            return None
        if (episode := self._by_key(key)) is None:
            message = "the key is that of an episode that is over, or of none"
            raise RequestError(message, status=401, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
        return episode

    async def create(self, request: Request) -> Response:
        """{seed?, temperature?, answers?, answer_tokens?} -> {id, key}"""
        fields = RequestFields(await read_json(request))
        seed = fields.integer("seed", None, 0, 2**63 - 1)
        answers = fields.integer("answers", None, 1, 2**31)
        answer_tokens = fields.integer("answer_tokens", None, 1, 2**31)
        temperature = fields.number("temperature", -1.0, 0.0, 100.0)
        fields.done()
        if len(self._open) >= MOST_EPISODES:
            raise busy(f"{MOST_EPISODES} episodes are open; finish some")
        episode = self._new(seed, temperature if temperature >= 0 else None)
        episode.most_answers, episode.most_tokens = answers, answer_tokens
        self._open[episode.id] = episode
        return JsonResponse({"id": episode.id, "key": episode.key}, status_code=201)

    def _new(self, seed: int | None, temperature: float | None) -> Episode:
        return Episode(
            secrets.token_urlsafe(12),
            PREFIX + secrets.token_urlsafe(24),
            secrets.randbits(32) if seed is None else seed % 2**32,
            temperature,
            Conversation(self._served.template, self._served.stop),
            _now(),
        )

    def by_prefix(self, messages: Sequence[Message]) -> Episode | None:
        """The conversation that a request without a key goes on with, or begins; None where nothing is kept."""
        return None if self._by_prefix is None else self._by_prefix.of(messages)

    async def show(self, request: Request) -> Response:
        """{id, answers, windows, busy}: counts, while it is played."""
        episode = self._find(request.path_params["id"])
        windows = episode.conversation.windows
        answers = sum(len(window.turns) for window in windows)
        said = {"id": episode.id, "answers": answers, "windows": len(windows), "busy": episode.conversation.busy}
        return JsonResponse(said)

    async def reward(self, request: Request) -> Response:
        """{reward, success?} -> {id}: what the program itself says of its episode, once."""
        episode = self.of(request.headers)
        if episode is None:
            message = "the header Authorization must be Bearer and the key of an episode; got none"
            raise RequestError(message, status=401, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
        fields = RequestFields(await read_json(request))
        if fields.value("reward") is None:
            raise fields.error("reward", "a number")
        reward = fields.number("reward", 0.0, -MOST_REWARD, MOST_REWARD)
        success = fields.flag("success") if fields.value("success") is not None else None
        fields.done()
        if episode.reward is not None:
            message = f"the reward must be said once; got {reward:g} after {episode.reward:g}"
            raise RequestError(message, "reward", status=409, code="reward_said")
        episode.reward, episode.success = reward, success
        return JsonResponse({"id": episode.id})

    async def finish(self, request: Request) -> Response:
        """{} -> {id, windows, reward, success, refused}: what was played, what its program said of it (null where it
        said nothing), and how often it asked for more answers than it may have. An answer that is under way is no part
        of it."""
        episode = self._find(request.path_params["id"])
        del self._open[episode.id]
        give_up_sessions(episode.conversation)
        windows = await asyncio.to_thread(self._windows, episode)
        said = {"reward": episode.reward, "success": episode.success, "refused": episode.refused}
        return JsonResponse({"id": episode.id, "windows": windows, **said})

    def _windows(self, episode: Episode) -> list[list[dict[str, Any]]]:
        """As JSON. It packs pictures, which takes its time."""
        turns = [tuple(window.turns) for window in episode.conversation.windows]
        return [[self._turn_fields(turn) for turn in window] for window in turns]

    async def _keep(self, episodes: Sequence[Episode]) -> None:
        """Keeps the trajectories of episodes that are over. One that cannot be kept is logged, and holds up nobody."""
        for episode in episodes:
            give_up_sessions(episode.conversation)
            assert self._served.keep is not None
            if windows := await asyncio.to_thread(self._windows, episode):
                try:
                    await asyncio.to_thread(self._served.keep, windows)
                except Exception:
                    log.exception("a conversation of %d answers is lost", sum(map(len, windows)))

    @contextlib.asynccontextmanager
    async def recording(self, episode: Episode, messages: Sequence[Message]) -> AsyncIterator[Recording]:
        """The turn of one request. Raises InputError where there is nothing to answer."""
        place = await _placed(episode.conversation, messages)
        episode.begun += 1
        recording = Recording(self, episode, place)
        try:
            yield recording
        finally:
            episode.asked = _now()
            if not recording.done:
                if place.window.session is not None:  # after an answer that was given up only a new window can follow
                    place.window.session.close()
                    place.window.session = None
                episode.conversation.given_up(place)

    def session_for(self, episode: Episode, window: ConversationWindow) -> Session:
        """The session that holds the window, or a new one. Raises Busy where there is no room."""
        if window.session is None:
            held = [(each, session) for each, session in episode.conversation.sessions() if not each.busy]
            for other, session in held[: max(0, len(held) - MOST_SESSIONS + 1)]:
                session.close()
                other.session = None
            session = self._engine.session((episode.seed * 1_000_003 + episode.opened) % 2**32)
            self._engine.open(session)
            window.session = session
            episode.opened += 1
        return window.session

    def _by_key(self, key: str) -> Episode | None:
        given = key.encode("utf-8", "replace")
        return next((each for each in self._open.values() if hmac.compare_digest(each.key.encode(), given)), None)

    def _find(self, id: str) -> Episode:
        episode = self._open.get(id)
        if episode is None:
            message = f"there is no such episode, or it is over; got {short_repr(id)}"
            raise RequestError(message, status=404, code="episode_not_found")
        return episode

    def _turn_fields(self, turn: Turn) -> dict[str, Any]:
        return {
            "number": turn.number,
            "read": turn.tokens,
            "images": [encode_image(image) for image in turn.images],
            "asked": turn.asked,
            "text": turn.text,
            "free": turn.free,
            "read_again": turn.read_again,
            "answer": answer_fields(turn.sampled, self._weights.word),
        }

    async def _reap(self) -> None:
        """Windows of episodes that nobody asks are held no longer; they are read again if somebody does."""
        while True:
            for episode in self._open.values():
                if not episode.conversation.busy and _now() - episode.asked > self._config.lease_seconds:
                    give_up_sessions(episode.conversation)
            if self._by_prefix is not None:
                await self._keep(self._by_prefix.over(_now()))
            await asyncio.sleep(1.0)


class Recording:
    """One request of an episode and its answer."""

    def __init__(self, episodes: EpisodeEndpoints, episode: Episode, place: Place) -> None:
        self._episodes, self._episode, self._place = episodes, episode, place
        self._free = False
        self.done = False

    @property
    def whole(self) -> Prompt:
        """All that the window holds before the answer."""
        return self._place.whole()

    def sampling(self, asked: Sampling, temperature: float) -> Sampling:
        """As the episode wants it; `temperature`: the learner's."""
        own = self._episode.temperature
        if own is not None:
            asked = dataclasses.replace(
                asked, temperature=own, top_p=1.0, top_k=0, frequency_penalty=0.0, presence_penalty=0.0, logit_bias=()
            )
        plain = Sampling(temperature=temperature)
        same = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "logit_bias", "constraint")
        self._free = all(getattr(asked, name) == getattr(plain, name) for name in same)
        return asked

    async def respond(self, *, sampling: Sampling, on_token: OnToken | None = None) -> Sampled:
        """Samples the answer and records it."""
        place = self._place
        restart = place.window.session is None
        session = self._episodes.session_for(self._episode, place.window)
        tokens, images = place.whole() if restart else place.unread
        return await session.respond(tokens, images, restart=restart, sampling=sampling, on_token=on_token)

    def answered(self, sampled: Sampled, text: str, decoded: str, message: Mapping[str, Any]) -> None:
        """`message`: as the client has it; `text`: before calls are taken out of it; `decoded`: of its tokens."""
        self._episode.conversation.answered(self._place, sampled, text, decoded, message_of(message), free=self._free)
        self.done = True


def are_long(messages: Sequence[Message]) -> bool:
    """Whether messages become tokens in a thread, so that they hold nobody up."""
    characters = sum(len(part) for message in messages for part in message.parts if isinstance(part, str))
    return characters > INLINE_CHARACTERS


async def _placed(conversation: Conversation, messages: Sequence[Message]) -> Place:
    """The place of messages; a thread finds that of long ones."""
    if not are_long(messages):
        return conversation.place(messages)
    placing = asyncio.ensure_future(asyncio.to_thread(conversation.place, messages))
    try:
        return await asyncio.shield(placing)
    except asyncio.CancelledError:  # the client left: what the thread still finds is nobody's
        placing.add_done_callback(lambda done: None if done.exception() else conversation.given_up(done.result()))
        raise


def require_one_choice(asked: ChatRequest) -> None:
    """Raises RequestError for several, of which nobody could say which one goes on."""
    if asked.choices != 1:
        raise RequestError(f"n must be 1 in a recorded episode; got {asked.choices}", "n")


def _now() -> float:
    return asyncio.get_running_loop().time()
