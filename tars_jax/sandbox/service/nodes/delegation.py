"""The header by which a manager says to a node for whom a request is: it has seen that owner's key."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Sequence

from tars_jax.web.protocol import RequestError

HEADER = b"x-tars-jax-delegated"


def to_header(owner: str | None, key: str) -> tuple[bytes, bytes]:
    """`owner`: None where a session's token or a browser's cookie is in the request; `key`: of managers and nodes."""
    return HEADER, json.dumps({"key": key, "owner": owner}).encode()


def read_owner(headers: Iterable[tuple[bytes, bytes]], keys: Sequence[str]) -> str | None:
    """The owner. Raises RequestError where the request does not come from a manager."""
    given = [value for name, value in headers if name == HEADER]
    try:
        (text,) = given
        value = json.loads(text)
        key, owner = value["key"].encode(), value["owner"]
        if not any([hmac.compare_digest(key, known.encode()) for known in keys]) or not isinstance(owner, str | None):
            raise ValueError
        return owner
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        words = "a node serves managers alone: ask the address of one"
        raise RequestError(words, status=401, code="invalid_api_key") from error
