"""Sessions of browsers and computers over HTTP, with a live page that shows all of them.

Command:  ./launch/local.sh sandbox_service

Ready when it prints the address of the live page, its key included. Sessions survive a kill: start it again with
--config.run=RUN (the command is printed), and it ends what browsers are left, adopts the sessions and brings their
pages to where they were; computers and what runs in them go on meanwhile. Ctrl-C or SIGTERM ends it.
"""

import dataclasses
import os

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import IsolationFields
from tars_jax.pipelines.run_sections import DrawingSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, each, field, field_of, once, one_of
from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.web.listening import ListenAddress


@dataclasses.dataclass(frozen=True)
class ServiceBrowsers(DrawingSection):
    """The browsers of the sandbox service."""

    TOGETHER = BrowserConfig.TOGETHER

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
class SandboxService(ListenAddress, RunFields):
    """The sandbox service: owners, kinds of sessions and previews."""

    port: int = field_of(ServiceConfig, "port")
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
        once(each(one_of("browser", "computer"))),
    )
    preview_domain: str = field_of(ServiceConfig, "preview_domain")


def get_config() -> ConfigDict:
    return section(
        SandboxService,
        browser=section(ServiceBrowsers),
        computers=section(IsolationFields),
        server=section(ServiceConfig, without=("host", "port", "body_seconds", "person_seconds", "preview_domain")),
        sessions=section(SessionsConfig),
    )
