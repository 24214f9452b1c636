"""Clients over HTTP: our own policy server, and any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import urllib.parse
from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
from safetensors.flax import save

from tars_jax import InputError
from tars_jax.inference.answer_fields import read_answer
from tars_jax.inference.chat_template import Message, Part, TurnFormat
from tars_jax.inference.data_urls import encode_image
from tars_jax.inference.http_connection import Connection, bearer, check_address, open_connection
from tars_jax.inference.policy_client import (
    ClientSession,
    PolicyClient,
    PolicyUnavailable,
    Reply,
    encodable,
    require_turns,
)
from tars_jax.inference.sampling import InvalidRequest, Sampled, Sampling, seed_of
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import leaf_name
from tars_jax.web.connections import Connections

INLINE_PIXELS = 1 << 16  # more are packed in a thread
CLOSING_SECONDS = 5.0


@contextlib.asynccontextmanager
async def open_http_client(
    target: str, turns: TurnFormat | None, model: str, api_key: str, patience: float
) -> AsyncIterator[PolicyClient]:
    """Our server's client if there is one at `target` (with or without its /v1), else a plain endpoint's."""
    headers = bearer(api_key)
    target = target.rstrip("/")
    check_address(target)
    base = target.removesuffix("/v1")
    async with contextlib.AsyncExitStack() as stack:
        somewhere = await stack.enter_async_context(open_connection(base, headers, patience))
        policy = await somewhere.policy(ours=not model)
        if policy is not None:
            connections = await stack.enter_async_context(Connections(base, headers))
            yield ServerClient(Connection(connections.request, base, patience), policy)
        elif not model:
            raise InputError(f"client.model must name a model of {target}, which is none of our servers; got nothing")
        else:
            # Where the path says it, it is the place of the whole API, whatever its last part is.
            place = "/v1" if base != target or not urllib.parse.urlsplit(target).path else ""
            yield EndpointClient(somewhere, turns, model, place)


@contextlib.asynccontextmanager
async def open_server_client(target: str, api_key: str, patience: float) -> AsyncIterator[ServerClient]:
    """Our own server's client. Raises InputError where another server answers, PolicyUnavailable where none does."""
    base = target.rstrip("/").removesuffix("/v1")
    check_address(base)
    async with Connections(base, bearer(api_key)) as connections:
        connection = Connection(connections.request, base, patience)
        policy = await connection.policy(ours=True)
        if policy is None:
            raise InputError(f"client.target must be a policy server (`serve`); got {target}, which is none")
        yield ServerClient(connection, policy)


