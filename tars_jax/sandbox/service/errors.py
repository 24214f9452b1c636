"""What goes wrong below, as responses that name it; client.py reads them back into what was raised."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator

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
FIELD = re.compile(r"[a-z_]+(\[\d+\])?(\.[a-z_]+)*")


@contextlib.contextmanager
def typed_errors(param: str | None = None) -> Iterator[None]:
    """Turns what a session raises into a RequestError; `param` is the field that an InputError is about."""
    try:
        yield
    except Broken as broken:
        raise RequestError(str(broken), code=BROKEN) from broken
    except InputError as error:
        code = getattr(error, "code", None)  # of a GuestError: what the system inside has said, ENOENT for instance
        named = FIELD.match(str(error)) if code in (None, "input") else None
        raise RequestError(str(error), param or (named.group() if named else None), code=code) from error
    except QuotaExceeded as error:
        retry = {} if error.own else {"Retry-After": "1"}
        raise RequestError(str(error), status=429, code=QUOTA if error.own else BUSY, headers=retry) from error
    except SessionEnded as error:
        raise RequestError(str(error), status=404, code=ENDED) from error
    except PageError as error:
        raise RequestError(str(error), status=422, code=PAGE_ERROR) from error
    except SandboxFailure as failure:
        status = FULL if failure.kind == "disk" else 502
        raise RequestError(str(failure), failure.kind, status=status, code=FAILURE) from failure
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise RequestError(f"disk: {error.strerror}", "disk", status=FULL, code=FAILURE) from error
