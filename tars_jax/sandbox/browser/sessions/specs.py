"""Specs of opened pages, as plain values: the head of a journal and of a checkpoint that a client sends back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import shown
from tars_jax.sandbox.browser.sessions.page_location import CLOCK
from tars_jax.sandbox.browser.site import MAX_SIDE, PageSpec, Site
from tars_jax.web.network import Hosts

MOST = 2.0**53  # of milliseconds, and of seconds
Folder = Annotated[str, Meta(pattern=r"^[^\0]*$", description="a folder")]
Address = Annotated[str, Meta(pattern="^https?://", description="an address of http or https")]
Side = Annotated[int, Meta(ge=1, le=MAX_SIDE)]


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
            raise InputError(f"page.storage must be cookies and origins; got {shown(sorted(page.storage))}")
    if page.clock is not None and page.clock.keys() != set(CLOCK):
        raise InputError(f"page.clock must be numbers: {', '.join(CLOCK)}; got {shown(page.clock)}")
    site = Site(Path(page.root), page.index, tuple((name, Path(folder)) for name, folder in page.mounts.items()))
    return PageSpec(
        site, page.width, page.height, page.single_canvas, page.network, page.storage, page.at, page.clock,
        page.accepts_dialogs,
    )  # fmt: skip
