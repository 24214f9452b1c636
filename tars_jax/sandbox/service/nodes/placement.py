"""Which node a claimed sandbox is on. All that must last is a lease; what is kept here are guesses of free places.

    node.NAME.TOKEN    held by a node while its heartbeats come; place: its address; data: its status
    drain.NODE         held by the operator while a node is to take no more
    box.WORD.N         held by whoever claimed a sandbox; place: the node's id

So several managers over one store know the same, and a manager that was killed knows it again. A node itself refuses
what is more than it has places.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.leases import Lease, LeaseClient, LeaseEnded, LeaseHeld, Leases
from tars_jax.sandbox.service.leases.lease import MOST_SECONDS, require_seconds

log = logging.getLogger(__name__)
NODE, DRAIN, BOX = "node.", "drain.", "box."
POLL_S = 0.05  # while nothing is free, until a place is told to be
NODE_WAIT_S = 1.0  # for a place that a node turns out not to have; others may have one
NODE_ANSWER_S = 30.0  # to open a sandbox
OPENING_S = 3.0  # that a lease has while its sandbox opens, again and again
AVOIDED_S = 1.0  # a node that did not answer, or could open nothing


@dataclasses.dataclass(frozen=True)
class Placed:
    """A claimed sandbox: its lease, and the node that has it."""

    lease: Lease
    address: str

    def to_json(self) -> dict[str, Any]:
        return {**vars(self.lease), "address": self.address}


@dataclasses.dataclass
class _View:
    """What this manager believes of a node."""

    status: Mapping[str, Any]
    told: str = ""  # the data of its lease that this comes from
    reserved: int = 0  # claims under way, which its status may not have in it
    avoided_until: float = 0.0


class Placement:
    """Places claims on nodes and follows them. Nodes are called with `key`."""

    def __init__(self, leases: Leases, key: str) -> None:
        self._leases, self._key = leases, key
        self._views: dict[str, _View] = {}
        self._links: dict[str, LeaseClient] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in self._ending:
            task.cancel()
        for link in self._links.values():
            await link.__aexit__()

    # nodes

    async def register(self, id: str, address: str, seconds: float, status: Mapping[str, Any]) -> Lease:
        _require_node(id)
        return await self._leases.claim(id, id, seconds, place=address, once="join", data=_data(status))

    async def heartbeat(
        self, id: str, fence: int, status: Mapping[str, Any], sessions: Mapping[str, int]
    ) -> dict[str, Any]:
        """Renews a node; which of its sessions have ended, and whether it is to drain. Raises LeaseEnded."""
        _require_node(id)
        data = _data(status)
        await self._leases.renew(id, fence, data=data)
        self._learn(id, status, data)
        ended = []
        for session, given in sessions.items():
            try:
                if (await self._leases.look_up(session)).fence != given:
                    ended.append(session)
            except LeaseEnded:
                ended.append(session)
        return {"ended": ended, "draining": await self._draining(id)}

    async def nodes(self) -> list[dict[str, Any]]:
        """Those that live."""
        drained = {lease.id.removeprefix(DRAIN) for lease in await self._leases.list(DRAIN)}
        return [
            {**json.loads(lease.data), "id": lease.id, "address": lease.place, "draining": lease.id in drained}
            for lease in await self._leases.list(NODE)
        ]

    async def drain(self, id: str) -> None:
        """A node takes no more claims, keeps nothing ready, and ends when its last session has. Twice is once."""
        _require_node(id)
        await self._leases.look_up(id)
        await self._leases.claim(DRAIN + id, "operator", MOST_SECONDS, once="drain")

    async def _draining(self, id: str) -> bool:
        try:
            await self._leases.look_up(DRAIN + id)
        except LeaseEnded:
            return False
        return True

    # sandboxes

    async def claim(self, spec: str, holder: str, seconds: float, deadline_s: float, once: str) -> Placed:
        """A sandbox for `seconds`, from when it is ready, or a moment more. The same claim again gets the same one
        while that lives.

        Raises QuotaExceeded when no node had a place within the deadline, SandboxFailure when none could open one,
        InputError when no living node knows the spec at the deadline.
        """
        require_seconds(seconds)
        if not once:
            raise InputError("once must be a word that this claim alone has; got none")
        until = time.monotonic() + deadline_s
        word = hashlib.sha256(f"{holder}\0{once}".encode()).hexdigest()[:24]
        live = await self._leases.list(f"{BOX}{word}.")
        number = int(live[0].id.rpartition(".")[2]) if live else 0
        last: Exception | None = None
        while True:
            id = f"{BOX}{word}.{number}"
            node = await self._node_of(id)
            if node is None:
                node, last = await self._choose(spec, last)
            if node is not None:
                view = self._views[node]
                view.reserved += 1
                try:
                    return await self._place(id, node, spec, holder, seconds, once)
                except (LeaseEnded, LeaseHeld) as error:  # an earlier try of the same claim, which is over
                    number += 1
                    last = last or error
                    continue
                except (SandboxFailure, QuotaExceeded) as error:
                    log.info("node %s gave no %s: %s", node, spec, error)
                    last = error
                    view.avoided_until = time.monotonic() + AVOIDED_S
                    number += 1
                finally:
                    view.reserved -= 1
            if time.monotonic() >= until:
                raise last or QuotaExceeded(f"no node had a place for {spec!r} in {deadline_s:g} s", own=False)
            await asyncio.sleep(POLL_S)

    async def _node_of(self, id: str) -> str | None:
        """Where the lease of a claim that is made again already is."""
        try:
            node = (await self._leases.look_up(id)).place
        except LeaseEnded:
            return None
        self._views.setdefault(node, _View({}))
        return node

    async def _choose(self, spec: str, last: Exception | None) -> tuple[str | None, Exception | None]:
        """A node that has one ready, or the one with the most free places; else why there is none."""
        now, found, known = time.monotonic(), list[tuple[int, int, str]](), False
        drained = {lease.id.removeprefix(DRAIN) for lease in await self._leases.list(DRAIN)}
        alive = await self._leases.list(NODE)
        for lease in alive:
            view = self._views.get(lease.id)
            if view is None or view.told != lease.data:
                view = self._learn(lease.id, json.loads(lease.data), lease.data)
            knows = spec in view.status.get("specs", ())
            known = known or knows
            free = view.status.get("free", 0) - view.reserved
            if knows and lease.id not in drained and free > 0 and view.avoided_until <= now:
                ready = view.status.get("ready", {}).get(spec, 0) - view.reserved
                found.append((int(ready > 0), free, lease.id))
        for id in set(self._views) - {lease.id for lease in alive}:
            if not self._views[id].reserved:
                del self._views[id]
        if found:
            return max(found)[2], last
        if not known:
            return None, InputError(f"spec must be one that a node knows; got {spec!r:.80} and {len(alive)} nodes")
        full = QuotaExceeded(f"no node of {len(alive)} has a place for {spec!r}", own=False)
        return None, last if isinstance(last, SandboxFailure) else full

    async def _place(self, id: str, node: str, spec: str, holder: str, seconds: float, once: str) -> Placed:
        """The lease first, so that a kill between the two leaves a lease that ends, and no sandbox without one."""
        lease = await self._leases.claim(id, holder, max(seconds, OPENING_S), place=node, once=once)
        holding = asyncio.create_task(self._hold(lease))
        try:
            address = (await self._leases.look_up(lease.place)).place
            values = {"id": id, "fence": lease.fence, "spec": spec, "deadline_s": NODE_WAIT_S}
            link = self._link(address)
            self._learn(lease.place, await link.call("POST", "/v1/node/bind", values, id=id, answer_s=NODE_ANSWER_S))
            return Placed(await self._leases.renew(id, lease.fence, seconds), address)
        except LeaseEnded as error:
            await self._give_up(id, lease)
            if error.id == lease.place:
                raise SandboxFailure("node", f"{lease.place} died before it had opened the sandbox") from error
            raise
        except SandboxFailure as failure:
            await self._give_up(id, lease)
            kind = "node" if failure.kind == "service" else failure.kind
            raise SandboxFailure(kind, f"{lease.place}: {failure}") from failure
        except asyncio.CancelledError:
            raise  # the lease ends by its time, unless whoever asked asks again
        except BaseException:
            await self._give_up(id, lease)
            raise
        finally:
            holding.cancel()

    async def _hold(self, lease: Lease) -> None:
        """While its sandbox opens; not for that long at once, so that a killed manager leaves no long lease."""
        with contextlib.suppress(LeaseEnded, SandboxFailure):
            while True:
                await asyncio.sleep(OPENING_S / 3)
                await self._leases.renew(lease.id, lease.fence, OPENING_S)

    async def _give_up(self, id: str, lease: Lease) -> None:
        await self._leases.release(id, lease.fence)
        self._end_behind(lease.place, id, lease.fence)

    async def look_up(self, id: str) -> Placed:
        """Raises LeaseEnded; SandboxFailure("node") where its node has died."""
        lease = await self._leases.look_up(_require_box(id))
        return Placed(lease, await self._address_of(lease))

    async def renew(self, id: str, fence: int, seconds: float | None) -> Placed:
        """Raises as `look_up`."""
        lease = await self._leases.renew(_require_box(id), fence, seconds)
        return Placed(lease, await self._address_of(lease))

    async def release(self, id: str, fence: int) -> bool:
        """Whether it was held until now. Its sandbox is closed behind this call."""
        try:
            place = (await self._leases.look_up(_require_box(id))).place
        except LeaseEnded:
            return False
        released = await self._leases.release(id, fence)
        if released:
            self._end_behind(place, id, fence)
        return released

    async def _address_of(self, lease: Lease) -> str:
        try:
            return (await self._leases.look_up(lease.place)).place
        except LeaseEnded as error:
            raise SandboxFailure("node", f"{lease.place}, which had {lease.id}, does not answer any more") from error

    def _end_behind(self, node: str, id: str, fence: int) -> None:
        """Tells a node; where that fails, its next heartbeat hears it."""

        async def end() -> None:
            try:
                address = (await self._leases.look_up(node)).place
                answer = await self._link(address).call("POST", "/v1/node/end", {"id": id, "fence": fence}, answer_s=5)
                self._learn(node, answer)
            except (LeaseEnded, SandboxFailure, InputError) as error:
                log.info("node %s was not told of the end of %s: %s", node, id, error)

        task = asyncio.create_task(end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _learn(self, node: str, status: Mapping[str, Any], told: str | None = None) -> _View:
        view = self._views.setdefault(node, _View(status))
        view.status = status
        view.told = view.told if told is None else told
        return view

    def _link(self, address: str) -> LeaseClient:
        if address not in self._links:
            self._links[address] = LeaseClient(address, self._key, patience_s=0.0)
        return self._links[address]


def _data(status: Mapping[str, Any]) -> str:
    return json.dumps(status, separators=(",", ":"))


def _require_node(id: str) -> None:
    if not isinstance(id, str) or not id.startswith(NODE):
        raise InputError(f"id must be one of a node, {NODE}NAME.TOKEN; got {id!r:.80}")


def _require_box(id: str) -> str:
    if not isinstance(id, str) or not id.startswith(BOX):
        raise InputError(f"id must be one of a sandbox, {BOX}...; got {id!r:.80}")
    return id
