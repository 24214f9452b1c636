"""People who may annotate, review, and own: each by a key of their own, which lies in a file for its owner alone."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from tars_jax import InputError
from tars_jax.web.credentials import password, read_or_make_key

Role = Literal["annotator", "reviewer", "owner"]
ROLES: tuple[Role, ...] = ("annotator", "reviewer", "owner")
COOKIE = "tars_jax_annotation"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")


@dataclasses.dataclass(frozen=True)
class Person:
    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """An owner may do what a reviewer does, and a reviewer what an annotator does."""
        return ROLES.index(self.role) >= ROLES.index(role)


class People:
    """Keys to persons. Raises InputError for names and roles that are none, and for key files that cannot be had."""

    def __init__(self, folder: Path, written: Sequence[str], owner: str = "owner") -> None:
        """`written`: NAME or NAME:ROLE of each besides the owner; `folder`: where each has a file with a key."""
        people = [Person(owner, "owner"), *map(_person, written)]
        names = [person.name for person in people]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"annotators must have names of their own; got {twice!r} twice")
        self.keys: Mapping[str, str] = {each.name: read_or_make_key(folder / f"{each.name}.key") for each in people}
        self.all = tuple(people)

    def with_key(self, key: str) -> Person | None:
        return self._found(key, self.keys)

    def by_headers(self, authorization: str, cookie: str) -> Person | None:
        """The person by `Authorization: Bearer KEY` or the password of `Basic`, or by the cookie that a login has
        set."""
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "bearer":
            return self.with_key(given.strip())
        if kind.lower() == "basic":
            return self.with_key(password(given.strip()))
        return self._found(cookie, {name: cookie_of(key) for name, key in self.keys.items()}) if cookie else None

    def _found(self, given: str, of: Mapping[str, str]) -> Person | None:
        found = None
        for person in self.all:  # all are compared, however early one fits
            if hmac.compare_digest(given.encode("utf-8", "replace"), of[person.name].encode()):
                found = person
        return found


def cookie_of(key: str) -> str:
    """The cookie of a key, which is not the key itself: a browser sends cookies to every port of a host."""
    return hashlib.sha256(f"cookie {key}".encode()).hexdigest()


def _person(written: str) -> Person:
    name, _, role = written.partition(":")
    role = role or "annotator"
    if not _NAME.fullmatch(name) or role not in ROLES:
        raise InputError(
            f"an annotator must be NAME or NAME:ROLE, letters and digits and one of {', '.join(ROLES)}; got {written!r}"
        )
    return Person(name, next(each for each in ROLES if each == role))
