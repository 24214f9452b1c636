"""Further tables of a report: rows of an experiment's own, below its verdict."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Table:
    """A titled table; the first cell of a row is its name."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | int]]
    note: str = ""

    def to_html(self) -> str:
        """As a section."""
        head = "".join(f"<td>{html.escape(name)}</td>" for name in self.head)
        rows = "".join(
            f"<tr><th>{html.escape(str(row[0]))}</th>"
            + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        note = f'<p class="note">{html.escape(self.note)}</p>' if self.note else ""
        return (
            f'<section class="parts"><h2>{html.escape(self.title)}</h2>{note}'
            f'<table><tr class="head">{head}</tr>{rows}</table></section>'
        )
