"""Serves any environment over OpenEnv's protocol until it is told to stop; each WebSocket plays an episode of its own.

The token is made once for a run directory and kept in its file `token`, readable by its owner alone.
"""

from __future__ import annotations

import logging
from typing import Any

from tars_jax.envs.openenv import RegisteredEpisode, describe
from tars_jax.json_fields import read_object_text
from tars_jax.pipelines.command_fields import listen_address
from tars_jax.pipelines.environments import configured_environment
from tars_jax.sandbox.address import read_address
from tars_jax.sandbox.compat.openenv import OpenEnvEpisode, openenv_app
from tars_jax.training.run_directory import RunDirectory
from tars_jax.web.credentials import read_or_make_key
from tars_jax.web.gate import Gate
from tars_jax.web.request_limits import is_loopback
from tars_jax.web.running import serve


def run(config: Any, run_directory: RunDirectory) -> None:
    logging.basicConfig(format="openenv: %(message)s")
    # What cannot be is refused here, and not at a client's first reset.
    options, sandbox = read_object_text(config.options, "config.options"), config.sandbox.to_dict()
    configured_environment(config.environment, options, of_options="config.options")
    read_address(**sandbox)
    address = listen_address(config)
    token = read_or_make_key(run_directory.path / "token")

    async def make() -> OpenEnvEpisode:
        return RegisteredEpisode(config.environment, options, sandbox)

    gate = Gate(token, only_local_names=is_loopback(config.host))
    app = openenv_app(describe(config.environment, options), make, gate, most=config.episodes)

    def announce(address: str) -> None:
        url = address.replace("//", f"//any:{token}@")
        print(f"openenv: {config.environment} at {address}; the token is {token}", flush=True)
        print(f"  openenv validate --url {url}", flush=True)
        print(f'  GenericEnvClient(base_url="{address}", headers={{"X-API-Key": TOKEN}})', flush=True)

    serve(
        app,
        address,
        announce,
        lambda words: print(f"\nopenenv: {words}"),
        plain=True,
    )
    print("openenv: stopped", flush=True)
