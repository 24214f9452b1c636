"""POST /v1/chat/completions and GET /v1/models, as OpenAI has them. What is of an episode is recorded (episodes.py)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from tars_jax import InputError
from tars_jax.inference.chat_protocol import (
    Chance,
    ChatLimits,
    ChatRequest,
    call_deltas,
    chunk_choice,
    completion_choice,
    log_probs_field,
    parse_chat,
    usage_field,
)
from tars_jax.inference.chat_template import Prompt
from tars_jax.inference.config import ServerConfig
from tars_jax.inference.data_urls import decode_images
from tars_jax.inference.sampling import Sampled, Sampling, Token
from tars_jax.inference.server.answer_forms import answer_form
from tars_jax.inference.server.constraints import ServedConstraints
from tars_jax.inference.server.episodes import (
    Episode,
    EpisodeEndpoints,
    Recording,
    are_long,
    require_one_choice,
)
from tars_jax.inference.server.generation import Ask, answers, engine_errors
from tars_jax.inference.server.served import Served
from tars_jax.inference.session import Session
from tars_jax.inference.text_stream import StopText, TextStream
from tars_jax.inference.tool_calls import CallStream
from tars_jax.json_fields import short_repr
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import EventStream, JsonResponse, read_json

LONGEST_TOKEN = 256  # characters; those of open vocabularies, runs of blanks, have up to 128


@dataclasses.dataclass(frozen=True)
class _Reading:
    """Prompt of a request, and the token limit of its answer."""

    prompt: Prompt
    budget: int
    recording: Recording | None


class Chat:
    """Each request is a session of its own, which reads all messages and ends with its answers; but one of an episode
    goes on where the last one of its window ended."""

    def __init__(
        self, served: Served, config: ServerConfig, constraints: ServedConstraints, episodes: EpisodeEndpoints
    ) -> None:
        self._episodes = episodes
        self._served, self._config, self._engine = served, config, served.engine
        engine = served.engine.config
        self._limits = ChatLimits(
            choices=min(engine.max_sessions, engine.max_queue, 16),  # more would find no room at any time
            vocabulary=served.engine.model.vocabulary,
            top_logprobs=min(engine.top_logprobs, 20),
        )
        self._created = int(time.time())
        self._constraints = constraints

    async def complete(self, request: Request) -> Response:
        episode = self._episodes.asking(request.headers)
        asked = self.parse(await read_json(request), episode)
        if not asked.stream:
            return JsonResponse(await self.answer(asked, episode))
        images = await self._images(asked, episode)
        with engine_errors(self._config.request_seconds, _field):
            return await EventStream.begin(self._chunks(asked, images, episode))

    def parse(self, body: Any, episode: Episode | None) -> ChatRequest:
        """Reads a request for this policy; raises RequestError that names the field."""
        asked = parse_chat(body, self._limits)
        self.require_model(asked.model, episode)
        return asked

    def require_model(self, name: str, episode: Episode | None) -> None:
        """Raises RequestError for another one, but in an episode: programs have names of models written in them."""
        if name != self._served.name and episode is None:
            raise self._no_model(name, "model")

    async def answer(self, asked: ChatRequest, episode: Episode | None) -> dict[str, Any]:
        """The completion, not streamed; recorded where it is of an episode."""
        images = await self._images(asked, episode)
        with engine_errors(self._config.request_seconds, _field):
            async with asyncio.timeout(self._config.request_seconds):
                return await self._completion(asked, images, episode)

    async def _images(self, asked: ChatRequest, episode: Episode | None) -> list[np.ndarray]:
        if episode is not None:
            require_one_choice(asked)
        # Before they are made tokens, which takes seconds for a megabyte.
        if asked.characters > LONGEST_TOKEN * self._engine.config.max_length:
            raise self._too_long(f"{asked.characters} characters")
        return await decode_images(asked.images, self._limits.pixels, self._served.fit)

    async def models(self, request: Request) -> Response:
        return JsonResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        if request.path_params["name"] != self._served.name:
            raise self._no_model(request.path_params["name"], None)
        return JsonResponse(self._model())

    def _model(self) -> dict[str, Any]:
        return {"id": self._served.name, "object": "model", "created": self._created, "owned_by": "tars_jax"}

    def _no_model(self, name: str, param: str | None) -> RequestError:
        message = f"model must be {self._served.name!r}; got {short_repr(name)}"
        return RequestError(message, param, status=404, code="model_not_found")

    @contextlib.asynccontextmanager
    async def _reading(
        self, asked: ChatRequest, images: Sequence[np.ndarray], episode: Episode | None
    ) -> AsyncIterator[_Reading]:
        messages, recording = asked.with_pixels(images), None
        async with contextlib.AsyncExitStack() as stack:
            try:
                if episode is None and asked.choices == 1:
                    episode = self._episodes.by_prefix(messages)
                if episode is not None:
                    recording = await stack.enter_async_context(self._episodes.recording(episode, messages))
                    prompt = recording.whole
                elif are_long(messages):
                    prompt = await asyncio.to_thread(self._served.template, messages)
                else:
                    prompt = self._served.template(messages)
            except InputError as error:
                raise RequestError(str(error), "messages") from error
            yield _Reading(prompt, self._budget(asked, prompt, episode), recording)

    def _budget(self, asked: ChatRequest, prompt: Prompt, episode: Episode | None) -> int:
        """Token limit of an answer: the request's, else the engine's, at most what the window holds. An episode may set
        a lower limit."""
        room = self._engine.config.max_length - len(prompt.tokens)
        budget = asked.max_tokens or min(self._engine.config.max_new_tokens, room)
        if episode is not None and episode.most_tokens is not None:
            budget = min(budget, episode.most_tokens, room)
        if not 0 < budget <= room:
            answer = f" and an answer of {asked.max_tokens}" if asked.max_tokens else ""
            raise self._too_long(f"{len(prompt.tokens)} tokens{answer}")
        return budget

    def _too_long(self, what: str) -> RequestError:
        longest = self._engine.config.max_length
        message = f"the messages are {what}; the policy's window holds {longest} tokens"
        return RequestError(message, "messages", code="context_length_exceeded")

    @contextlib.asynccontextmanager
    async def _asks(
        self, asked: ChatRequest, reading: _Reading, untils: Sequence[StopText | None]
    ) -> AsyncIterator[list[Ask]]:
        """One function for each choice that samples it. Several choices read the prompt once and go on from forks."""
        prompt, recording = reading.prompt, reading.recording
        seed = secrets.randbits(32) if asked.seed is None else asked.seed
        base = Sampling(
            temperature=asked.temperature,
            top_p=asked.top_p,
            top_k=asked.top_k,
            frequency_penalty=asked.frequency_penalty,
            presence_penalty=asked.presence_penalty,
            logit_bias=asked.logit_bias,
            max_new_tokens=reading.budget,
            constraint=asked.constraint,
            top_logprobs=asked.top_log_probs,
        )

        def ask(session: Session, choice: int, until: StopText | None) -> Ask:
            sampling = dataclasses.replace(base, seed=(seed + choice) % 2**32, until=until)
            tokens, images = prompt if len(untils) == 1 else ([], [])
            restart = len(untils) == 1
            return functools.partial(session.respond, tokens, images, restart=restart, sampling=sampling)

        async with contextlib.AsyncExitStack() as stack:
            form = await stack.enter_async_context(answer_form(self._constraints, asked.callable, asked.schema))
            base = dataclasses.replace(base, constraint=form or asked.constraint)
            if recording is not None:
                own = dataclasses.replace(base, seed=asked.seed, until=untils[0])
                yield [functools.partial(recording.respond, sampling=recording.sampling(own, self._engine.temperature))]
                return
            first = await stack.enter_async_context(self._engine.session(seed))
            sessions = [first]
            if len(untils) > 1:
                await first.respond(prompt.tokens, prompt.images, restart=True, sampling=Sampling(max_new_tokens=0))
                for _ in untils[1:]:
                    sessions.append(await stack.enter_async_context(first.fork(seed)))
            yield [ask(*each) for each in zip(sessions, range(len(untils)), untils, strict=True)]

    def _until(self, asked: ChatRequest) -> StopText | None:
        return StopText(self._served.codec.decode, asked.stops) if asked.stops else None

    async def _completion(
        self, asked: ChatRequest, images: Sequence[np.ndarray], episode: Episode | None
    ) -> dict[str, Any]:
        untils = [self._until(asked) for _ in range(asked.choices)]
        async with self._reading(asked, images, episode) as reading:
            async with self._asks(asked, reading, untils) as asks:
                found = [await asks[0]()] if len(asks) == 1 else await _all(asks)
            choices = []
            for index, (sampled, until) in enumerate(zip(found, untils, strict=True)):
                text = self._text(sampled, until)
                log_probs = self._log_probs(sampled.one_by_one()) if asked.log_probs else None
                told = sampled.tokens if asked.token_ids else None
                choices.append(completion_choice(index, text, sampled.finish, log_probs, asked.tools, told))
                self._record(asked, reading, sampled, text)
        prompt = reading.prompt
        written = sum(len(sampled.tokens) for sampled in found)
        # A stop sequence may leave no token that would tell the version.
        version = max((each.versions[-1] for each in found if each.versions), default=self._engine.version)
        head = self._head("chat.completion", version) | _prompt_ids(asked, prompt)
        return {**head, "choices": choices, "usage": usage_field(len(prompt.tokens), written)}

    def _record(self, asked: ChatRequest, reading: _Reading, sampled: Sampled, text: str) -> None:
        """Records a request of an episode: the answer as it was sampled, and as its client has it."""
        if reading.recording is not None:
            message = completion_choice(0, text, sampled.finish, None, asked.tools)["message"]
            reading.recording.answered(sampled, text, self._text(sampled, None), message)

    async def _chunks(
        self, asked: ChatRequest, images: Sequence[np.ndarray], episode: Episode | None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The chunks of a stream. Each choice begins with its role and ends with its finish_reason."""
        untils = [self._until(asked) for _ in range(asked.choices)]
        codec, stop = self._served.codec, self._served.stop
        streams = [_ChoiceStream(TextStream(codec.decode, stop, asked.stops), asked.tools) for _ in untils]
        head = self._head("chat.completion.chunk", self._engine.version)
        tail = {"usage": None} if asked.include_usage else {}
        written = 0
        deadline = asyncio.get_running_loop().time() + self._config.request_seconds
        with engine_errors(self._config.request_seconds, _field):
            async with (
                self._reading(asked, images, episode) as reading,
                self._asks(asked, reading, untils) as asks,
                contextlib.aclosing(answers(asks)) as arriving,
            ):
                prompt = reading.prompt
                prompt_ids = _prompt_ids(asked, prompt)  # of the first chunk alone
                while (news := await _next(arriving, deadline)) is not None:
                    for index, tokens, ended in news:
                        choice = streams[index]
                        choices = [] if choice.begun else [chunk_choice(index, {"role": "assistant", "content": ""})]
                        choice.begun = True
                        if ended is None:
                            text, certain = choice.feed(tokens)
                        else:
                            whole = self._text(ended, untils[index])
                            text, certain = choice.finish(whole, ended.one_by_one())
                            written += len(ended.tokens)
                            self._record(asked, reading, ended, whole)
                        log_probs = self._log_probs(certain) if asked.log_probs and certain else None
                        told = [each.token for each in certain] if asked.token_ids and certain else None
                        for delta in choice.deltas(text, ended is not None):
                            words = "content" in delta
                            choices.append(chunk_choice(index, delta, log_probs if words else None, token_ids=told))
                            log_probs, told = None if words else log_probs, None
                        if log_probs or told:
                            choices.append(chunk_choice(index, {"content": ""}, log_probs, token_ids=told))
                        if ended is not None:
                            choices.append(chunk_choice(index, {}, finish=choice.finish_reason(ended.finish)))
                        for each in choices:
                            yield {**head, **prompt_ids, "choices": [each], **tail}
                            prompt_ids = {}
        if asked.include_usage:
            yield {**head, "choices": [], "usage": usage_field(len(prompt.tokens), written)}

    def _head(self, kind: str, version: int) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "object": kind,
            "created": int(time.time()),
            "model": self._served.name,
            "system_fingerprint": f"version-{version}",
        }

    def _text(self, sampled: Sampled, until: StopText | None) -> str:
        if until is not None and until.text is not None:
            return until.text
        tokens = sampled.tokens
        return self._served.codec.decode(tokens[:-1] if tokens and tokens[-1] == self._served.stop else tokens)

    def _log_probs(self, tokens: Sequence[Token]) -> dict[str, Any]:
        """Log-probabilities of all tokens but the one that ends the answer."""

        codec = self._served.codec

        def chance(token: int, log_prob: float) -> Chance:
            return Chance(codec.decode([token]), codec.spell(token), log_prob)

        return log_probs_field(
            (chance(each.token, each.log_prob), (chance(*other) for other in each.likeliest))
            for each in tokens
            if each.token != self._served.stop
        )


