"""Applications to collect from: a table that the user gives, as CSV, scored by coverage and penetration.

    application,coverage,penetration,engagement
    Roundup,0.35,0.12,0.4

`coverage` is the share of industries that use it, `penetration` the share of people or firms there, `engagement`,
where it is given, the share of their time; all from 0 to 1.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.json_fields import short_repr

NEEDED = ("application", "coverage", "penetration")
COLUMNS = (*NEEDED, "engagement")


@dataclasses.dataclass(frozen=True)
class Application:
    name: str
    coverage: float
    penetration: float
    engagement: float | None = None

    @property
    def score(self) -> float:
        """The geometric mean: what no industry or nobody uses scores nothing, however large the rest."""
        shares = [self.coverage, self.penetration, *([] if self.engagement is None else [self.engagement])]
        return math.prod(shares) ** (1 / len(shares))


def read_applications(file: Path) -> tuple[Application, ...]:
    """Applications by score, the best first. Raises InputError that names the file, the row and the column."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{file} must be a table of applications in CSV; {error}") from error
    try:
        rows = [row for row in csv.reader(io.StringIO(text), strict=True)]
    except csv.Error as error:
        raise InputError(f"{file} must be a table of applications in CSV; {error}") from error
    head = [name.strip() for name in rows[0]] if rows else []
    if missing := [name for name in NEEDED if name not in head]:
        raise InputError(f"{file}: row 1 must name the columns {', '.join(NEEDED)}; got none for {missing[0]}")
    if unknown := [name for name in head if name not in COLUMNS or head.count(name) > 1]:
        raise InputError(f"{file}: row 1 must name columns of {', '.join(COLUMNS)}, each once; got {unknown[0]!r}")
    numbered = [(number, row) for number, row in enumerate(rows[1:], 2) if any(map(str.strip, row))]
    found = [_application(head, row, f"{file}: row {number}") for number, row in numbered]
    names = [each.name for each in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{file}: column application must have each one once; got {twice[0]!r} twice")
    if not found:
        raise InputError(f"{file} must hold an application at least; got none")
    return tuple(sorted(found, key=lambda each: (-each.score, each.name)))


def _application(head: Sequence[str], row: Sequence[str], where: str) -> Application:
    if len(row) != len(head):
        raise InputError(f"{where} must have {len(head)} cells; got {len(row)}")
    cells = {name: cell.strip() for name, cell in zip(head, row, strict=True)}
    if not cells["application"]:
        raise InputError(f"{where}, column application must be a name; got nothing")
    shares = {name: _share(cells[name], f"{where}, column {name}") for name in ("coverage", "penetration")}
    engagement = _share(given, f"{where}, column engagement") if (given := cells.get("engagement")) else None
    return Application(cells["application"], engagement=engagement, **shares)


def _share(cell: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError(f"{where} must be a number from 0 to 1; got {short_repr(cell)}")
    return value
