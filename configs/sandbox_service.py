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
from tars_jax.rules import Rule, at_least, each, field, field_of, more_than, one_of
from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.service.config import DOMAIN, is_domain


@dataclasses.dataclass(frozen=True)
class ServiceBrowsers(DrawingSection):
    """The browsers of the sandbox service."""

    browsers: int = field_of(BrowserConfig, "browsers", default=1)
    max_browsers: int = field_of(
        BrowserConfig,
        "max_browsers",
        default=8,
        about="most browsers, while all are full and memory allows; 0: no further ones",
    )
    pages_per_browser: int = field_of(BrowserConfig, "pages_per_browser", default=8)
    width: int = field_of(
        BrowserConfig, "width", default=320, about="width of viewports in pixels, unless a session sets another"
    )
    height: int = field_of(
        BrowserConfig, "height", default=320, about="height of viewports in pixels, unless a session sets another"
    )
    idle_browser_seconds: float = field_of(BrowserConfig, "idle_browser_s")
    reserve_megabytes: int = field_of(BrowserConfig, "reserve_mb")
    browser_megabytes: int = field_of(BrowserConfig, "browser_memory_mb")
    call_seconds: float = field_of(BrowserConfig, "call_timeout_s")


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
