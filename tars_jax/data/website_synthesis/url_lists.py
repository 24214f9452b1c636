"""Lists of addresses: which of them are sites that tasks can be made for, and why the others are not."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.data.config import ExplorationConfig
from tars_jax.data.website_synthesis.addresses import AddressSite
from tars_jax.data.website_synthesis.exploration import Explored, explore, is_error
from tars_jax.data.website_synthesis.functions import functions_of
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.sandbox.browser import BrowserManager, PageError, SandboxFailure

REASONS = ("dead", "gated", "static", "game", "a duplicate")
LOOK = ExplorationConfig(pages=8, alike=2, depth=2, presses=0)  # what a verdict needs
GATES = re.compile(
    r"captcha|verify (that )?you are (a )?human|unusual traffic|subscribe to (continue|read)|subscribers only|paywall|"
    r"(log|sign) in to (continue|see|view|read)|members only|401 unauthorized|403 forbidden|access denied",
    re.IGNORECASE,
)
GAMES = re.compile(r"\b(game|play now|high ?score|your score|game over|level \d+|arcade|puzzle)\b", re.IGNORECASE)
LARGE_CANVAS = 0.25  # of the viewport


@dataclasses.dataclass(frozen=True)
class AddressCheck:
    """Findings at one address."""

    url: str
    reason: str  # one of REASONS; empty: it is kept
    said: str = ""  # what the verdict rests on
    functions: int = 0


def read_url_list(path: Path) -> list[str]:
    """Reads one address a line; empty lines and what follows a # and a space are left out.

    Raises InputError that names file and line for what is no address of a site.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"addresses must be a text file with one a line; got {str(path)!r} ({error})") from error
    found = []
    for number, line in enumerate(lines, start=1):
        text = re.split(r"(?:^|\s)#(?:\s|$)", line, maxsplit=1)[0].strip()
        if not text:
            continue
        try:
            found.append(AddressSite(text if "://" in text else f"https://{text}").url)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    if not found:
        raise InputError(f"addresses must be at least one; got none in {str(path)!r}")
    return found


async def look_at(manager: BrowserManager, site: LiveSite, config: ExplorationConfig = LOOK) -> AddressCheck:
    """Explores a site a little, without filling in or pressing anything."""
    try:
        explored = await explore(manager, site, config)
    except (PageError, SandboxFailure) as error:
        return AddressCheck(site.url, "dead", str(error)[:200])
    if not explored.pages:
        return AddressCheck(site.url, "dead", "it shows an error")
    return verdict(site.url, explored.pages)


def verdict(url: str, pages: Sequence[Explored]) -> AddressCheck:
    """The verdict on an address, by what the explored pages show, the first of them above all."""
    first = pages[0].view
    if is_error(first) or not (first.text.strip() or first.controls or first.canvas_share):
        return AddressCheck(url, "dead", first.title or "an empty page")
    functions, _ = functions_of(pages)
    gate = GATES.search(f"{first.title} {first.text}")
    if gate:
        return AddressCheck(url, "gated", gate[0])
    asks_password = any(each.kind == "password" for page in pages[:1] for each in page.view.controls)
    if asks_password and not functions:
        return AddressCheck(url, "gated", "it asks for a password and offers nothing else")
    words = GAMES.search(f"{first.title} {' '.join(first.headings)} {first.text}")
    if first.canvas_share >= LARGE_CANVAS and (words or not functions):
        return AddressCheck(url, "game", words[0] if words else "one large canvas")
    if not functions:
        return AddressCheck(url, "static", f"no form that does something on {len(pages)} pages")
    return AddressCheck(url, "", f"{len(functions)} functions on {len(pages)} pages", len(functions))


async def curate(manager: BrowserManager, urls: Sequence[str]) -> list[AddressCheck]:
    """A verdict for each address, in order; a host that was there before counts once."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for url in urls:
        site = AddressSite(url)
        if site.network in seen:
            found.append(AddressCheck(url, "a duplicate", "its host is in the list already"))
            continue
        seen.add(site.network)
        found.append(await look_at(manager, site))
    return found
