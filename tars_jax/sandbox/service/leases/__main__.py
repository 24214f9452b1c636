"""A manager of leases alone: python -m tars_jax.sandbox.service.leases FILE --key-file=KEY [--port=8710]

FILE is a SQLite file, or the address of a Valkey or Redis server, redis://HOST:PORT/0, which several managers share.
Prints its address when it serves; SIGTERM or Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import secrets
import sys
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.service.leases.app import LeaseApp
from tars_jax.sandbox.service.leases.sqlite_store import SqliteLeases
from tars_jax.sandbox.service.leases.store import Leases
from tars_jax.web.request_limits import is_loopback
from tars_jax.web.running import serve


@dataclasses.dataclass(frozen=True)
class ManagerAddress:
    host: str = "127.0.0.1"
    port: int = 8710  # 0: any that is free
    stop_seconds: float = 10.0


def read_key(file: Path) -> str:
    """The key in a file, which is made for its owner alone where there is none. Raises InputError."""
    try:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
                new.write(secrets.token_urlsafe(24))
            try:
                os.link(partial, file)  # of two that begin at once, one makes it
            except FileExistsError:
                pass
            finally:
                partial.unlink()
        key = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} must be a file with a key, or a place for one; got {error}") from error
    if len(key) < 8 or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"{file} must hold a key of 8 ASCII characters or more; got another")
    return key


def open_leases(where: str) -> Leases:
    """Raises InputError where the extra that it takes is not installed."""
    if where.startswith(("redis://", "rediss://", "valkey://", "unix://")):
        from tars_jax.sandbox.service.leases.valkey_store import ValkeyLeases  # takes an extra

        return ValkeyLeases(where)
    return SqliteLeases(Path(where))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", metavar="FILE")
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8710)
    given = parser.parse_args(arguments)
    try:
        key = read_key(given.key_file)
        app = LeaseApp(open_leases(given.where), [key], local=is_loopback(given.host))
        serve(app, ManagerAddress(given.host, given.port), lambda address: print(address, flush=True), _say)
    except InputError as error:
        sys.exit(_refuse(error))


def _say(words: str) -> None:
    print(f"manager: {words}", file=sys.stderr, flush=True)


def _refuse(error: InputError) -> int:
    print(f"manager: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main(sys.argv[1:])
