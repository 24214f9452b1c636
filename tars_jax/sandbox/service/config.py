"""Config of a sandbox service: where it listens, who may use it, and which folders it shows."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import read_object
from tars_jax.rules import Rule, at_least, check_fields, field, field_of, more_than
from tars_jax.web.listening import ListenAddress
from tars_jax.web.request_limits import is_loopback

PACKAGE = Path(__file__).resolve().parents[2]  # tars_jax/
COUNTED = ("memory_mib", "disk_mib", "processes")  # of an owner's computers, besides their number
OPERATOR = "operator"  # sees and ends the sessions of everybody


@dataclasses.dataclass(frozen=True)
class Owner:
    """An owner: somebody who may lease sessions."""

    name: str
    key: str = dataclasses.field(repr=False)
    sessions: int | None = None  # at once; None: as many as the service gives anybody
    memory_mib: int | None = None  # of all its computers together; None: what the machine has for each of them
    disk_mib: int | None = None
    processes: int | None = None

    @property
    def quotas(self) -> Mapping[str, int | None]:
        """Quotas of the owner's computers, besides their number."""
        return {name: getattr(self, name) for name in COUNTED}


def is_domain(name: str) -> bool:
    """Whether a text is a host name in lower case, and no address."""
    labels = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
    return re.fullmatch(rf"({labels}\.)*(?![0-9]+$){labels}", name) is not None


@dataclasses.dataclass(frozen=True)
class ServiceConfig(ListenAddress):
    """The sandbox service's HTTP server: limits of requests. Raises InputError for values that cannot be."""

    owners: tuple[Owner, ...]  # the operator among them
    _: dataclasses.KW_ONLY
    port: int = field_of(ListenAddress, "port", default=8700)
    roots: tuple[Path, ...] = ()  # folders below which sites may lie, beside this package
    max_body_megabytes: int = field(64, "size limit of a request's body, in megabytes", at_least(1))
    body_seconds: float = field(30.0, "seconds that a request's body may take to come", more_than(0))
    open_seconds: float = field(60.0, "time limit of opening a session, in seconds", more_than(0))
    person_seconds: float = field(20.0, "seconds that a call waits for a person who holds its session", more_than(0))
    stop_seconds: float = field(
        10.0, "seconds that requests under way may take when the service is told to stop", more_than(0)
    )
    preview_domain: str = field(
        "localhost",
        "domain of previews: computers are shown at ID.localhost; others can connect at a wildcard domain",
        Rule(is_domain, "a host name in lower case, and no address"),
    )
    assets: Path | None = None  # a node_modules folder with what previews can use: launch/previews.sh makes it

    def __post_init__(self) -> None:
        check_fields(self, "service")
        _check_keys(self.owners, "the keys of service.owners")
        if OPERATOR not in (owner.name for owner in self.owners):
            raise InputError(f"service.owners must name {OPERATOR!r}, who sees the live page; got others")

    @property
    def max_body_bytes(self) -> int:
        return self.max_body_megabytes << 20

    @property
    def open_to_others(self) -> bool:
        return not is_loopback(self.host)

    def folder(self, given: str) -> Path | None:
        """The folder that a client names: absolute, or "tars_jax/..." for one of this package; None if it may not."""
        parts = Path(given).parts
        path = PACKAGE.joinpath(*parts[1:]) if parts[:1] == (PACKAGE.name,) else Path(given)
        if not path.is_absolute():
            return None
        path = path.resolve()
        allowed = (PACKAGE, *(root.resolve() for root in self.roots))
        return path if any(path.is_relative_to(root) for root in allowed) and os.path.isdir(path) else None


def folder_name(path: Path) -> str:
    """The name of a folder in requests, by which a service with another place for this package finds it."""
    path = path.resolve()
    return str(Path(PACKAGE.name) / path.relative_to(PACKAGE)) if path.is_relative_to(PACKAGE) else str(path)


def _check_keys(owners: Sequence[Owner], words: str) -> None:
    keys = [owner.key for owner in owners]
    if len(set(keys)) < len(keys) or any(len(key) < 8 or not key.isascii() or " " in key for key in keys):
        raise InputError(f"{words} must differ and be ASCII of 8 characters or more; got others")


Quota = Annotated[int, Meta(ge=0)] | None


class OwnerRecord(msgspec.Struct, frozen=True):
    """An owner as a file of owners names them."""

    key: str
    sessions: Quota = None
    memory_mib: Quota = None
    disk_mib: Quota = None
    processes: Quota = None


def read_owners(file: Path) -> tuple[Owner, ...]:
    """Owners from {"ann": {"key": "...", "sessions": 8, "memory_mib": 8192}, "bob": {"key": "..."}}. Raises InputError
    naming the field.
    """
    owners = []
    for name, value in read_object(file).items():
        if not name.strip():
            raise InputError(f"{file}: an owner must have a name; got {name!r}")
        owner = decoded(value, OwnerRecord, f"{file}: {name}.")
        owners.append(Owner(name, **msgspec.structs.asdict(owner)))
    _check_keys(owners, f"{file}: the keys of owners")
    return tuple(owners)
