"""A run's policy on policy servers of ours (`serve`), in other processes and on other hosts, behind one learner.

    servers = PolicyServers(["http://10.0.0.2:8000", "http://10.0.0.3:8000"], demands, sampling, model=..., api_key=...)
    servers.set_weights(parameters, 1)                      # to each of them
    async with servers.session(seed) as session: ...        # where the fewest are open

Each set of weights has a word of its own, which a server states with its policy, its sessions and every answer. A
server whose word is not that of the last weights is handed these, and the pattern of answers, before anything is
sampled there: one that was killed and came back, one that was away meanwhile, one that somebody else gave others. What
an answer's tokens record as their version is thus always of this run.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from tars_jax import InputError
from tars_jax.inference.constraint import constraint_name
from tars_jax.inference.http_client import ServerClient, ServerSession, open_server_client, packed
from tars_jax.inference.policy_client import PolicyUnavailable, RequestCounts, ServedCounts
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.inference.serving_weights import WeightFolders, without_values
from tars_jax.model.policy import Parameters

AWAY_SECONDS = 5.0  # until a server that was away is asked again
LEASE_SECONDS = 900.0  # that an environment may take for a turn
LOOK_SECONDS = 0.05  # between two looks at a server that is being handed weights
log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Demands:
    """Demands on what a server says of its policy (GET /v1/rl/policy), so that its answers are like this process's."""

    vocabulary: int
    stop: int
    image: int | None
    max_length: int  # tokens of a window; more are as good
    precision: str = "float"
    routes: bool = False  # must be recorded

    def check(self, address: str, said: Mapping[str, Any]) -> None:
        """Raises InputError for a server that is another's, or of another policy."""
        for name in ("vocabulary", "stop", "image", "precision"):
            if said.get(name) != getattr(self, name):
                raise InputError(
                    f"{address} must serve a policy whose {name} is {getattr(self, name)!r}; it is {said.get(name)!r}"
                )
        if said["max_length"] < self.max_length:
            raise InputError(
                f"{address} must have --config.engine.max_length={self.max_length} or more; got {said['max_length']}"
            )
        if self.routes and not said["records_routes"]:
            raise InputError(
                f"{address} must have --config.engine.record_routes=True, as routes are replayed; got False"
            )


@dataclasses.dataclass(frozen=True)
class _Weights:
    """Weights that every server is to sample with."""

    word: str
    version: int
    where: bytes | Path  # as they go over HTTP, or the folder where they lie

    async def hand_over(self, client: ServerClient) -> None:
        if isinstance(self.where, Path):
            await client.load_weights(str(self.where), self.version, self.word)
        else:
            await client.push_packed(self.where, self.version, self.word)