class ServerClient:
    """Our policy server: tokens in, tokens out."""

    exact = True

    def __init__(self, connection: Connection, policy: Mapping[str, Any]) -> None:
        self._connection, self._model, self.policy_info = connection, policy["model"], policy

    @contextlib.asynccontextmanager
    async def session(self, seed: int, lease_seconds: float | None = None) -> AsyncIterator[ServerSession]:
        """`lease_seconds`: that it lasts while nobody asks it anything; None: as the server has it."""
        body = {"seed": seed % 2**63} | ({} if lease_seconds is None else {"lease_seconds": lease_seconds})
        opened = await self._connection.send("POST", "/v1/rl/sessions", body)
        path = f"/v1/rl/sessions/{opened['id']}"
        try:
            yield ServerSession(self._connection, path, opened["weights"])
        finally:
            # A server that cannot be told any more closes the session when its lease runs out.
            with contextlib.suppress(PolicyUnavailable, InputError, TimeoutError):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self._connection.send("DELETE", path)

    async def chat(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Reply:
        options = _sampling_fields(sampling, "max_tokens")
        return await _chat(self._connection, "/v1/chat/completions", self._model, messages, options)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Like `MessageEndpoint.post`."""
        return await self._connection.send("POST", f"/v1/{path}", {"model": self._model, **body})

    async def version(self) -> int:
        """Version of the weights that the server samples from now."""
        return (await self._connection.send("GET", "/v1/rl/policy"))["version"]

    async def weights(self) -> str:
        """The word of those that it has (`push_weights`)."""
        return str((await self._connection.send("GET", "/v1/rl/policy"))["weights"])

    async def load_weights(self, checkpoint: str, version: int, word: str = "") -> None:
        """Loads exported weights from a folder below the server's root. Requests under way go on.

        `word`: by which these weights are known again; `policy_info`, sessions and answers state it as `weights`.
        """
        body = {"checkpoint": checkpoint, "version": version, "word": word}
        await self._connection.send("POST", "/v1/rl/weights", body)

    async def push_weights(self, parameters: Parameters, version: int, word: str = "") -> None:
        """Hands over weights that this process can read whole. Requests under way go on."""
        await self.push_packed(await asyncio.to_thread(packed, parameters), version, word)

    async def push_packed(self, body: bytes, version: int, word: str = "") -> None:
        """The same of what `packed` has made."""
        await self._connection.send("PUT", f"/v1/rl/weights?version={version}&word={word}", body)

    async def put_constraint(self, name: str, pattern: str) -> int:
        """Hands over a pattern (Rust's `regex` syntax) that answers can be asked for by `Sampling.constraint`.

        Returns the fewest tokens of such an answer.
        """
        found = await self._connection.send("PUT", f"/v1/rl/constraints/{name}", {"pattern": pattern})
        return int(found["shortest"])


def packed(parameters: Parameters) -> bytes:
    """A safetensors file whose tensors have the leaves' names."""
    return save({leaf_name(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(parameters)})


@dataclasses.dataclass
class ServerSession:
    """A live context on our server. `weights`: the word of those that the server had when it last answered."""

    connection: Connection
    path: str
    weights: str = ""

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        body = {
            "tokens": list(map(int, tokens)),
            "images": await encoded_images(images),
            "restart": restart,
            **_sampling_fields(sampling, "max_new_tokens"),
        }
        if sampling is not None:  # its default is not the server's, which is the engine's
            body["temperature"] = sampling.temperature
        answer = await self.connection.send("POST", f"{self.path}/respond", body)
        sampled = read_answer(answer)
        self.weights = str(answer.get("weights", ""))
        return sampled


class EndpointClient:
    """Any OpenAI-compatible endpoint: messages in, text out."""

    exact = False
    policy_info: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, connection: Connection, turns: TurnFormat | None, model: str, place: str) -> None:
        """`place`: the path that all of the API's begin with."""
        self._connection, self._turns, self._model, self._place = connection, turns, model, place
        self._budget = "max_tokens"  # which all servers know but those that have put another name in its place

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[ClientSession]:
        yield ChatSession(self, require_turns(self._turns, "a session of a plain endpoint"), seed)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Like `MessageEndpoint.post`."""
        return await self._connection.send("POST", f"{self._place}/{path}", {"model": self._model, **body})

    async def chat(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Reply:
        options, path = _sampling_fields(sampling, self._budget), f"{self._place}/chat/completions"
        try:
            return await _chat(self._connection, path, self._model, messages, options)
        except InvalidRequest as error:
            if error.field != "max_tokens" or "max_completion_tokens" not in str(error):
                raise
        self._budget = "max_completion_tokens"
        options = _sampling_fields(sampling, self._budget)
        return await _chat(self._connection, path, self._model, messages, options)


class ChatSession:
    """A session through a client's `chat`: keeps the conversation, and each turn sends all of it after `guide`."""

    def __init__(self, client: PolicyClient, turns: TurnFormat, seed: int, guide: Sequence[Message] = ()) -> None:
        self._client, self._turns, self._seed, self._guide = client, turns, seed % 2**31, tuple(guide)
        self._messages: list[Message] = []
        self._answers = 0  # in all windows

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        messages = [*([] if restart else self._messages), *self._turns.messages(tokens, images)]
        sampling = sampling or Sampling()
        if sampling.seed is None:
            sampling = dataclasses.replace(sampling, seed=seed_of(self._seed, self._answers) % 2**31)
        reply = await self._client.chat([*self._guide, *messages], sampling)
        self._messages, self._answers = [*messages, Message("assistant", (reply.text,))], self._answers + 1
        written = self._turns.answer(reply.text)
        return Sampled(tuple(written), (0.0,) * len(written), (-1,) * len(written), finish=reply.finish)


async def _chat(
    connection: Connection, path: str, model: str, messages: Sequence[Message], options: Mapping[str, Any]
) -> Reply:
    wire = [{"role": message.role, "content": await _content(message.parts)} for message in messages]
    found = await connection.send("POST", path, {"model": model, "messages": wire, **options})
    try:
        choice = found["choices"][0]
        text, finish = choice["message"]["content"] or "", choice["finish_reason"]
        if not isinstance(text, str):
            raise TypeError(f"content is {type(text).__name__}")
    except (KeyError, IndexError, TypeError) as error:
        raise PolicyUnavailable(f"the endpoint's answer is no chat completion: {str(found)[:200]}") from error
    return Reply(encodable(text), finish)


async def _content(parts: Sequence[Part]) -> Any:
    if all(isinstance(part, str) for part in parts):
        return "".join(map(str, parts))
    urls = iter(await encoded_images([part for part in parts if not isinstance(part, str)]))
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": next(urls)}}
        for part in parts
    ]


async def encoded_images(images: Sequence[np.ndarray]) -> list[str]:
    if sum(image.size for image in images) > INLINE_PIXELS:
        return await asyncio.to_thread(lambda: [encode_image(image) for image in images])
    return [encode_image(image) for image in images]


def _sampling_fields(sampling: Sampling | None, budget: str) -> dict[str, Any]:
    """Sampling fields that differ from the defaults. Raises InputError for `until`, which is a function of this
    process, and for `top_logprobs`, which the answers of clients have no place for."""
    if sampling is None:
        return {}
    if sampling.until is not None:
        raise InputError("client.sampling.until must be None, as it cannot be sent to a server; got a function")
    if sampling.top_logprobs:
        raise InputError(f"client.sampling.top_logprobs must be 0 for a server; got {sampling.top_logprobs}")
    plain = Sampling()
    names = {"max_new_tokens": budget}
    found = {
        names.get(field.name, field.name): value
        for field in dataclasses.fields(Sampling)
        if (value := getattr(sampling, field.name)) != getattr(plain, field.name)
    }
    if sampling.logit_bias:
        found["logit_bias"] = {str(token): added for token, added in sampling.logit_bias}
    return found
