"""Which node a claimed session is on. All that must last is a lease; what is kept here are guesses of free places.

    node.NAME.TOKEN    held by a node while its heartbeats come; place: its address; data: its status
    drain.NODE         held by the operator while a node is to take no more
    box.WORD.N         held by the owner of a session; place: the node's id; data: the session's id, what was asked for

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
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.sandbox.service.leases import Lease, LeaseClient, LeaseEnded, LeaseHeld, Leases
from tars_jax.sandbox.service.leases.lease import MOST_SECONDS
from tars_jax.sandbox.service.nodes.sandboxes import Spec

log = logging.getLogger(__name__)
NODE, DRAIN, BOX = "node.", "drain.", "box."
POLL_S = 0.05  # while nothing is free, until a place is told to be
NODE_WAIT_S = 1.0  # for a place that a node turns out not to have; others may have one
NODE_ANSWER_S = 120.0  # to open a session
OPENING_S = 3.0  # that a lease has while its session opens, again and again
KEPT_S = 120.0  # that it has when a node has died: so long it is told why the session is gone
NO_NODE_S = 10.0  # for a node that has the kind at all
AVOIDED_S = 1.0  # a node that did not answer, or could open nothing


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A session that somebody asks for."""

    kind: str
    spec: Spec
    owner: str
    seconds: float  # of its lease with the node's service
    quota: int | None = None  # of sessions of this owner; None: no end
    node: str | None = None  # the only one that can have it

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.spec.text}\0{self.seconds}".encode()).hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Placed:
    """A session's lease, and the node that has it."""

    lease: Lease
    address: str


