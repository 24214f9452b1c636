"""Whom a request is for: names of this machine, in every way that they are written, and no other."""

from __future__ import annotations

import pytest

from tars_jax.web.protocol import RequestError
from tars_jax.web.request_limits import is_loopback, require_local_name

OURS = [
    "localhost", "LOCALHOST", "LocalHost:8700", "localhost.", "localhost.:80", "localhost:", "127.0.0.1",
    "127.0.0.1:8700", "127.0.0.2", "10.1.2.3:80", "[::1]", "[::1]:8700", "[0:0:0:0:0:0:0:1]", "[FE80::1]",
    "[::ffff:127.0.0.1]:80",
]  # fmt: skip
FOREIGN = [
    "evil.example", "evil.example:8700", "localhost.evil.example", "localhost..", "evil.localhost",
    "127.0.0.1.evil.example", "127.0.0.1.nip.io", "localhost:80:80", "localhost:http", "localhost:123456", "[::1",
    "::1]", "::1", "[localhost]", "[127.0.0.1]", "[]", "[::1]x", "localhost@evil.example", "localhost/", "0x7f.1",
    "127.1", "löcalhost", "::1:80",
]  # fmt: skip


@pytest.mark.parametrize("host", OURS)
def test_a_host_of_this_machine_is_taken(host: str) -> None:
    require_local_name(host)
    require_local_name(f" {host} ")


@pytest.mark.parametrize("host", FOREIGN)
def test_any_other_host_is_refused(host: str) -> None:
    with pytest.raises(RequestError, match="Host must be localhost or an address"):
        require_local_name(host)


def test_http_1_0_sends_no_host() -> None:
    require_local_name("")


def test_where_a_server_is_open_to_others() -> None:
    for host in ("127.0.0.1", "127.0.0.9", "::1", "localhost", "LOCALHOST", "localhost.", "::ffff:127.0.0.1"):
        assert is_loopback(host), host
    for host in ("0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "example.com", ""):
        assert not is_loopback(host), host
