"""The state of a page that another page can be given: its address, cookies and storage, and its clock.

The way of a page that stays on its own site is gone again, exactly (journal.py). Hosts of an open network answer
differently each time, and going the way again would order everything twice: such a page is brought back to its place
after its last call instead. What its scripts held in memory is then lost, as when a person loads a page anew.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax.sandbox.browser.clock import ORIGIN
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.site import PageSpec

CLOCK = ("now", "until", "past", "random", "seed")
WHERE = f"""({{url: location.href, clock_ms: performance.now(), title: document.title,
  clock: Object.fromEntries({list(CLOCK)!r}.map((name) => [name, __clock.timeline[name]]))}})"""


@dataclasses.dataclass(frozen=True)
class PageLocation:
    url: str
    title: str
    clock_ms: float  # since the document began
    clock: dict[str, float]  # state of the timeline and of chance (clock/timeline.js)
    storage: dict[str, Any]


async def place_of(page: Page) -> PageLocation:
    """Reads where a page is. Raises as `Page.evaluate`."""
    return PageLocation(**await page.evaluate(WHERE), storage=await page.storage())


def spec_at(spec: PageSpec, place: PageLocation, *, clock: bool) -> PageSpec:
    """Spec that opens a page at a place; on the index where the address is none that can be loaded."""
    at = place.url
    loads = spec.site.find(at) is not None if at.startswith(f"{ORIGIN}/") else at.startswith(("http://", "https://"))
    return dataclasses.replace(
        spec, at=at if loads else None, storage=place.storage, clock=place.clock if clock else None
    )
