"""A node: the sandbox service of this machine, whose sessions a manager gives to clients:

    python -m tars_jax.sandbox.service.nodes http://MANAGER:8710 --key-file=KEY [--capacity=8] [--warm=FILE]
        [--kinds computer browser]

Prints its id and address when it has joined. SIGTERM or Ctrl-C ends it and its sessions; it ends by itself when it was
told to drain and its last session is over. FILE, of computers that are ready before anybody asks:
{"small": {"memory_mib": 256, "parts": ["shell", "files"], "warm": 2}}.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import signal
import socket
import sys
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.nodes.kinds import make_kinds
from tars_jax.sandbox.service.nodes.node import NodeConfig
from tars_jax.sandbox.service.nodes.sandboxes import COMPUTER, read_warm
from tars_jax.sandbox.service.nodes.serving import node_service, serving_node
from tars_jax.web.credentials import read_or_make_key
from tars_jax.web.listening import ListenAddress


async def live(given: argparse.Namespace) -> None:
    warm, service = read_warm(given.warm), node_service(given.preview_domain, given.roots, given.assets)
    config = NodeConfig(given.name, given.capacity, warm, given.dead_s, given.heartbeat_s)
    kinds = make_kinds(given.kinds, given.capacity, service, given.isolation, node=config.id)
    stopped, joining = asyncio.Event(), asyncio.current_task()

    def stop() -> None:
        stopped.set()
        if joining is not None:
            joining.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    key, address = read_or_make_key(given.key_file), ListenAddress(host=given.host, port=given.port)
    async with serving_node(config, kinds, given.manager, key, address, service) as (node, reached):
        joining = None  # from here on it ends in order
        if not stopped.is_set():
            print(node.id, reached, flush=True)
        ends = [asyncio.create_task(event.wait()) for event in (stopped, node.drained)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in ends:
            task.cancel()


def own_name() -> str:
    """The name of this machine, as far as it can be one of a node."""
    return re.sub(r"[^a-z0-9-]", "-", socket.gethostname().partition(".")[0].lower()).strip("-")[:37] or "node"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manager", nargs="+", help="http://HOST:PORT, of several each")
    parser.add_argument("--key-file", type=Path, required=True)
    parser.add_argument("--name", default=own_name())
    parser.add_argument("--capacity", type=int, default=8)
    parser.add_argument("--warm", type=Path)
    parser.add_argument("--kinds", nargs="+", default=[COMPUTER])
    parser.add_argument("--roots", nargs="*", type=Path, default=[], help="folders below which sites of pages may lie")
    parser.add_argument("--assets", type=Path, help="what launch/previews.sh has fetched")
    parser.add_argument("--preview-domain", default="localhost")
    parser.add_argument("--isolation", default="auto")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dead-s", type=float, default=10.0)
    parser.add_argument("--heartbeat-s", type=float, default=1.0)
    logging.basicConfig(format="node: %(message)s")
    try:
        asyncio.run(live(parser.parse_args(arguments)))
    except asyncio.CancelledError:
        sys.exit(143)  # told to end before it had joined
    except (InputError, SandboxFailure) as error:
        print(f"node: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
