"""Clients over HTTP: our own policy server, and any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx
import numpy as np

from tars_jax import InputError
from tars_jax.inference.client import ClientSession, PolicyClient, PolicyUnavailable, Reply, require_turns
from tars_jax.inference.images import encode_image
from tars_jax.inference.protocol import to_json
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.inference.turns import Message, Part, TurnFormat

INLINE_PIXELS = 1 << 16  # more are packed in a thread


@contextlib.asynccontextmanager
async def open_http_client(
    target: str, turns: TurnFormat | None, model: str, api_key: str, patience: float
) -> AsyncIterator[PolicyClient]:
    """Our server's client if there is one at `target` (with or without its /v1), else a plain endpoint's."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    base = target.rstrip("/").removesuffix("/v1")
    async with httpx.AsyncClient(headers=headers, limits=limits, timeout=httpx.Timeout(patience, connect=10)) as http:
        connection = _Connection(http, base, patience)
        policy = await connection.policy()
        if policy is not None:
            yield ServerClient(connection, policy)
        elif not model:
            raise InputError(f"client.model: {target} is none of our servers; it takes the name of a model there")
        else:
            yield EndpointClient(connection, turns, model)


class _Connection:
    """Requests with their failures told apart: refused, busy, out of reach."""

    def __init__(self, http: httpx.AsyncClient, base: str, patience: float) -> None:
        self._http, self._base, self._patience = http, base, patience

    async def policy(self) -> dict[str, Any] | None:
        """What our server says of its policy; None at another server."""
        try:
            response = await self._http.get(f"{self._base}/v1/rl/policy")
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if response.status_code == 401:
            raise InputError(f"client.api_key: {self._base} does not take it")
        with contextlib.suppress(ValueError):
            found = response.json()
            if response.status_code == 200 and isinstance(found, dict) and "version" in found:
                return found
        return None

    async def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The response's JSON. A busy server is asked again, as its Retry-After says, until patience ends.

        Raises InputError for what the server refuses, PolicyUnavailable when it fails or does not answer.
        """
        content = None if body is None else to_json(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    response = await self._http.request(method, self._base + path, content=content, headers=headers)
                    if response.status_code != 429:
                        break
                    await asyncio.sleep(_retry_after(response))
        except TimeoutError as error:
            raise PolicyUnavailable(f"{self._base}: no answer within {self._patience:g} seconds") from error
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if response.is_success:
            return response.json() if response.content else None
        message = f"{self._base}: {_error_message(response)}"
        if response.status_code >= 500 or _error_code(response) == "session_not_found":
            raise PolicyUnavailable(message)
        raise InputError(message)

    def _unreachable(self, error: httpx.HTTPError) -> PolicyUnavailable:
        return PolicyUnavailable(f"{self._base} does not answer: {type(error).__name__} {error}")


class ServerClient:
    """Our policy server: tokens in, tokens out."""

    exact = True

    def __init__(self, connection: _Connection, policy: Mapping[str, Any]) -> None:
        self._connection, self._model = connection, policy["model"]

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[ClientSession]:
        opened = await self._connection.send("POST", "/v1/rl/sessions", {"seed": seed % 2**63})
        path = f"/v1/rl/sessions/{opened['id']}"
        try:
            yield _ServerSession(self._connection, path)
        finally:
            # A server that cannot be told any more closes the session when its lease runs out.
            with contextlib.suppress(PolicyUnavailable, InputError):
                await asyncio.shield(self._connection.send("DELETE", path))

    async def chat(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Reply:
        return await _chat(self._connection, self._model, messages, _sampling_fields(sampling, "max_tokens"))

    async def version(self) -> int:
        """Of the weights that the server samples from now."""
        return (await self._connection.send("GET", "/v1/rl/policy"))["version"]

    async def load_weights(self, checkpoint: str, version: int) -> None:
        """Loads exported weights from a folder below the server's root. Requests under way go on."""
        body = {"checkpoint": checkpoint, "version": version}
        await self._connection.send("POST", "/v1/rl/weights", body)