def _prompt_ids(asked: ChatRequest, prompt: Prompt) -> dict[str, Any]:
    return {"prompt_token_ids": [int(token) for token in prompt.tokens]} if asked.token_ids else {}


def _field(name: str) -> str:
    """Maps a field of the engine's to its name in a chat request: the prompt is what the messages make."""
    same = ("constraint", "frequency_penalty", "presence_penalty", "logit_bias")
    return name if name in same else {"max_new_tokens": "max_tokens"}.get(name, "messages")


class _ChoiceStream:
    """State of one streamed choice, so that the stream ends up with the whole answer: text and tokens."""

    def __init__(self, stream: TextStream, tools: bool) -> None:
        self._stream, self._said, self._shown = stream, "", 0
        self._calls, self._called = CallStream() if tools else None, 0
        self._tokens: list[Token] = []
        self.begun = False

    def feed(self, tokens: Sequence[Token]) -> tuple[str, list[Token]]:
        """The text that has become certain, and the tokens, which a stop sequence takes back with their text."""
        self._tokens += tokens
        text = self._stream.feed([each.token for each in tokens])
        self._said += text
        return text, self._show() if self._stream.certain else []

    def finish(self, whole: str, tokens: list[Token]) -> tuple[str, list[Token]]:
        """Text and tokens that the stream has not yet sent of the whole answer."""
        self._tokens = tokens
        return whole[len(self._said) :], self._show()

    def deltas(self, text: str, ended: bool) -> list[dict[str, Any]]:
        """The text as deltas: words, and the calls of tools among them."""
        if self._calls is None:
            return [{"content": text}] if text else []
        found: list[dict[str, Any]] = []
        for part in [*self._calls.feed(text), *(self._calls.finish() if ended else ())]:
            if isinstance(part, str):
                found.append({"content": part})
            else:
                found += call_deltas(self._called, part)
                self._called += 1
        return found

    def finish_reason(self, finish: str) -> str:
        return "tool_calls" if self._called and finish == "stop" else finish

    def _show(self) -> list[Token]:
        tokens, self._shown = self._tokens[self._shown :], len(self._tokens)
        return tokens


async def _all(asks: Sequence[Ask]) -> list[Sampled]:
    """All answers; the first error cancels the others and is the error of all."""
    found: list[Sampled | None] = [None] * len(asks)

    async def one(index: int) -> None:
        found[index] = await asks[index]()

    try:
        async with asyncio.TaskGroup() as group:
            for index in range(len(asks)):
                group.create_task(one(index))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [sampled for sampled in found if sampled is not None]


async def _next(arriving: AsyncGenerator[Any, None], deadline: float) -> Any:
    """The next news; None after the last. Raises TimeoutError at the deadline."""
    async with asyncio.timeout_at(deadline):
        return await anext(arriving, None)
