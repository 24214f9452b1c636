"""Spec of a computer, as a request for a lease says it."""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.pyautogui import pyautogui_folder, with_pyautogui
from tars_jax.sandbox.computer.spec import MIB, PROCESSES, SHARED_MIB, ContainerSpec
from tars_jax.sandbox.tools.mcp.spec import ServerSpec, check_servers, read_specs
from tars_jax.web.protocol import RequestFields

PARTS = ("shell", "functions", "files", "jupyter", "desktop", "browser", "phone", "mcp")
SCREENS = ("desktop", "browser", "phone")
DEFAULT_PARTS = ("shell", "files", "jupyter")
LONGEST_S = 86_400.0
# A desktop with a window manager and some applications needs more than a shell.
DESKTOP_MIB, DESKTOP_PROCESSES = 2048, 512
BROWSER_MIB, BROWSER_PROCESSES = 1536, 512  # besides, of a browser on it


@dataclasses.dataclass(frozen=True)
class ComputerRequest:
    """Raises InputError for parts that there are not."""

    container: ContainerSpec = dataclasses.field(default_factory=ContainerSpec)
    parts: tuple[str, ...] = DEFAULT_PARTS
    width: int = 1280  # of the desktop, or of the page, pixels
    height: int = 720
    phone_width: int = 360  # pixels
    phone_height: int = 640
    grace_s: float = 0.0  # behind the end of the lease, for whoever looks at what was done
    job_s: float = 3600.0  # as long as programs run in the background, the session lives on for so long
    mcp: tuple[ServerSpec, ...] = ()  # servers of others that run inside
    taken: tuple[str, ...] = ()  # names that no tool of these may have, besides the session's own functions

    def __post_init__(self) -> None:
        for part in self.parts:
            if part not in PARTS:
                raise InputError(f"parts must be of {', '.join(PARTS)}; got {part!r:.80}")
        check_servers(self.mcp, self.parts)
        if shown := [spec.name for spec in self.mcp if spec.show]:
            raise InputError(f"mcp must leave show out: a service shows no folder of its own; got that of {shown[0]!r}")

    @property
    def screen(self) -> str | None:
        """The part that the session shows: of several the first."""
        return next((part for part in SCREENS if part in self.parts), None)

    @property
    def has_page(self) -> bool:
        """Whether its browser is a page of the sandbox's, on a virtual clock, and no application of a desktop."""
        return self.screen == "browser"

    @property
    def screen_size(self) -> tuple[int, int]:
        """Width and height of what it shows, pixels."""
        return (self.phone_width, self.phone_height) if self.screen == "phone" else (self.width, self.height)

    def to_json(self) -> dict[str, Any]:
        container = {
            name: getattr(self.container, name)
            for name in ("memory_mib", "processes", "disk_mib", "shared_memory_mib", "cpus", "hostname")
        }
        return {
            **container, "environment": dict(self.container.environment), "parts": list(self.parts),
            "width": self.width, "height": self.height, "phone_width": self.phone_width,
            "phone_height": self.phone_height, "grace_seconds": self.grace_s, "job_seconds": self.job_s,
            "mcp": [dataclasses.asdict(spec) for spec in self.mcp] or None, "taken": list(self.taken),
        }  # fmt: skip


def read_spec(fields: RequestFields) -> ComputerRequest:
    """The inverse of `to_json`; what is missing has its default. Raises RequestError and InputError."""
    parts = tuple(fields.array("parts")) or DEFAULT_PARTS
    usual = ContainerSpec()
    desktop = "desktop" in parts
    browser = desktop and "browser" in parts
    environment = fields.value("environment") or {}
    if not isinstance(environment, dict) or not all(isinstance(value, str) for value in environment.values()):
        raise fields.error("environment", "an object of texts")

    def whole(name: str, default: int, least: int, most: int) -> int:
        value = fields.integer(name, default, least, most)
        return default if value is None else value

    servers, taken = fields.value("mcp"), fields.array("taken")
    if not all(isinstance(name, str) for name in taken):
        raise fields.error("taken", "an array of texts")
    container = ContainerSpec(
        whole("memory_mib", DESKTOP_MIB + browser * BROWSER_MIB if desktop else usual.memory_mib, *MIB),
        whole(
            "processes",
            DESKTOP_PROCESSES + browser * BROWSER_PROCESSES if desktop else usual.processes,
            *PROCESSES,
        ),
        whole("disk_mib", usual.disk_mib, *MIB),
        whole("shared_memory_mib", usual.shared_memory_mib, *SHARED_MIB),
        None if fields.value("cpus") is None else fields.number("cpus", 1.0, 0.01, 1024),
        environment=environment,
        hostname=fields.text("hostname", usual.hostname),
        one_device=desktop,
    )
    if desktop and (folder := pyautogui_folder()):
        container = with_pyautogui(container, folder)
    return ComputerRequest(
        container, parts, whole("width", 1280, 64, 8192), whole("height", 720, 64, 8192),
        whole("phone_width", 360, 160, 4096), whole("phone_height", 640, 160, 4096),
        fields.number("grace_seconds", 0.0, 0.0, LONGEST_S), fields.number("job_seconds", 3600.0, 0.0, LONGEST_S),
        () if servers is None else read_specs(servers), tuple(taken),
    )  # fmt: skip
