"""Headers on their way through the gateway: what is about one connection, or ours, stays outside."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tars_jax.sandbox.service.access import API_KEY
from tars_jax.sandbox.service.gateway.grants import COOKIE, split_cookies
from tars_jax.sandbox.service.gateway.paths import Target

Headers = list[tuple[bytes, bytes]]
# RFC 9110, 7.6.1, and what speaks of one hop.
HOP = {
    b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
    b"proxy-authenticate", b"proxy-authorization", b"expect",
}  # fmt: skip
# Who has asked is ours to say, not the client's; programs inside believe it.
FORWARDED = re.compile(rb"forwarded|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-url|via")
WEBSOCKET = re.compile(rb"sec-websocket-.*")
OPENERS = (b"authorization", API_KEY.encode())  # the first that is there counts
# Of answers: what would change how a browser reaches this host, beyond this session's pages, or what it keeps for it.
STICKY = {
    b"strict-transport-security", b"alt-svc", b"public-key-pins", b"server", b"date", b"clear-site-data",
    b"service-worker-allowed",
}  # fmt: skip


def named_by(headers: Headers) -> set[bytes]:
    """Headers that Connection names: they end at this hop, too."""
    given = b",".join(value for name, value in headers if name.lower() == b"connection")
    return {word.strip().lower() for word in given.split(b",") if word.strip()}


def to_inside(headers: Headers, target: Target, host: str, scheme: str, *, by_header: bool) -> Headers:
    """Headers of a request to a program inside. `by_header`: a header with a token has opened the gateway, and is not
    the program's."""
    own = named_by(headers) | HOP
    opener = next((name for name in OPENERS if any(given.lower() == name for given, _ in headers)), b"")
    passed: Headers = []
    for name, value in headers:
        name = name.lower()
        if name in own or name == b"host" or FORWARDED.fullmatch(name) or WEBSOCKET.fullmatch(name):
            continue
        if by_header and name == opener:
            continue
        if name == b"cookie":
            value = split_cookies([value.decode("latin-1")])[1].encode("latin-1")
            if not value:
                continue
        if name in (b"origin", b"referer"):
            value = _as_inside(value, target, host, scheme)
        passed.append((name, value))
    prefix = target.prefix.encode("latin-1")
    inside = b"localhost:%d" % (target.port or 80)
    return [
        (b"host", inside), *passed, (b"x-forwarded-host", host.encode("latin-1")),
        (b"x-forwarded-proto", scheme.encode()), (b"x-forwarded-prefix", prefix),
    ]  # fmt: skip


def _as_inside(value: bytes, target: Target, host: str, scheme: str) -> bytes:
    """An address of this session's own pages as the program inside knows it: servers compare Origin with Host."""
    own, inside = f"{scheme}://{host}".encode("latin-1"), b"http://localhost:%d" % (target.port or 80)
    if value == own or value.startswith(own + b"/"):
        return inside + value[len(own) :].removeprefix(target.prefix.encode("latin-1"))
    return value


def to_outside(headers: Iterable[tuple[bytes, bytes]], target: Target) -> Headers:
    """Headers of an answer to the client."""
    given = [(name.lower(), value) for name, value in headers]
    own = named_by(given) | HOP | STICKY
    passed: Headers = []
    for name, value in given:
        if name in own:
            continue
        if name == b"set-cookie":
            if value.partition(b"=")[0].strip() == COOKIE.encode():
                continue
            value = re.sub(rb";\s*domain\s*=[^;]*", b"", value, flags=re.IGNORECASE)
        if name in (b"location", b"content-location", b"refresh"):
            value = _location(value, target)
        passed.append((name, value))
    if not any(name == b"referrer-policy" for name, _ in passed):
        passed.append((b"referrer-policy", b"same-origin"))
    return passed


def _location(value: bytes, target: Target) -> bytes:
    """A path of the program, or an address of its own, as a path of the gateway."""
    prefix = target.prefix.encode("latin-1")
    own = re.match(rb"(?i)https?://(?:localhost|127\.0\.0\.1|\[::1\]):%d(?=[/?#]|$)" % (target.port or 80), value)
    if own:
        value = value[own.end() :] or b"/"
        return prefix + (value if value.startswith(b"/") else b"/" + value)
    if value.startswith(b"/") and not value.startswith(b"//") and not value.startswith(prefix + b"/"):
        return prefix + value
    return value
