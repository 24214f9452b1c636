"""Address at which a server listens, and the socket that listens there."""

from __future__ import annotations

import dataclasses
import re
import socket

from tars_jax import InputError
from tars_jax.rules import Rule, between, check_fields, field
from tars_jax.web.credentials import Certificate


def is_host(text: str) -> bool:
    return re.fullmatch(r"[\w.:%-]+", text) is not None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListenAddress:
    """Address and port at which something is served. Raises InputError for what is none."""

    host: str = field(
        "127.0.0.1",
        "address to listen on; 127.0.0.1: only this machine can connect",
        Rule(is_host, "a name or an address"),  # an empty one would be every address
    )
    port: int = field(0, "port to listen on; 0: any free one", between(0, 65535))
    stop_seconds: float = 5.0  # that requests under way may take when the server is told to stop

    def __post_init__(self) -> None:
        check_fields(self, "server")


def listen(config: ListenAddress) -> socket.socket:
    """A listening socket, so that the address is known, and its port ours, before anything is said of it.

    Raises InputError where it cannot be had.
    """
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    # asyncio sends at once (TCP_NODELAY) where the protocol is named; else a body waits 40 ms for its headers' receipt.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((config.host, config.port))
        listening.listen(1024)
    except (OSError, UnicodeError) as error:  # the second: of a name that no resolver takes
        listening.close()
        raise InputError(
            "server: host and port must be an address of this machine and a free port (0 for any); "
            f"got {config.host}:{config.port}: {getattr(error, 'strerror', None) or error}"
        ) from error
    return listening


def address(listening: socket.socket, certificate: Certificate | None) -> str:
    host, port = listening.getsockname()[:2]
    return f"http{'s' if certificate else ''}://{f'[{host}]' if ':' in host else host}:{port}"
