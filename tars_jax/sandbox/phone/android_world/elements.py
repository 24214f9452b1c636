"""What is on a phone's screen, as `uiautomator dump` lists it: what AndroidWorld's `index` counts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from tars_jax import InputError
from tars_jax.sandbox.phone.phone import Phone

DUMP = "/sdcard/window_dump.xml"
BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")
MOST_BYTES = 8 << 20
Bounds = tuple[int, int, int, int]


async def element_bounds(phone: Phone) -> list[Bounds]:
    """Left, top, right and bottom in pixels of each element, in the order of the dump. Raises InputError."""
    result = await phone.shell("uiautomator", "dump", DUMP)
    if result.status or "ERROR" in result.text:
        raise InputError(f"the screen must be one that uiautomator can list; it said {result.text.strip()[:200]!r}")
    return read_bounds(await phone.pull(DUMP))


def read_bounds(xml: bytes) -> list[Bounds]:
    """Like `element_bounds`, of a dump's XML. Entities are none of uiautomator's, and are refused."""
    if len(xml) > MOST_BYTES or b"<!" in xml.replace(b"<!--", b""):
        raise InputError("a dump of uiautomator must be plain XML of at most 8 MiB")
    try:
        nodes = ElementTree.fromstring(xml).iter("node")
    except ElementTree.ParseError as error:
        raise InputError(f"a dump of uiautomator must be whole XML; {error}") from error
    found = (BOUNDS.fullmatch(node.get("bounds", "")) for node in nodes)
    return [(int(match[1]), int(match[2]), int(match[3]), int(match[4])) for match in found if match]
