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
    """The browsers of the sandbox service."""

    browsers: int = field(1, "browsers that are never closed; each starts with its first page", at_least(1))
    max_browsers: int = field(8, "most browsers, while all are full and memory allows; 0: no further ones", at_least(0))
    pages_per_browser: int = field(8, "pages of each browser", at_least(1))
    width: int = field(320, "width of viewports in pixels, unless a session sets another", between(1, MAX_SIDE))
    height: int = field(320, "height of viewports in pixels, unless a session sets another", between(1, MAX_SIDE))
    idle_browser_seconds: float = field(
        30.0, "seconds after which unused pages and further browsers are closed", more_than(0)
    )
    reserve_megabytes: int = field(512, "free memory in megabytes below which no further browser starts", at_least(0))
    browser_megabytes: int = field(
        4096, "memory in megabytes beyond which a browser is restarted when its last page closes", at_least(1)
    )
    call_seconds: float = field(20.0, "time limit of one call on a page, in seconds", more_than(0))


@dataclasses.dataclass(frozen=True)
class Computers:
    """How computers are isolated: namespaces, bubblewrap, gvisor; auto: the first of the first two that works."""

    isolation: str = field("auto", "isolation of computers: auto, or the name of a mechanism", ISOLATION)


@dataclasses.dataclass(frozen=True)
class SandboxService(ListenerFields, RunFields):
    """The sandbox service: owners, kinds of sessions and previews."""

    owners_file: str = field(
        "", 'JSON file of owners: {"ann": {"key": "...", "sessions": 8}}; empty: only the operator'
    )
    roots: tuple[str, ...] = field(
        (),
        "folders in which clients may name sites, besides tars_jax/",
        Rule(lambda roots: all(map(os.path.isdir, roots)), "folders that are there"),
    )
    kinds: tuple[str, ...] = field(
        ("browser", "computer"),
        "kinds of sessions; a machine that cannot isolate computers says so",
        each(one_of("browser", "computer")),
    )
    preview_domain: str = field(
        "localhost",
        "domain of previews: computers are shown at ID.localhost; others can connect at a wildcard domain",
        Rule(is_domain, DOMAIN),
    )


@dataclasses.dataclass(frozen=True)
class Server:
    """The sandbox service's HTTP server: limits of requests."""

    max_body_megabytes: int = field(64, "size limit of a request's body, in megabytes", at_least(1))
    open_seconds: float = field(60.0, "time limit of opening a session, in seconds", more_than(0))
    stop_seconds: float = field(
        10.0, "seconds that requests under way may take when the service is told to stop", more_than(0)
    )


@dataclasses.dataclass(frozen=True)
class Sessions:
    """Limits of sessions: number, lease and downloads."""

    max_sessions: int = field(64, "most sessions of all owners together", at_least(1))
    per_owner: int = field(64, "most sessions of one owner, unless owners_file sets another number", at_least(1))
    lease_seconds: float = field(
        120.0, "seconds without a call or renewal after which a session is closed", more_than(0)
    )
    max_lease_seconds: float = field(86400.0, "longest lease that a session may ask for, in seconds", more_than(0))
    download_megabytes: int = field(
        64, "downloads of a session's page that are kept, in megabytes; 0: none", at_least(0)
    )


def get_config() -> ConfigDict:
    return section(
        SandboxService,
        port=8700,
        browser=section(ServiceBrowsers),
        computers=section(Computers),
        server=section(Server),
        sessions=section(Sessions),
    )