@dataclasses.dataclass
class _ServerSession:
    connection: _Connection
    path: str

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        body = {
            "tokens": list(map(int, tokens)),
            "images": await _encoded(images),
            "restart": restart,
            **_sampling_fields(sampling, "max_new_tokens"),
        }
        answer = await self.connection.send("POST", f"{self.path}/respond", body)
        return Sampled(
            tuple(answer["tokens"]), tuple(answer["log_probs"]), tuple(answer["versions"]), finish=answer["finish"]
        )


class EndpointClient:
    """Any OpenAI-compatible endpoint: messages in, text out."""

    exact = False

    def __init__(self, connection: _Connection, turns: TurnFormat | None, model: str) -> None:
        self._connection, self._turns, self._model = connection, turns, model

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[ClientSession]:
        yield _EndpointSession(self, require_turns(self._turns, "a session of a plain endpoint"), seed)

    async def chat(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Reply:
        return await _chat(self._connection, self._model, messages, _sampling_fields(sampling, "max_tokens"))


class _EndpointSession:
    """Keeps the conversation; each turn sends all of it."""

    def __init__(self, client: EndpointClient, turns: TurnFormat, seed: int) -> None:
        self._client, self._turns, self._seed = client, turns, seed % 2**31
        self._messages: list[Message] = []

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        messages = [*([] if restart else self._messages), *self._turns.messages(tokens, images)]
        sampling = sampling or Sampling()
        if sampling.seed is None:
            sampling = dataclasses.replace(sampling, seed=(self._seed + len(messages)) % 2**31)
        reply = await self._client.chat(messages, sampling)
        self._messages = [*messages, Message("assistant", (reply.text,))]
        written = self._turns.answer(reply.text)
        return Sampled(tuple(written), (0.0,) * len(written), (-1,) * len(written), finish=reply.finish)


async def _chat(connection: _Connection, model: str, messages: Sequence[Message], options: Mapping[str, Any]) -> Reply:
    wire = [{"role": message.role, "content": await _content(message.parts)} for message in messages]
    found = await connection.send("POST", "/v1/chat/completions", {"model": model, "messages": wire, **options})
    try:
        choice = found["choices"][0]
        return Reply(choice["message"]["content"] or "", choice["finish_reason"])
    except (KeyError, IndexError, TypeError) as error:
        raise PolicyUnavailable(f"the endpoint's answer is no chat completion: {str(found)[:200]}") from error


async def _content(parts: Sequence[Part]) -> Any:
    if all(isinstance(part, str) for part in parts):
        return "".join(map(str, parts))
    urls = iter(await _encoded([part for part in parts if not isinstance(part, str)]))
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": next(urls)}}
        for part in parts
    ]


async def _encoded(images: Sequence[np.ndarray]) -> list[str]:
    if sum(image.size for image in images) > INLINE_PIXELS:
        return await asyncio.to_thread(lambda: [encode_image(image) for image in images])
    return [encode_image(image) for image in images]


def _sampling_fields(sampling: Sampling | None, budget: str) -> dict[str, Any]:
    """What differs from the defaults. Raises InputError for `until`, which is a function of this process."""
    if sampling is None:
        return {}
    if sampling.until is not None:
        raise InputError("client.sampling: until cannot be sent to a server")
    plain = Sampling()
    names = {"max_new_tokens": budget}
    return {
        names.get(field.name, field.name): value
        for field in dataclasses.fields(Sampling)
        if (value := getattr(sampling, field.name)) != getattr(plain, field.name)
    }


def _retry_after(response: httpx.Response) -> float:
    try:
        return min(30.0, max(0.05, float(response.headers.get("retry-after", "1"))))
    except ValueError:  # a date
        return 1.0


def _error(response: httpx.Response) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        found = response.json()
        if isinstance(found, dict) and isinstance(found.get("error"), dict):
            return found["error"]
    return {}


def _error_message(response: httpx.Response) -> str:
    return _error(response).get("message") or f"status {response.status_code}"


def _error_code(response: httpx.Response) -> str | None:
    return _error(response).get("code")
