"""A manager of nodes: the sandbox service of many machines, over HTTP (front.py).

    python -m tars_jax.sandbox.service.nodes.manager --key-file=KEY [--port=8710] [--owners=FILE]

Who has the key of KEY is the operator; other owners are named by a file {"ann": {"key": "...", "sessions": 8}}. Several
managers with one key, to all of which nodes send heartbeats, are one service. Prints its address when it serves;
SIGTERM or Ctrl-C ends it, and no session.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig, read_owners
from tars_jax.sandbox.service.nodes.front import make_front
from tars_jax.web.credentials import read_or_make_key
from tars_jax.web.running import serve


def _say(words: str) -> None:
    with contextlib.suppress(OSError):  # whoever started it may have closed its stderr
        print(f"manager: {words}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--owners", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8710)
    parser.add_argument("--preview-domain", default="localhost")
    given = parser.parse_args(arguments)
    try:
        key = read_or_make_key(given.key_file)
        owners = (Owner(OPERATOR, key), *(read_owners(given.owners) if given.owners else ()))
        if counted := [owner.name for owner in owners if any(owner.quotas.values())]:
            raise InputError(f"--owners must give quotas of sessions alone to a manager of nodes; got {counted[0]}")
        config = ServiceConfig(owners, host=given.host, port=given.port, preview_domain=given.preview_domain)
        serve(make_front(config, key), config, lambda address: print(address, flush=True), _say, sockets=True)
    except InputError as error:
        _say(str(error))
        sys.exit(2)


if __name__ == "__main__":
    logging.basicConfig(format="manager: %(message)s")
    main(sys.argv[1:])
