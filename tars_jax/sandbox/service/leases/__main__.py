"""A manager of leases alone: python -m tars_jax.sandbox.service.leases FILE --key-file=KEY [--port=8710]

FILE is a SQLite file, or the address of a Valkey or Redis server, redis://HOST:PORT/0, which several managers share.
Prints its address when it serves; SIGTERM or Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

from starlette.types import ASGIApp

from tars_jax import InputError
from tars_jax.sandbox.service.leases.app import LeaseApp
from tars_jax.sandbox.service.leases.sqlite_store import SqliteLeases
from tars_jax.sandbox.service.leases.store import Leases
from tars_jax.web.keys import read_or_make_key
from tars_jax.web.request_limits import is_loopback
from tars_jax.web.running import serve


@dataclasses.dataclass(frozen=True)
class ManagerAddress:
    host: str = "127.0.0.1"
    port: int = 8710  # 0: any that is free
    stop_seconds: float = 10.0


def open_leases(where: str) -> Leases:
    """Raises InputError where the extra that it takes is not installed."""
    if where.startswith(("redis://", "rediss://", "valkey://", "unix://")):
        from tars_jax.sandbox.service.leases.valkey_store import ValkeyLeases  # takes an extra

        return ValkeyLeases(where)
    return SqliteLeases(Path(where))


def manager_parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", metavar="FILE")
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8710)
    return parser


def run_manager(
    given: argparse.Namespace, make_app: Callable[[argparse.Namespace, str], ASGIApp], *, sockets: bool = False
) -> None:
    """Serves the application that is made of what was given and the key; exits with 2 where that cannot be."""
    try:
        app = make_app(given, read_or_make_key(given.key_file))
        address = ManagerAddress(given.host, given.port)
        serve(app, address, lambda address: print(address, flush=True), _say, sockets=sockets)
    except InputError as error:
        print(f"manager: {error}", file=sys.stderr)
        sys.exit(2)


def _say(words: str) -> None:
    with contextlib.suppress(OSError):  # whoever started it may have closed its stderr
        print(f"manager: {words}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    def make(given: argparse.Namespace, key: str) -> ASGIApp:
        return LeaseApp(open_leases(given.where), [key], local=is_loopback(given.host))

    run_manager(manager_parser(__doc__).parse_args(arguments), make)


if __name__ == "__main__":
    main(sys.argv[1:])
