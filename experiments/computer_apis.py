"""Serves one computer by the APIs of others until it is told to stop: AIO Sandbox's, SWE-ReX's, OpenEnv's.

The token is made once for a run directory and kept in its file `token`, readable by its owner alone.
"""

from __future__ import annotations

import logging
from typing import Any

from tars_jax.pipelines.command_fields import listen_address
from tars_jax.sandbox.compat.computer_apis import ComputerApis
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.training.run_directory import RunDirectory
from tars_jax.web.credentials import read_or_make_key
from tars_jax.web.gate import Gate
from tars_jax.web.request_limits import is_loopback
from tars_jax.web.running import serve


def run(config: Any, run_directory: RunDirectory) -> None:
    logging.basicConfig(format="computer_apis: %(message)s")
    address = listen_address(config)
    token = read_or_make_key(run_directory.path / "token")
    spec = ContainerSpec(memory_mib=config.memory_mib, processes=config.processes, disk_mib=config.disk_mib)
    apis = ComputerApis(spec, Gate(token, only_local_names=is_loopback(config.host)), config.isolation)
    serve(apis.app(), address, lambda address: announce(address, token), say, plain=True)
    print("computer_apis: stopped", flush=True)


def announce(address: str, token: str) -> None:
    print(
        f"computer_apis: ready; the token is {token}\n"
        f'  agent_sandbox.Sandbox(base_url="{address}/aio", headers={{"X-API-Key": TOKEN}})\n'
        f'  swerex.runtime.remote.RemoteRuntime(host="{address}/swe_rex", auth_token=TOKEN)\n'
        f"  openenv validate --url {address.replace('//', f'//any:{token}@')}/openenv\n"
        "Ctrl-C ends it and the computer.",
        flush=True,
    )


def say(words: str) -> None:
    print(f"\ncomputer_apis: {words}", flush=True)
