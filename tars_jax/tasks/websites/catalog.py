"""Websites by name: ours, a user's own as package.module:attribute, and entry points of `tars_jax.websites`."""

from __future__ import annotations

from tars_jax import InputError
from tars_jax.plugins import Plugins
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.site import Website

_PLUGINS = Plugins("website", "tars_jax.websites")
_HERE = "tars_jax.tasks.websites"
# The attribute of each module is `SITE`.
OURS = ("fossil", "trac", "roundup", "fava", "otterwiki", "ihatemoney", "sqlite_web", "radicale", "maildev",
    "tiddlywiki", "wagtail")  # fmt: skip


def website_names() -> tuple[str, ...]:
    return (*OURS, *_PLUGINS.entry_points())


def load_website(name: str) -> Website:
    """Raises InputError where there is no such site."""
    ours = {each: f"{_HERE}.{each}:SITE" for each in OURS}
    found = _PLUGINS.load(name, ours)
    site = _PLUGINS.load(found) if isinstance(found, str) else found
    if not isinstance(site, Website):
        raise InputError(f"website {name!r} must be a Website; got an object of type {type(site).__name__}")
    return site


def installed_websites() -> tuple[str, ...]:
    """The names of those that can be started here."""
    return tuple(name for name in website_names() if is_installed(load_website(name)))