class _Server:
    """A server as this run knows it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.sessions = 0  # of ours that are open
        self.asked_at = -float("inf")  # when it was found away, or last asked since
        self.away = False
        self._handing = threading.Lock()  # of whoever hands over weights: the learner's thread or the rollouts'

    @property
    def later(self) -> bool:
        """Whether the server was found away just now."""
        return self.away and time.monotonic() < self.asked_at + AWAY_SECONDS

    def found(self, away: bool) -> None:
        if away != self.away:
            log.warning("the policy server %s is %s", self.address, "away" if away else "back")
        self.away, self.asked_at = away, time.monotonic()

    def closed_one(self) -> None:
        self.sessions -= 1

    @contextlib.asynccontextmanager
    async def handing(self) -> AsyncIterator[None]:
        """Alone, of all threads."""
        while not self._handing.acquire(blocking=False):
            await asyncio.sleep(LOOK_SECONDS)
        try:
            yield
        finally:
            self._handing.release()


class PolicyServers:
    """Inference servers: the source of the rollouts' sessions, and the destination of new weights."""

    def __init__(
        self,
        addresses: Sequence[str],
        demands: Demands,
        sampling: Sampling,
        *,
        pattern: str = "",
        api_key: str = "",
        patience: float = 120.0,
        folders: WeightFolders | None = None,
    ) -> None:
        """
        Args:
            sampling: of every answer.
            pattern: that answers match (Rust's `regex` syntax), as the servers' tokens spell it; "": any.
            patience: seconds for one answer, or for a server to take weights.
            folders: for weights, where the servers find them under the same path and below their `checkpoint_root`.
                None: they go over HTTP.

        Raises InputError for an address where another server answers, or one of another policy, and where none answers
        at all. One that is away is waited for.
        """
        if len(set(addresses)) < len(addresses) or not addresses:
            raise InputError(f"server.address must be one or more addresses, each once; got {list(addresses)}")
        self.version = 0
        self._demands, self._api_key, self._patience, self._folders = demands, api_key, patience, folders
        self._pattern = pattern
        self._constraint = constraint_name(pattern) if pattern else None
        self._sampling = dataclasses.replace(sampling, constraint=self._constraint)
        self._servers = [_Server(address) for address in addresses]
        self._weights: _Weights | None = None
        self._words: set[str] = set()  # of all weights of this run
        self._counts = RequestCounts()
        failures = asyncio.run(self._of_each(self._knock))
        if len(failures) == len(self._servers):
            raise InputError(f"server.address must be where policy servers answer; {'; '.join(failures)}")

    @property
    def sessions(self) -> Self:
        """These servers, as the source of sessions for `engine_player`."""
        return self

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[_RunSession]:
        """A session on the server that has the fewest. Raises PolicyUnavailable where none can be had."""
        async with contextlib.AsyncExitStack() as stack:
            yield await self._opened(seed, stack)

    def set_weights(self, parameters: Parameters, version: int) -> None:
        """Hands over weights that this process can read whole; returns when every server that answers has them.

        One that is away gets them when it is back. Raises InputError where one does not take them.
        """
        where = packed(without_values(parameters)) if self._folders is None else self._folders.written(parameters)
        weights = _Weights(secrets.token_hex(8), version, where)
        self._words.add(weights.word)
        self._weights = weights
        asyncio.run(self._of_each(self._bring_up_to_date))
        self.version = version
        if self._folders is not None:
            self._folders.forget()

    def statistics(self) -> ServedCounts:
        return self._counts.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The servers go on; what they hold of this run ends with its leases."""

    async def _of_each(self, work: Callable[[_Server], Awaitable[None]]) -> list[str]:
        """Does the work at every server that was not found away just now; returns why some could not be reached."""

        async def tried(server: _Server) -> str:
            try:
                await work(server)
            except PolicyUnavailable as error:
                server.found(away=True)
                return str(error)
            server.found(away=False)
            return ""

        servers = [server for server in self._servers if not server.later]
        return [words for words in await asyncio.gather(*map(tried, servers)) if words]

    async def _knock(self, server: _Server) -> None:
        async with self._client(server):
            pass

    async def _bring_up_to_date(self, server: _Server) -> None:
        async with self._client(server) as client:
            await self._hand_over(server, client)

    async def _opened(self, seed: int, stack: contextlib.AsyncExitStack) -> _RunSession:
        failures = []
        for server in sorted(self._servers, key=lambda each: (each.later, each.sessions)):
            if server.away:
                server.found(away=True)  # whoever comes now need not try it, too
            tried = contextlib.AsyncExitStack()
            try:
                async with tried:
                    session = await self._open_at(server, seed, tried)
                    stack.push_async_exit(tried.pop_all())
            except PolicyUnavailable as error:
                server.found(away=True)
                failures.append(str(error))
            else:
                server.found(away=False)
                return session
        raise PolicyUnavailable("; ".join(failures))

    async def _open_at(self, server: _Server, seed: int, stack: contextlib.AsyncExitStack) -> _RunSession:
        server.sessions += 1
        stack.callback(server.closed_one)
        client = await stack.enter_async_context(self._client(server))
        if client.policy_info["weights"] != self._current.word:
            await self._hand_over(server, client)
        session = await stack.enter_async_context(client.session(seed, LEASE_SECONDS))
        return _RunSession(self, server.address, session)

    @contextlib.asynccontextmanager
    async def _client(self, server: _Server) -> AsyncIterator[ServerClient]:
        """Raises InputError where another policy answers."""
        async with open_server_client(server.address, self._api_key, self._patience) as client:
            self._demands.check(server.address, client.policy_info)
            yield client

    @property
    def _current(self) -> _Weights:
        if self._weights is None:
            raise RuntimeError("set_weights comes before sessions")
        return self._weights

    async def _hand_over(self, server: _Server, client: ServerClient) -> None:
        """The weights of the moment, unless the server has them."""
        async with server.handing():
            weights = self._current
            if await client.weights() == weights.word:
                return
            if self._constraint is not None:
                await client.put_constraint(self._constraint, self._pattern)
            await weights.hand_over(client)


@dataclasses.dataclass(frozen=True)
class _RunSession:
    """A context on one of the servers."""

    servers: PolicyServers
    address: str
    session: ServerSession

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        """Raises PolicyUnavailable, too, where somebody else has given the server weights."""
        return await self._counted(tokens, images, restart, self.servers._sampling)

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Sampled:
        """Free text of at most so many tokens, as `Session.remember`."""
        free = dataclasses.replace(self.servers._sampling, max_new_tokens=most, constraint=None)
        return await self._counted(tokens, [], False, free)

    async def _counted(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], restart: bool, sampling: Sampling
    ) -> Sampled:
        return await self.servers._counts.count(self._answer(tokens, images, restart, sampling))

    async def _answer(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], restart: bool, sampling: Sampling
    ) -> Sampled:
        sampled = await self.session.respond(tokens, images, restart=restart, sampling=sampling)
        if self.session.weights not in self.servers._words:
            raise PolicyUnavailable(f"{self.address} has been given weights that are not of this run")
        return sampled
