"""The header by which a manager says to a node for whom a request is, and which claim's session it is about."""

from __future__ import annotations

import dataclasses
import hmac
import json
from collections.abc import Iterable, Sequence

from tars_jax.web.protocol import RequestError

HEADER = b"x-tars-jax-behalf"
Claim = tuple[str, int]  # id and fence of its lease


@dataclasses.dataclass(frozen=True)
class Behalf:
    owner: str | None = None  # whose key the manager has seen; None: a token of the session is in the request
    claim: str = ""  # empty: about no session
    fence: int = -1
    forks: Sequence[Claim] = ()  # claims for the forks that are asked for


def to_header(behalf: Behalf, key: str) -> tuple[bytes, bytes]:
    return HEADER, json.dumps({"key": key, **vars(behalf)}).encode()


def read_behalf(headers: Iterable[tuple[bytes, bytes]], keys: Sequence[str]) -> Behalf:
    """Raises RequestError without a key of a manager."""
    given = [value for name, value in headers if name == HEADER]
    try:
        (text,) = given
        value = json.loads(text)
        key = str(value.pop("key")).encode()
        if not any([hmac.compare_digest(key, known.encode()) for known in keys]):
            raise ValueError
        value["forks"] = [(id, fence) for id, fence in value["forks"]]
        return Behalf(**value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        words = "a node serves managers alone: ask the address of one"
        raise RequestError(words, status=401, code="invalid_api_key") from error
