"""Serves browser sessions until it is told to stop: a manager, its sessions in the run directory, the HTTP service.

The operator's key is made once for a run directory and kept in its file operator.key, readable by its owner alone.
"""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path
from typing import Any

from tars_jax.rules import at_least, more_than
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.service import Owner, ServiceConfig, make_app, read_owners
from tars_jax.sandbox.browser.service.config import OPERATOR
from tars_jax.sandbox.browser.sessions import Sessions, SessionsConfig
from tars_jax.training.run_directory import RunDirectory
from tars_jax.web.running import serve

RULES = {
    "sessions.download_megabytes": at_least(0),
    "server.max_body_megabytes": at_least(1),
    "server.open_seconds": more_than(0),
    "server.stop_seconds": more_than(0),
}


def run(config: Any, run_directory: RunDirectory) -> None:
    logging.basicConfig(format="browser_service: %(message)s")
    key = operator_key(run_directory.path / "operator.key")
    owners = read_owners(Path(config.owners_file)) if config.owners_file else ()
    service = ServiceConfig(
        owners=(Owner(OPERATOR, key), *owners),
        host=config.host,
        port=config.port,
        roots=tuple(Path(root) for root in config.roots),
        open_seconds=config.server.open_seconds,
        max_body_bytes=config.server.max_body_megabytes << 20,
        stop_seconds=config.server.stop_seconds,
    )
    browser = BrowserConfig(
        browsers=config.browser.browsers,
        max_browsers=config.browser.max_browsers,
        pages_per_browser=config.browser.pages_per_browser,
        width=config.browser.width,
        height=config.browser.height,
        idle_browser_s=config.browser.idle_browser_seconds,
        reserve_mb=config.browser.reserve_megabytes,
        browser_memory_mb=config.browser.browser_megabytes,
        call_timeout_s=config.browser.call_seconds,
    )
    limits = SessionsConfig(
        max_sessions=config.sessions.max_sessions,
        per_owner=config.sessions.per_owner,
        lease_s=config.sessions.lease_seconds,
        max_lease_s=config.sessions.max_lease_seconds,
        download_mb=config.sessions.download_megabytes,
    )
    sessions = Sessions(BrowserManager(browser), limits, run_directory.path / "sessions")
    serve(
        make_app(service, sessions), service, lambda address: announce(address, key, run_directory.path), say,
        plain=True,
    )  # fmt: skip
    print("browser_service: stopped", flush=True)


def operator_key(file: Path) -> str:
    """The key in the file, made on first use."""
    if not file.exists():
        partial = file.with_name(f".{file.name}.partial")
        partial.unlink(missing_ok=True)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            new.write(secrets.token_urlsafe(24))
        partial.rename(file)  # whole, or there is none yet
    return file.read_text().strip()


def announce(address: str, key: str, run: Path) -> None:
    print(
        f"browser_service: {address}/v1/sessions, key in {run / 'operator.key'}\n"
        f"Live page:  {address}/#key={key}\n"
        f"After a kill:  ./launch/local.sh browser_service --config.run={run}\n"
        "Ctrl-C ends it: requests under way may finish.",
        flush=True,
    )


def say(words: str) -> None:
    print(f"\nbrowser_service: {words}", flush=True)
