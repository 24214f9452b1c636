"""Sessions of browsers and computers over HTTP, with a live page that shows all of them.

Command:  ./launch/local.sh sandbox_service

Ready when it prints the address of the live page, its key included. Sessions survive a kill: start it again with
--config.run=RUN (the command is printed), and it ends what browsers are left, adopts the sessions and brings their
pages to where they were; computers and what runs in them go on meanwhile. Ctrl-C or SIGTERM ends it.
"""

import dataclasses
import os

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import ISOLATION, ListenerFields
from tars_jax.pipelines.run_sections import DrawingSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, at_least, between, each, field, more_than, one_of
from tars_jax.sandbox.browser.site import MAX_SIDE
from tars_jax.sandbox.service.config import DOMAIN, is_domain


@dataclasses.dataclass(frozen=True)
class ServiceBrowsers(DrawingSection):
    """The browsers of the service."""

    browsers: int = field(1, "that stay; each starts with its first page", at_least(1))
    max_browsers: int = field(8, "while all are full, and memory allows; 0: none further", at_least(0))
    pages_per_browser: int = field(8, "of each browser", at_least(1))
    width: int = field(320, "of viewports, unless a session says otherwise", between(1, MAX_SIDE))
    height: int = field(320, "of viewports", between(1, MAX_SIDE))
    idle_browser_seconds: float = field(
        30.0, "after which pages and further browsers end that nobody asks for", more_than(0)
    )
    reserve_megabytes: int = field(512, "no further browser starts with less memory free", at_least(0))
    browser_megabytes: int = field(
        4096, "a browser that grew beyond is replaced when its last page closes", at_least(1)
    )
    call_seconds: float = field(20.0, "for one call on a page", more_than(0))


@dataclasses.dataclass(frozen=True)
class Computers:
    """How computers are isolated: namespaces, bubblewrap, gvisor; auto: the first two."""

    isolation: str = field("auto", "by its name", ISOLATION)


@dataclasses.dataclass(frozen=True)
class SandboxService(ListenerFields, RunFields):
    owners_file: str = field("", 'JSON: {"ann": {"key": "...", "sessions": 8}}; empty: the operator alone')
    roots: tuple[str, ...] = field(
        (),
        "folders below which clients may name sites, beside tars_jax/",
        Rule(lambda roots: all(map(os.path.isdir, roots)), "folders that are there"),
    )
    kinds: tuple[str, ...] = field(
        ("browser", "computer"),
        "of sessions; where this machine can isolate nothing, it says so",
        each(one_of("browser", "computer")),
    )
    preview_domain: str = field(
        "localhost", "computers are shown at ID.localhost; for others, a wildcard's name", Rule(is_domain, DOMAIN)
    )


@dataclasses.dataclass(frozen=True)
class Server:
    """The service over HTTP."""

    max_body_megabytes: int = field(64, "of a request", at_least(1))
    open_seconds: float = field(60.0, "for a session to open", more_than(0))
    stop_seconds: float = field(10.0, "for the requests under way when the service is told to stop", more_than(0))


@dataclasses.dataclass(frozen=True)
class Sessions:
    """How many sessions there are, and how long."""

    max_sessions: int = field(64, "of all owners", at_least(1))
    per_owner: int = field(64, "of one owner, whose entry says nothing else", at_least(1))
    lease_seconds: float = field(120.0, "a session that nobody calls or renews for so long is collected", more_than(0))
    max_lease_seconds: float = field(86400.0, "that a session may ask for", more_than(0))
    download_megabytes: int = field(64, "that a session's page may download; 0: nothing is kept", at_least(0))


def get_config() -> ConfigDict:
    return section(
        SandboxService,
        port=8700,
        browser=section(ServiceBrowsers),
        computers=section(Computers),
        server=section(Server),
        sessions=section(Sessions),
    )
