"""View of a page, as synthesis reads it: controls with labels and places, tables, headings."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

VIEW_SCRIPT = Path(__file__).with_name("view.js").read_text(encoding="utf-8")
HASH = re.compile(r"[0-9a-f]{8,}", re.IGNORECASE)  # of a label: its row says more
PRESSED = ("link", "button")
TYPED = ("text", "textarea", "editor", "email", "number", "url", "search", "tel", "password")
DRAWN = ("date", "time", "datetime-local", "month", "week", "color", "range", "file", "multiple")  # not filled in here


@dataclasses.dataclass(frozen=True)
class Control:
    """Something that can be pressed or filled in."""

    kind: str  # link, button, select, editor, textarea, or the type of an input
    label: str  # what a person reads beside or on it; empty: nothing
    name: str = ""  # of the field, never shown
    id: str = ""
    form: int = -1  # index of its form on the page; -1: none
    value: str = ""
    checked: bool = False
    required: bool = False
    read_only: bool = False
    options: tuple[str, ...] = ()  # labels of a select's
    type: str = ""
    low: str = ""
    high: str = ""
    longest: int = -1
    hint: str = ""  # what the page says of a field beside its name
    refused: str = ""  # what it says against what stands there
    disabled: bool = False  # of a button: it cannot be pressed yet
    entry: bool = False  # of a button: it is an entry of a list, and its label what tells it from the others
    href: str = ""
    row: str = ""  # what tells its row of a list from the others
    target: str = ""
    around: str = "content"  # or "frame": in a header, footer or navigation
    x: float = 0.0  # pixels of the viewport
    y: float = 0.0
    hit: bool | None = None  # whether a click at (x, y) meets it; None: it is outside of the viewport
    pointed: bool = False  # it is seen once the mouse is there

    @property
    def is_pressed(self) -> bool:
        return self.kind in PRESSED

    @property
    def is_typed(self) -> bool:
        return self.kind in TYPED


@dataclasses.dataclass(frozen=True)
class PageForm:
    method: str
    action: str


@dataclasses.dataclass(frozen=True)
class PageTable:
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class View:
    """A page at one moment."""

    url: str
    title: str
    text: str
    headings: tuple[str, ...]
    forms: tuple[PageForm, ...]
    controls: tuple[Control, ...]
    tables: tuple[PageTable, ...]
    canvas_share: float  # the largest canvas, as a share of the viewport
    width: int
    height: int
    scrolled: float
    page_height: float
    alerts: tuple[str, ...] = ()  # what the page says so that it is noticed

    @property
    def heading(self) -> str:
        return self.headings[0] if self.headings else self.title

    @property
    def path(self) -> str:
        return path_of(self.url)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> View:
        return cls(
            **{
                **record,
                "headings": tuple(record["headings"]),
                "alerts": tuple(record["alerts"]),
                "forms": tuple(PageForm(**each) for each in record["forms"]),
                "controls": tuple(
                    Control(**{**each, "options": tuple(each["options"])}) for each in record["controls"]
                ),
                "tables": tuple(
                    PageTable(tuple(each["headers"]), tuple(map(tuple, each["rows"]))) for each in record["tables"]
                ),
            }
        )


def name_of(view: View, link: Control) -> str:
    """Name of a link: its text, or its row's where others say the same; empty: nothing tells it apart."""
    alike = [each for each in view.controls if each.kind == "link" and each.label == link.label]
    if len({each.href for each in alike}) <= 1 and not (link.row and HASH.fullmatch(link.label)):
        return link.label
    rows = {each.href for each in alike if each.row == link.row}
    return link.row if len(rows) == 1 else ""


def row_of(view: View, button: Control) -> str:
    """Text that tells the row of a list that a button stands in; empty: it stands in none, or another says the same."""
    alike = [each for each in view.controls if each.kind == "button" and each.label == button.label]
    alike = [each for each in alike if each.row == button.row]
    return button.row if len(alike) == 1 else ""


def path_of(url: str) -> str:
    """An address without its host and fragment."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
