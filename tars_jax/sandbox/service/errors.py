"""Exceptions from below as responses that name them; client.py reads them back into what was raised."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Callable, Iterator
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.failures import Broken, PageError, QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.web.protocol import RequestError

PAGE_ERROR, FAILURE, QUOTA, BUSY, ENDED, HELD = (
    "page_error", "sandbox_failure", "quota", "busy", "session_not_found", "held",
)  # fmt: skip
BROKEN = "broken"  # by programs of the inside: the doing of who acts there, and no failure of ours
WRONG_KIND = "wrong_kind"  # of session
FULL = 507  # Insufficient Storage (RFC 4918): nothing has been done
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LONGEST_KEY = 64  # characters of an idempotency key
# Of a sentence such as "path must be ...", "kind of a kernel must be ...", "binds['/x'] must be ...".
FIELD = re.compile(r"(?P<path>[a-z_]+(\[\d+\])?(\.[a-z_]+)*)(\[[^\]]*\])?( of [^;]*)? must ")


def _of_input(error: Any, param: str | None) -> RequestError:
    code = getattr(error, "code", None)  # of a GuestError: what the system inside has said, ENOENT for instance
    named = FIELD.match(str(error)) if code in (None, "input") else None
    return RequestError(str(error), param or (named["path"] if named else None), code=code)


def _of_quota(error: Any, param: str | None) -> RequestError:
    retry = {} if error.own else {"Retry-After": "1"}
    return RequestError(str(error), status=429, code=QUOTA if error.own else BUSY, headers=retry)


def _of_failure(error: Any, param: str | None) -> RequestError:
    return RequestError(str(error), error.kind, status=FULL if error.kind == "disk" else 502, code=FAILURE)


def _of_disk(error: Any, param: str | None) -> RequestError:
    if error.errno not in NO_ROOM:
        raise error
    return RequestError(f"disk: {error.strerror}", "disk", status=FULL, code=FAILURE)


# What a session raises, and the response: the first kind that fits. client.py has the way back.
RESPONSES: tuple[tuple[type[Exception], Callable[[Any, str | None], RequestError]], ...] = (
    (Broken, lambda error, param: RequestError(str(error), code=BROKEN)),
    (InputError, _of_input),
    (QuotaExceeded, _of_quota),
    (SessionEnded, lambda error, param: RequestError(str(error), status=404, code=ENDED)),
    (PageError, lambda error, param: RequestError(str(error), status=422, code=PAGE_ERROR)),
    (SandboxFailure, _of_failure),
    (OSError, _of_disk),
)


@contextlib.contextmanager
def typed_errors(param: str | None = None, given: Any = None) -> Iterator[None]:
    """Turns what a session raises into a RequestError.

    `param`: the field that an InputError is about; None: the one that its sentence begins with, if `given`, the JSON of
    the request, has a field of that name (None: in any case).
    """
    try:
        yield
    except tuple(kind for kind, _ in RESPONSES) as error:
        response = next(response for kind, response in RESPONSES if isinstance(error, kind))
        told = response(error, param)
        if isinstance(error, InputError) and param is None and given is not None:
            told.param = told.param if re.split(r"[.\[]", told.param or "")[0] in _names(given) else None
        raise told from error


def _names(value: Any) -> set[str]:
    """Names of all fields of a JSON value, those of the objects in it too."""
    names, values = set[str](), [value]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            names.update(value)
            values += value.values()
        elif isinstance(value, list):
            values += value
    return names
