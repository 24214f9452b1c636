"""Autoscaling of browsers: pure decisions from their load and memory, carried out by the manager."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.browser.reaper import marked_processes

KIBI = 1024


@dataclasses.dataclass(frozen=True)
class Load:
    """Load of one browser, for these decisions."""

    places_taken: int  # pages, and pages being opened
    memory_mb: float = 0.0  # of its processes when last looked at; 0 where none runs
    idle_s: float = 0.0  # since its last page closed; 0 while it has one
    alone: bool | None = None  # whether its pages are alone there; None where either is possible yet


def place_for_page(loads: Sequence[Load], config: BrowserConfig, free_mb: float, *, alone: bool = False) -> int | None:
    """Index of the place that takes the next page, len(loads) for that of a further browser, None to wait.

    The emptiest browser takes it. A browser that has grown too large takes none, unless it is empty: it is then
    replaced first. A page that has to be `alone` takes a browser that no other page is in.

    Where no browser can take it a further one starts while the machine has memory for it. As long as fewer pages are
    open than the usual browsers have places for, that is not asked for a page alone, nor for one of the usual browsers.
    """
    pages = sum(load.places_taken for load in loads)
    if pages >= max(config.max_browsers, config.browsers) * config.pages_per_browser:
        return None
    most = 1 if alone else config.pages_per_browser
    open_places = [
        (load.places_taken, load.alone is None, index)
        for index, load in enumerate(loads)
        if load.alone in (alone, None)
        and load.places_taken < most
        and not (load.places_taken and is_too_large(load, config))
    ]
    if open_places:
        return min(open_places)[2]
    shared = sum(not load.alone for load in loads)
    owed = pages < config.browsers * config.pages_per_browser and (alone or shared < config.browsers)
    return len(loads) if owed or free_mb >= config.reserve_mb else None


def is_too_large(load: Load, config: BrowserConfig) -> bool:
    return load.memory_mb > config.browser_memory_mb


def is_surplus(load: Load, count: int, config: BrowserConfig) -> bool:
    """Whether an idle place among `count` should go, browser and all."""
    return count > config.browsers and not load.places_taken and load.idle_s >= config.idle_browser_s


def free_memory_mb() -> float:
    """Memory that the machine can give without swapping, in MB."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / KIBI
    return float("inf")


def browser_memory_mb(token: str) -> float:
    """Resident memory of the processes of one launch, without the file pages that they share."""
    groups = set()
    for pid in marked_processes(token):
        try:
            groups.add(os.getpgid(pid))
        except ProcessLookupError:
            continue
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and os.getpgid(int(folder.name)) in groups:
                resident, shared = (folder / "statm").read_text(encoding="ascii").split()[1:3]
                total += (int(resident) - int(shared)) * page
        except (OSError, ValueError):  # it ended meanwhile
            continue
    return total / KIBI**2
