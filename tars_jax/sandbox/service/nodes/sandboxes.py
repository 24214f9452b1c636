"""Sandboxes of a node, as its pools see them; and the specs of those to keep ready."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, Self

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_object
from tars_jax.sandbox.service.computers.spec import read_spec
from tars_jax.web import protocol

COMPUTER = "computer"
LEASE = ("lease_seconds", "idempotency_key")  # fields of a request that are about the lease, not about the session


@dataclasses.dataclass(frozen=True)
class Spec:
    """The spec of a session: two sandboxes of equal spec are as good as each other, as long as nobody has used them."""

    text: str  # JSON {"owner", "body"}: the body of a request for a lease, without the lease

    @property
    def key(self) -> str:
        """The key by which managers know the spec."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def spec_of(body: Mapping[str, Any], owner: str) -> Spec:
    """Spec of a request's body, {"kind": ..., ...}. Raises RequestError and InputError for a computer that cannot be.

    A computer's spec is written out, so that what is said and what is left to the default is the same. What belongs to
    an owner, as snapshots do, is opened for that one alone.
    """
    if body.get("kind") == COMPUTER and body.get("snapshot") is None:
        fields = protocol.RequestFields(
            {name: value for name, value in body.items() if name not in ("kind", "snapshot")}
        )
        spec = read_spec(fields)
        fields.done()
        body, owner = {"kind": COMPUTER, **spec.to_json()}, ""
    return Spec(json.dumps({"owner": owner, "body": body}, sort_keys=True))


class Sandbox(Protocol):
    """An open sandbox. All methods raise SandboxFailure when it is gone."""

    async def ended(self) -> None:
        """Returns when it is gone, whoever ended it."""
        ...

    async def check(self) -> None:
        """Returns when it answers."""
        ...

    async def close(self) -> None:
        """Closes the sandbox; a second call does nothing."""
        ...


class Opener(Protocol):
    """An async context manager; what it opened ends with it."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def open(self, spec: Spec) -> Sandbox:
        """Raises SandboxFailure, InputError for what cannot be."""
        ...


def read_warm(file: Path | None) -> dict[Spec, int]:
    """The number of computers of each spec to keep ready, from {"small": {"memory_mib": 256, "warm": 2}}.

    The names are for people; the other fields are those of a request for a computer. Raises InputError that names file
    and field.
    """
    warm = dict[Spec, int]()
    for name, value in ({} if file is None else read_object(file)).items():
        if not isinstance(value, dict):
            raise InputError(f"{file}: {name[:64]!r} must be an object; got {type(value).__name__}")
        count = Fields(value, f"{file}: {name}.").integer("warm", 1, 0, 10_000) or 0
        try:
            spec = spec_of({"kind": COMPUTER, **{key: each for key, each in value.items() if key != "warm"}}, "")
        except (InputError, protocol.RequestError) as error:
            raise InputError(f"{file}: {name}: {error}") from error
        warm[spec] = warm.get(spec, 0) + count
    return warm
