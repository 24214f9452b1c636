"""Specs of opened pages, as plain values: the head of a journal and of a checkpoint that a client sends back.

`PageLocation` is the state of a page that another page can be given: its address, cookies and storage, and its clock. A
page that stays on its own site is replayed exactly (journal.py). Hosts of an open network answer differently each time,
and a replay would order everything twice: such a page is brought back to its last location.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import short_repr
from tars_jax.sandbox.browser.clock import ORIGIN
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.site import MAX_SIDE, PageSpec, Site
from tars_jax.web.network import Hosts

MOST = 2.0**53  # of milliseconds, and of seconds
Folder = Annotated[str, Meta(pattern=r"^[^\0]*$", description="a folder")]
Address = Annotated[str, Meta(pattern="^https?://", description="an address of http or https")]
Side = Annotated[int, Meta(ge=1, le=MAX_SIDE)]
CLOCK = ("now", "until", "past", "random", "seed")
WHERE = f"""({{url: location.href, clock_ms: performance.now(), title: document.title,
  clock: Object.fromEntries({list(CLOCK)!r}.map((name) => [name, __clock.timeline[name]]))}})"""


class _Cookie(msgspec.Struct, frozen=True):
    name: str
    value: str
    domain: str
    path: str
    sameSite: Literal["Strict", "Lax", "None"]
    httpOnly: bool
    secure: bool
    expires: Annotated[float, Meta(ge=-MOST, le=MOST)]


class _Item(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Origin(msgspec.Struct, frozen=True):
    origin: Address
    localStorage: tuple[_Item, ...] = ()


class _Storage(msgspec.Struct, frozen=True):
    cookies: tuple[_Cookie, ...] = ()
    origins: tuple[_Origin, ...] = ()


class _Page(msgspec.Struct, frozen=True):
    root: Folder
    index: str
    mounts: Mapping[str, Folder]
    width: Side
    height: Side
    single_canvas: bool = False
    network: tuple[str, ...] = ()
    storage: dict[str, Any] | None = None  # Playwright would take a text for the path of a file, and read it
    at: Address | None = None
    clock: dict[str, Annotated[float, Meta(ge=-MOST, le=MOST)]] | None = None
    accepts_dialogs: bool = False


def spec_to_json(spec: PageSpec) -> dict[str, Any]:
    site = spec.site
    mounts = {name: str(Path(folder).absolute()) for name, folder in site.mounts}
    rest = {name: value for name, value in vars(spec).items() if name != "site"}
    return {
        "root": str(Path(site.root).absolute()), "index": site.index, "mounts": mounts, **rest,
        "network": list(spec.network), "storage": spec.storage and dict(spec.storage),
        "clock": spec.clock and dict(spec.clock),
    }  # fmt: skip


def spec_from_json(value: Any) -> PageSpec:
    """The inverse of spec_to_json. Raises InputError that names the field."""
    page = decoded(value, _Page, "page.")
    Hosts(page.network)
    if page.storage is not None:
        decoded(page.storage, _Storage, "page.storage.", unknown=None)
        if not page.storage.keys() <= {"cookies", "origins"}:
            raise InputError(f"page.storage must be cookies and origins; got {short_repr(sorted(page.storage))}")
    if page.clock is not None and page.clock.keys() != set(CLOCK):
        raise InputError(f"page.clock must be numbers: {', '.join(CLOCK)}; got {short_repr(page.clock)}")
    site = Site(Path(page.root), page.index, tuple((name, Path(folder)) for name, folder in page.mounts.items()))
    return PageSpec(
        site, page.width, page.height, page.single_canvas, page.network, page.storage, page.at, page.clock,
        page.accepts_dialogs,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class PageLocation:
    url: str
    title: str
    clock_ms: float  # since the document began
    clock: dict[str, float]  # state of the timeline and of chance (clock/timeline.js)
    storage: dict[str, Any]


async def location_of(page: Page) -> PageLocation:
    """Reads where a page is. Raises as `Page.evaluate`."""
    return PageLocation(**await page.evaluate(WHERE), storage=await page.storage())


def spec_at(spec: PageSpec, place: PageLocation, *, clock: bool) -> PageSpec:
    """Spec that opens a page at a place; on the index where the address is none that can be loaded."""
    at = place.url
    loads = spec.site.find(at) is not None if at.startswith(f"{ORIGIN}/") else at.startswith(("http://", "https://"))
    return dataclasses.replace(
        spec, at=at if loads else None, storage=place.storage, clock=place.clock if clock else None
    )
