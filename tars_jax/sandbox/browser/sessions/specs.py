"""How a page was opened, as plain values: the head of a journal and of a checkpoint that a client sends back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import is_text
from tars_jax.sandbox.browser.sessions.page_location import CLOCK
from tars_jax.sandbox.browser.site import MAX_SIDE, PageSpec, Site
from tars_jax.web.network import Hosts
from tars_jax.web.protocol import Fields, RequestError

MOST_MS = MOST_SECONDS = 2.0**53
COOKIE: dict[str, tuple[type, ...]] = {
    **{name: (str,) for name in ("name", "value", "domain", "path", "sameSite")},
    **{name: (bool,) for name in ("httpOnly", "secure")},
    "expires": (int, float),
}
SAME_SITE = ("Strict", "Lax", "None")


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
    try:
        return _spec(Fields(value, "page"))
    except RequestError as error:
        raise InputError(error.message) from error


def _spec(fields: Fields) -> PageSpec:
    mounts, network, storage = fields.value("mounts"), fields.array("network"), fields.value("storage")
    if not isinstance(mounts, dict) or not all(_is_path(folder) for folder in mounts.values()):
        raise fields.error("mounts", "an object, name -> folder")
    if not all(map(is_text, network)):
        raise fields.error("network", "an array of hosts")
    Hosts(network)
    # Playwright would take a text for the path of a file on this machine, and read it.
    if storage is not None and not _is_storage(storage):
        raise fields.error("storage", 'cookies and storage of a page: {"cookies": [...], "origins": [...]}')
    clock = fields.value("clock")
    if clock is not None and not _is_clock(clock):
        raise fields.error("clock", f"numbers: {', '.join(CLOCK)}")
    if not _is_path(root := fields.text("root")):
        raise fields.error("root", "a folder")
    spec = PageSpec(
        Site(Path(root), fields.text("index"), tuple((name, Path(folder)) for name, folder in mounts.items())),
        fields.integer("width", 0, 1, MAX_SIDE) or 0, fields.integer("height", 0, 1, MAX_SIDE) or 0,
        fields.flag("single_canvas"), tuple(network), storage, fields.optional_text("at"), clock,
        fields.flag("accepts_dialogs"),
    )  # fmt: skip
    if spec.at is not None and not spec.at.startswith(("http://", "https://")):
        raise fields.error("at", "an address of http or https")
    if not (spec.width and spec.height):
        raise fields.error("height" if spec.width else "width", f"a whole number from 1 to {MAX_SIDE}")
    fields.done()
    return spec


def _is_path(value: Any) -> bool:
    return is_text(value) and "\0" not in value


def _is_clock(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == set(CLOCK)
        and all(type(number) in (int, float) and abs(number) <= MOST_MS for number in value.values())
    )


def _is_storage(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"cookies", "origins"}:
        return False
    for entries in value.values():
        if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
            return False
    return all(map(_is_origin, value.get("origins", ()))) and all(map(_is_cookie, value.get("cookies", ())))


def _is_origin(value: dict[str, Any]) -> bool:
    pairs = value.get("localStorage", [])
    return (
        str(value.get("origin")).startswith(("http://", "https://"))
        and isinstance(pairs, list)
        and all(isinstance(each, dict) and is_text(each.get("name")) and is_text(each.get("value")) for each in pairs)
    )


def _is_cookie(value: dict[str, Any]) -> bool:
    if not all(type(value.get(name)) in kinds for name, kinds in COOKIE.items()):
        return False
    return value["sameSite"] in SAME_SITE and abs(value["expires"]) <= MOST_SECONDS
