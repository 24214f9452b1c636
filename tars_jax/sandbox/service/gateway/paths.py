"""Paths of the gateway: the session and the mount that each leads to, read from its bytes as they came.

    /s/ID/             a page that links the others
    /s/ID/port/3000/x  what a program inside serves at a port, as /x
    /s/ID/terminal/    and other mounts by their names

The prefix is compared as bytes and never decoded, so that nothing written otherwise is taken for another session. What
follows it goes inside as it came; dot segments are refused, however they are written, because programs differ in
where they lead.
"""

from __future__ import annotations

import dataclasses
import re
from urllib.parse import unquote_to_bytes

from tars_jax.sandbox.sessions.registry import SESSION_ID
from tars_jax.web.protocol import RequestError

PREFIX = b"/s/"
PATH = re.compile(
    rb"/s/(%s)(?:/([a-z][a-z0-9_]{0,31})(?:/([1-9][0-9]{0,4})(?=/|$))?(/.*)?|/?)" % SESSION_ID.encode(), re.DOTALL
)
PLAIN = re.compile(rb"[\x21-\x7e]*")
PORT = "port"


@dataclasses.dataclass(frozen=True)
class Target:
    id: str
    mount: str  # empty: the page that links the others
    port: int | None
    rest: str  # of the path, from its slash on; empty: the slash is missing

    @property
    def prefix(self) -> str:
        """Prefix of the path, before `rest`."""
        port = "" if self.port is None else f"/{self.port}"
        return f"/s/{self.id}/{self.mount}{port}" if self.mount else f"/s/{self.id}"


def read_path(raw: bytes) -> Target:
    """Raises RequestError: 404 for what is no path of the gateway, 400 for one that could be read in two ways."""
    match = PATH.fullmatch(raw)
    if match is None:
        raise RequestError("there is no such path; /s/ID/, /s/ID/port/NUMBER/ and /s/ID/NAME/ are", status=404)
    id, mount, port, rest = (None if part is None else part.decode("latin-1") for part in match.groups())
    assert id is not None
    if mount == PORT and (port is None or int(port) > 65535):
        raise RequestError("a port must be a number from 1 to 65535: /s/ID/port/NUMBER/", status=404)
    if mount != PORT and port is not None:
        rest, port = f"/{port}{rest or ''}", None
    if mount is None:
        rest = "/" if raw.endswith(b"/") else ""
    require_plain((rest or "").encode("latin-1"))
    return Target(id, mount or "", None if port is None else int(port), rest or "")


def require_plain(path: bytes) -> None:
    """Refuses control characters and blanks, and dot segments, also in encoded forms and behind backslashes."""
    decoded = unquote_to_bytes(unquote_to_bytes(path))  # twice: a program inside may do so, too
    segments = re.split(rb"[/\\]", decoded)
    # A segment may have parameters behind a semicolon, which some servers take away before they look at the dots.
    names = {segment.partition(b";")[0] for segment in segments}
    if not PLAIN.fullmatch(path) or b"." in names or b".." in names or re.search(rb"[\x00-\x1f\x7f]", decoded):
        raise RequestError("the path must be free of dot segments and control characters, in any form", status=400)
