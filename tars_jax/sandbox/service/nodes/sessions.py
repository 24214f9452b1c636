"""Sessions of the sandbox service of this machine as the sandboxes of a node."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.config import Owner
from tars_jax.sandbox.service.kinds import Kind, Opening
from tars_jax.sandbox.service.nodes.sandboxes import LEASE, Spec, spec_of
from tars_jax.sandbox.sessions.leased_session import LeasedSession
from tars_jax.web.protocol import RequestError, RequestFields

READY = "(ready)"  # who has the sessions that are kept ready
LOOK_S = 0.5  # between two looks whether one of them is still there


class ServiceSession:
    """A `Sandbox`: a session of the service, which an owner is given."""

    def __init__(self, kind: Kind, session: LeasedSession) -> None:
        self._kind, self.session = kind, session
        self.id = session.id

    @property
    def over(self) -> bool:
        """Whether the service has ended it: released, or its lease ran out."""
        return self.id not in self._kind.sessions

    async def ended(self) -> None:
        while not (self.over or getattr(self.session, "failure", None)):
            await asyncio.sleep(LOOK_S)

    async def check(self) -> None:
        if self.over:
            raise SandboxFailure("node", f"the session {self.id} has ended")
        if isinstance(self.session, ComputerSession):
            await self.session.computer.machine.run(["/bin/true"], b"", timeout_s=10)

    def give(self, owner: str, seconds: float) -> str:
        """Gives the session to an owner, with a lease of its own; returns its new token. Raises SandboxFailure,
        InputError."""
        try:
            return self._kind.sessions.hand_over(self.id, owner, seconds)
        except SessionEnded as error:
            raise SandboxFailure("node", str(error)) from error

    async def close(self) -> None:
        with contextlib.suppress(SessionEnded):
            await self._kind.sessions.release(self.id)


class ServiceOpener:
    """An `Opener` of sessions of the kinds of a service; it starts and ends them."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}

    @property
    def kinds(self) -> list[str]:
        return sorted(self._kinds)

    async def __aenter__(self) -> Self:
        """Raises InputError where a kind cannot be had on this machine."""
        async with contextlib.AsyncExitStack() as stack:
            for kind in self._kinds.values():
                await stack.enter_async_context(kind.running())
                if why := getattr(kind.sessions, "unavailable", ""):
                    raise InputError(f"kinds of a node must be those that its machine has; got {kind.name}: {why}")
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def open(self, spec: Spec) -> ServiceSession:
        """Raises SandboxFailure, InputError for what cannot be."""
        value = json.loads(spec.text)
        fields = RequestFields(value["body"])
        name = fields.text("kind")
        if name not in self._kinds:
            raise InputError(f"kind must be one of {', '.join(self.kinds)}; got {name!r:.80}")
        kind = self._kinds[name]
        try:
            opening = kind.opening(fields, Owner(value["owner"] or READY, ""), kind.most_lease_s)
            fields.done()
            session, _ = await opening(None)
        except RequestError as error:
            raise InputError(error.message) from error
        return ServiceSession(kind, session)

    def find(self, id: str) -> ServiceSession:
        """Finds a session that the service has opened by itself, a fork. Raises SessionEnded."""
        for kind in self._kinds.values():
            if id in kind.sessions:
                return ServiceSession(kind, kind.sessions.get(id))
        raise SessionEnded(id)


class PooledKind:
    """A `Kind` whose openings take a session from `take`, which may have one ready; all else is as of `kind`."""

    def __init__(self, kind: Kind, take: Callable[[Spec, str, float], Awaitable[tuple[LeasedSession, str]]]) -> None:
        self._kind, self._take = kind, take

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    def opening(self, fields: RequestFields, owner: Owner, seconds: float) -> Opening:
        self._kind.opening(fields, owner, seconds)  # raises RequestError for what cannot be
        body = {name: value for name, value in fields.values.items() if name not in LEASE}
        spec = spec_of({**body, "kind": self._kind.name}, owner.name)
        return lambda _: self._take(spec, owner.name, seconds)
