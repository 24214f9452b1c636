"""Checks of a site's state as plain data: which rows a reader is to find. No code of a task is ever run.

{"read": "tickets", "where": {"summary": "Printer jams"}, "select": ["status"], "equals": [["closed"]]}
{"read": "wiki", "where": {"name": "BookClub"}, "contains": [{"text": "seven chairs"}]}
{"sql": "SELECT count(*) AS n FROM ticket WHERE owner = ?", "parameters": ["anna"], "equals": [{"n": 3}]}

Values are compared as texts without white space around them, and with the line ends of no system.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tars_jax import InputError
from tars_jax.json_fields import Fields, shown
from tars_jax.tasks.websites.site import Row, Website

EXPECTATIONS = ("equals", "contains", "count")


class ReadsState(Protocol):
    """A session, as far as checks ask it."""

    @property
    def site(self) -> Website: ...

    async def read(self, reader: str) -> Sequence[Row]: ...

    async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]: ...


@dataclasses.dataclass(frozen=True)
class Check:
    """Raises InputError for what cannot be.

    equals: these rows, in any order, and no others; a row may be a list, in the order of `select`.
    contains: a row for each of these has a text that holds the wanted one, in every column that is named.
    count: so many rows.
    """

    read: str = ""  # the name of one of the site's readers
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # only rows with these values
    select: tuple[str, ...] = ()  # only these columns; empty: all
    sql: str = ""  # instead of a reader: a statement for the site's database
    parameters: tuple[Any, ...] = ()
    equals: tuple[Any, ...] | None = None
    contains: tuple[Mapping[str, Any], ...] | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if bool(self.read) == bool(self.sql):
            raise InputError(f"a check must have either read or sql; got {self.read!r} and {self.sql!r:.80}")
        if sum(getattr(self, name) is not None for name in EXPECTATIONS) != 1:
            raise InputError(f"a check must expect one of {', '.join(EXPECTATIONS)}; got {shown(self.to_json())}")
        for row in self.equals or ():
            if isinstance(row, list | tuple) and len(row) != len(self.select):
                raise InputError(f"rows of equals must have a value for each of select; got {shown(row)}")

    async def wrong(self, session: ReadsState) -> str:
        """What is not as it should be; empty: nothing. Raises InputError for a reader or column that is not there."""
        rows = await self.rows(session)
        name = self.read or "sql"
        if self.count is not None:
            return "" if len(rows) == self.count else f"{name}: {len(rows)} rows instead of {self.count}"
        if self.contains is not None:
            for wanted in self.contains:
                if not any(all(_text(text) in _text(row.get(key)) for key, text in wanted.items()) for row in rows):
                    return f"{name}: no row contains {shown(dict(wanted))}"
            return ""
        wanted_rows = [
            dict(zip(self.select, row, strict=True)) if isinstance(row, list | tuple) else row
            for row in self.equals or ()
        ]
        if sorted(map(_key, rows)) == sorted(map(_key, wanted_rows)):
            return ""
        return f"{name}: {shown([dict(row) for row in rows])} instead of {shown([dict(row) for row in wanted_rows])}"

    async def rows(self, session: ReadsState) -> list[dict[str, Any]]:
        """What it is about."""
        if self.sql:
            if not session.site.database:
                raise InputError(f"a check of {session.site.name} must have read, as it has no database; got sql")
            found: Sequence[Row] = await session.sql(session.site.database, self.sql, self.parameters)
        else:
            found = await session.read(self.read)
        for column in {*self.where, *self.select}:
            if found and column not in found[0]:
                known = ", ".join(found[0])
                raise InputError(f"columns of {self.read or 'sql'} must be of {known}; got {column!r}")
        kept = [row for row in found if all(_text(row[key]) == _text(value) for key, value in self.where.items())]
        return [{key: row[key] for key in self.select or row} for row in kept]

    def to_json(self) -> dict[str, Any]:
        """Without what is left out."""
        given = {
            "read": self.read, "where": dict(self.where), "select": list(self.select), "sql": self.sql,
            "parameters": list(self.parameters), "equals": None if self.equals is None else list(self.equals),
            "contains": None if self.contains is None else list(self.contains), "count": self.count,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value or (name in EXPECTATIONS and value is not None)}

    @classmethod
    def from_json(cls, value: Any, prefix: str = "check.") -> Check:
        """Inverse of `to_json`. Raises InputError that names the field."""
        if not isinstance(value, Mapping):
            raise InputError(f"{prefix.rstrip('.')} must be an object; got {shown(value)}")
        fields = Fields(value, prefix)
        where = fields.value("where") or {}
        if not isinstance(where, Mapping):
            raise fields.error("where", "an object of columns and values")
        contains = fields.array("contains") if fields.value("contains") is not None else None
        equals = fields.array("equals") if fields.value("equals") is not None else None
        if contains is not None and not all(isinstance(each, Mapping) and each for each in contains):
            raise fields.error("contains", "an array of objects")
        if equals is not None and not all(isinstance(each, Mapping | list) for each in equals):
            raise fields.error("equals", "an array of objects or lists")
        check = cls(
            fields.text("read", ""), dict(where), tuple(map(str, fields.array("select"))), fields.text("sql", ""),
            tuple(fields.array("parameters")), None if equals is None else tuple(equals),
            None if contains is None else tuple(contains), fields.integer("count", None, 0, 1 << 30),
        )  # fmt: skip
        if unread := fields.unread():
            raise InputError(f"{prefix}{unread[0]} must not be there; a check has read, sql, where, select, and so on")
        return check


def _text(value: Any) -> str:
    """1, 1.0, "1" and " 1\\r\\n" are one; null is the empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "\n".join(line.rstrip() for line in str(value).replace("\r\n", "\n").split("\n")).strip()


def _key(row: Row) -> list[tuple[str, str]]:
    return sorted((key, _text(value)) for key, value in row.items())
