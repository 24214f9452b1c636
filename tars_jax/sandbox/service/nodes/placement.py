"""Placement of sessions on nodes, from what all nodes have just said: pure functions."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Mapping

from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure


@dataclasses.dataclass(frozen=True)
class NodeStatus:
    """The status of a node, as it tells a manager that asks for an owner."""

    id: str
    name: str
    capacity: int  # sessions at once
    free: int  # places that a session of any spec can have
    ready: Mapping[str, int]  # sessions that were opened ahead, by the keys of their specs
    kinds: Collection[str]
    draining: bool
    keys: Collection[str]  # that were asked for: idempotency keys of the owner's sessions, those under way included
    sessions: int  # of the owner, those that have no key: forks


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A session that somebody asks for."""

    kind: str
    spec_key: str
    owner: str
    key: str  # idempotency key
    node: str | None = None  # the only one that can have it


class NoNode(SandboxFailure):
    """No node could have a session of this kind."""


def choose(wanted: Wanted, nodes: Collection[NodeStatus], asked: Mapping[str, int], avoided: Collection[str]) -> str:
    """The node that knows the key, else one that has a session ready, else the one with most places.

    Args:
        asked: openings under way at each node, which it may not have counted.
        avoided: nodes that have just refused.

    Raises QuotaExceeded where no place is free, NoNode.
    """
    for node in nodes:
        if wanted.key in node.keys:
            return node.id
    fit = [node for node in nodes if wanted.kind in node.kinds and wanted.node in (None, node.id)]
    if not fit:
        raise NoNode("node", f"no node of {len(nodes)} has sessions of kind {wanted.kind!r:.80}")
    able = [node for node in fit if node.free > 0 and not node.draining and node.id not in avoided]
    if not able:
        raise QuotaExceeded(f"no node of {len(nodes)} has a free place", own=False)

    def rank(node: NodeStatus) -> tuple[bool, int, bytes]:
        under_way = asked.get(node.id, 0)
        return node.ready.get(wanted.spec_key, 0) > under_way, node.free - under_way, _weight(wanted, node.id)

    return max(able, key=rank).id


def _weight(wanted: Wanted, node: str) -> bytes:
    """Rendezvous hashing: of equals, two managers that are asked for one key choose the same."""
    return hashlib.sha256(f"{wanted.owner}\0{wanted.key}\0{node}".encode()).digest()


def require_quota(
    owner: str, quota: int, nodes: Collection[NodeStatus], claiming: Collection[str], more: int = 1
) -> None:
    """Raises QuotaExceeded where so many more sessions are too many; `claiming`: keys of openings under way."""
    keys = {key for node in nodes for key in node.keys}.union(claiming)
    own = len(keys) + sum(node.sessions for node in nodes)
    if own + more > quota:
        raise QuotaExceeded(f"{owner} has {own} sessions, of {quota}; release one first", own=True)
