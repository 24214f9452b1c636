"""Serves sessions of browsers and computers until it is told to stop; what must survive a kill is in the run directory.

The operator's key is made once for a run directory and kept in its file operator.key, readable by its owner alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tars_jax.launcher import LAUNCHER
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.command_fields import listen_address
from tars_jax.pipelines.config import naming
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.service import PagesKind
from tars_jax.sandbox.browser.sessions import PageSessions
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.computers.kind import ComputersKind
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.computers.store import OWNER
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig, read_owners
from tars_jax.sandbox.service.gateway.apis import api_mounts
from tars_jax.sandbox.service.kinds import Kind
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.sandbox.sessions.registry import SessionQuota
from tars_jax.training.run_directory import RunDirectory
from tars_jax.web.credentials import read_or_make_key
from tars_jax.web.running import serve

ASSETS = ROOT / ".cache" / "previews" / "node_modules"


def run(config: Any, run_directory: RunDirectory) -> None:
    logging.basicConfig(format="sandbox_service: %(message)s")
    limits, address = SessionsConfig(**config.sessions.to_dict()), listen_address(config)
    with naming("config.owners_file", "owners_file"):
        owners = read_owners(Path(config.owners_file)) if config.owners_file else ()
    key = read_or_make_key(run_directory.path / "operator.key")
    service = ServiceConfig(
        owners=(Owner(OPERATOR, key), *owners),
        host=address.host,
        port=address.port,
        roots=tuple(Path(root) for root in config.roots),
        **config.server.to_dict(),
        preview_domain=config.preview_domain,
        assets=ASSETS if ASSETS.is_dir() else None,
    )
    quota, folder = SessionQuota(limits.max_sessions, limits.per_owner), run_directory.path
    make: dict[str, Callable[[], Kind]] = {
        "browser": lambda: PagesKind(
            PageSessions(BrowserManager(_browser(config)), limits, folder / "sessions", quota), service
        ),
        "computer": lambda: ComputersKind(
            ComputerSessions(
                ContainedComputers(config.computers.isolation, kept_in=folder / "computers" / OWNER),
                folder / "computers", quota, config=limits, browsers=_browser(config),
            )
        ),
    }  # fmt: skip
    kinds = [make[name]() for name in config.kinds]
    app = make_app(service, *kinds, mounts=api_mounts())
    serve(app, service, lambda address: announce(address, key, run_directory.path), say, plain=True)
    print("sandbox_service: stopped", flush=True)


def _browser(config: Any) -> BrowserConfig:
    return BrowserConfig(
        browsers=config.browser.browsers,
        max_browsers=config.browser.max_browsers,
        pages_per_browser=config.browser.pages_per_browser,
        width=config.browser.width,
        height=config.browser.height,
        idle_browser_s=config.browser.idle_browser_seconds,
        reserve_mb=config.browser.reserve_megabytes,
        browser_memory_mb=config.browser.browser_megabytes,
        call_timeout_s=config.browser.call_seconds,
        use_angle=config.browser.use_angle,
    )


def announce(address: str, key: str, run: Path) -> None:
    print(
        f"sandbox_service: {address}/v1/sessions, key in {run / 'operator.key'}\n"
        f"Live page:  {address}/#key={key}\n"
        f"After a kill:  {LAUNCHER} sandbox_service --config.run={run}\n"
        "Ctrl-C ends it: requests under way may finish.",
        flush=True,
    )


def say(words: str) -> None:
    print(f"\nsandbox_service: {words}", flush=True)