class _NoNode(SandboxFailure):
    """There is no node that could have a session of this kind."""


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
        self._boxes: dict[str, str] = {}  # by session; what is missing is looked up among the leases
        self._claiming: dict[str, set[str]] = {}  # by owner: words of claims under way
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
        self, id: str, fence: int, status: Mapping[str, Any], claims: Mapping[str, int], over: Mapping[str, int]
    ) -> dict[str, Any]:
        """Renews a node and its claims; which of those have ended, and whether it is to drain. Raises LeaseEnded.

        `over`: claims whose sessions have ended by themselves.
        """
        _require_node(id)
        data = _data(status)
        await self._leases.renew(id, fence, data=data)
        self._learn(id, status, data)
        for claim, given in over.items():
            await self._leases.release(claim, given)
        ended = []
        for claim, given in claims.items():
            try:
                lease = await self._leases.look_up(claim)
                if lease.fence != given:
                    ended.append(claim)
                elif lease.left_s < lease.seconds / 2:
                    await self._leases.renew(claim, given)
            except LeaseEnded:
                ended.append(claim)
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

    # sessions

    async def claim(self, wanted: Wanted, deadline_s: float, once: str) -> dict[str, Any]:
        """A session as the node's service tells of it, and its token. The same claim again gets the same one while that
        lives.

        Raises QuotaExceeded when the owner has as many as it may, or no node had a place within the deadline;
        SandboxFailure when none could open one; InputError for what cannot be, and for a word `once` of another claim.
        """
        word = hashlib.sha256(f"{wanted.owner}\0{once}".encode()).hexdigest()[:24]
        under_way = self._claiming.setdefault(wanted.owner, set())
        under_way.add(word)
        try:
            return await self._claim(wanted, deadline_s, word, once)
        finally:
            under_way.discard(word)
            if not under_way:
                self._claiming.pop(wanted.owner, None)

    async def _claim(self, wanted: Wanted, deadline_s: float, word: str, once: str) -> dict[str, Any]:
        began = time.monotonic()
        live = await self._leases.list(f"{BOX}{word}.")
        if live and _read(live[0])["asked"] != wanted.digest:
            raise InputError("once must be an idempotency key of this request alone; got that of another")
        if not live:
            await self._require_quota(wanted.owner, wanted.quota, 1, word)
        number = int(live[0].id.rpartition(".")[2]) if live else 0
        last: Exception | None = None
        while True:
            id = f"{BOX}{word}.{number}"
            node = await self._node_of(id)
            if node is None:
                node, last = await self._choose(wanted, last)
            if node is not None:
                view = self._views[node]
                view.reserved += 1
                try:
                    return await self._place(id, node, wanted, once)
                except (LeaseEnded, LeaseHeld) as error:  # an earlier try of the same claim, which is over
                    number += 1
                    last = last or error
                    continue
                except (SandboxFailure, QuotaExceeded) as error:
                    log.info("node %s gave no %s: %s", node, wanted.kind, error)
                    last = error
                    view.avoided_until = time.monotonic() + AVOIDED_S
                    number += 1
                finally:
                    view.reserved -= 1
            waited_s = time.monotonic() - began
            if waited_s >= deadline_s or (waited_s >= NO_NODE_S and isinstance(last, _NoNode)):
                raise last or QuotaExceeded("no node had a place until the deadline", own=False)
            await asyncio.sleep(POLL_S)

    async def _require_quota(self, owner: str, quota: int | None, more: int, word: str = "") -> None:
        """`word`: of the claim that asks, which does not count.

        Counted are sessions of living nodes, and claims under way: of several managers each counts its own.
        """
        if quota is None:
            return
        alive = {lease.id for lease in await self._leases.list(NODE)}
        held = [lease for lease in await self._leases.list(BOX) if lease.holder == owner and lease.place in alive]
        words = {lease.id.removeprefix(BOX).rpartition(".")[0] for lease in held}
        own = len((words | self._claiming.get(owner, set())) - {word})
        if own + more > quota:
            raise QuotaExceeded(f"{owner} has {own} sessions, of {quota}; release one first", own=True)

    async def _node_of(self, id: str) -> str | None:
        """Where the lease of a claim that is made again already is."""
        try:
            node = (await self._leases.look_up(id)).place
        except LeaseEnded:
            return None
        self._views.setdefault(node, _View({}))
        return node

    async def _choose(self, wanted: Wanted, last: Exception | None) -> tuple[str | None, Exception | None]:
        """A node that has one ready, or the one with the most free places; else why there is none."""
        now, found, known = time.monotonic(), list[tuple[int, int, str]](), False
        drained = {lease.id.removeprefix(DRAIN) for lease in await self._leases.list(DRAIN)}
        alive = await self._leases.list(NODE)
        for lease in alive:
            view = self._views.get(lease.id)
            if view is None or view.told != lease.data:
                view = self._learn(lease.id, json.loads(lease.data), lease.data)
            serves = wanted.kind in view.status.get("kinds", ()) and wanted.node in (None, lease.id)
            known = known or serves
            free = view.status.get("free", 0) - view.reserved
            if serves and lease.id not in drained and free > 0 and view.avoided_until <= now:
                ready = view.status.get("ready", {}).get(wanted.spec.key, 0) - view.reserved
                found.append((int(ready > 0), free, lease.id))
        for id in set(self._views) - {lease.id for lease in alive}:
            if not self._views[id].reserved:
                del self._views[id]
        if found:
            return max(found)[2], last
        if not known:
            words = f"no node of {len(alive)} has sessions of kind {wanted.kind!r:.80}"
            return None, _NoNode("node", words)
        full = QuotaExceeded(f"no node of {len(alive)} has a free place", own=False)
        return None, last if isinstance(last, SandboxFailure) else full

    async def _place(self, id: str, node: str, wanted: Wanted, once: str) -> dict[str, Any]:
        """The lease first, so that a kill between the two leaves a lease that ends, and no session without one."""
        data = {"asked": wanted.digest, "session": ""}
        lease = await self._leases.claim(id, wanted.owner, OPENING_S, place=node, once=once, data=_data(data))
        holding = asyncio.create_task(self._hold(lease))
        try:
            address = (await self._leases.look_up(lease.place)).place
            values = {
                "id": id, "fence": lease.fence, "spec": wanted.spec.text, "owner": wanted.owner,
                "seconds": wanted.seconds, "deadline_s": NODE_WAIT_S,
            }  # fmt: skip
            link = self._link(address)
            answer = await link.call("POST", "/v1/node/bind", values, id=id, answer_s=NODE_ANSWER_S)
            self._learn(lease.place, answer["status"])
            await self._settle(lease, answer["session"]["id"], wanted.digest)
            return dict(answer["session"])
        except LeaseEnded as error:
            await self._give_up(lease)
            if error.id == lease.place:
                raise SandboxFailure("node", f"{lease.place} died before it had opened the session") from error
            raise
        except SandboxFailure as failure:
            await self._give_up(lease)
            kind = "node" if failure.kind == "service" else failure.kind
            raise SandboxFailure(kind, f"{lease.place}: {failure}") from failure
        except asyncio.CancelledError:
            raise  # the lease ends by its time, unless whoever asked asks again
        except BaseException:
            await self._give_up(lease)
            raise
        finally:
            holding.cancel()

    async def _settle(self, lease: Lease, session: str, digest: str) -> None:
        """The lease is that of a session from now on."""
        data = _data({"asked": digest, "session": session})
        await self._leases.renew(lease.id, lease.fence, KEPT_S, data=data)
        self._boxes[session] = lease.id

    async def claim_forks(self, placed: Placed, quota: int | None, count: int) -> list[Lease]:
        """Leases for forks of a session, on its node. Raises QuotaExceeded."""
        await self._require_quota(placed.lease.holder, quota, count)
        holder, node = placed.lease.holder, placed.lease.place
        names = [f"{BOX}{secrets.token_hex(12)}.0" for _ in range(count)]
        return [await self._leases.claim(name, holder, NODE_ANSWER_S, place=node, once=name[:64]) for name in names]

    async def settle_forks(self, leases: Sequence[Lease], sessions: Sequence[str]) -> None:
        """They have been opened; none: they have not."""
        for lease, session in zip(leases, sessions, strict=False):
            await self._settle(lease, session, "")
        for lease in leases[len(sessions) :]:
            await self._give_up(lease)

    async def _hold(self, lease: Lease) -> None:
        """While its sandbox opens; not for that long at once, so that a killed manager leaves no long lease."""
        with contextlib.suppress(LeaseEnded, SandboxFailure):
            while True:
                await asyncio.sleep(OPENING_S / 3)
                await self._leases.renew(lease.id, lease.fence, OPENING_S)

    async def _give_up(self, lease: Lease) -> None:
        await self._leases.release(lease.id, lease.fence)
        self._end_behind(lease.place, lease.id, lease.fence)

    async def of_session(self, session: str) -> Lease:
        """The lease of a session, whether its node lives or not. Raises SessionEnded."""
        if session not in self._boxes:
            leases = await self._leases.list(BOX)
            self._boxes = {_read(lease)["session"]: lease.id for lease in leases}
        try:
            lease = await self._leases.look_up(self._boxes.get(session, f"{BOX}none.0"))
        except LeaseEnded as error:
            self._boxes.pop(session, None)
            raise SessionEnded(session) from error
        return lease

    async def place_of(self, lease: Lease) -> Placed:
        """Raises SandboxFailure("node") where its node has died."""
        return Placed(lease, await self._address_of(lease))

    async def release(self, lease: Lease) -> None:
        """Its session is closed behind this call, where it has not been."""
        self._boxes.pop(_read(lease)["session"], None)
        if await self._leases.release(lease.id, lease.fence):
            self._end_behind(lease.place, lease.id, lease.fence)

    async def addresses(self) -> dict[str, str]:
        """Of the nodes that live."""
        return {lease.id: lease.place for lease in await self._leases.list(NODE)}

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
                self._learn(node, answer["status"])
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


def _read(lease: Lease) -> dict[str, Any]:
    """What is known of a claim's session, {asked, session}; both are empty while it is opened."""
    return {"asked": "", "session": "", **(json.loads(lease.data) if lease.data else {})}
