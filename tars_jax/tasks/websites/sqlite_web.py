"""sqlite-web: the tables of a shop's SQLite file, to be looked at and edited. Nobody logs in."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Mapping

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Row, SiteQueries, Sql, Untold, Website

_DATABASE = "shop.db"
_NAME = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|\w+')
_TOKENS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[(),]|[^'"`\[(),]+|.""", re.DOTALL)
_SERVE = "from sqlite_web.sqlite_web import main; main()"


def _content(rng: random.Random) -> Content:
    things = words.pick(rng, words.THINGS, 10)
    people = words.pick(rng, words.PEOPLE, 6)
    return {
        "products": [[n, thing.capitalize(), rng.randint(500, 90000) / 100, rng.randint(0, 40)]
                     for n, thing in enumerate(things, 1)],
        "customers": [[n, person, f"{words.login_of(person)}@example.org", rng.choice(words.SHOPS)]
                      for n, person in enumerate(people, 1)],
        "orders": [[n, rng.randint(1, 6), rng.randint(1, 10), rng.randint(1, 9),
                    rng.choice(("open", "sent", "paid", "returned"))] for n in range(1, 16)],
    }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Added:
    """A row of each value in a table or column that was not there at first."""

    first: Mapping[str, tuple[str, ...]]  # the columns of each table

    async def rows(self, site: SiteQueries) -> list[Row]:
        rows: list[Row] = []
        for table, name in await _columns(site):
            if name not in self.first.get(table, ()):
                held = f"SELECT {_named(name)} AS value FROM {_named(table)} WHERE {_named(name)} IS NOT NULL"
                rows += [{"table": table, "column": name, **row} for row in await Sql(_DATABASE, held).rows(site)]
        return rows


@dataclasses.dataclass(frozen=True)
class Blobs:
    """The number of values of a column that are bytes, which look like texts: {table, column, count} where there are
    any."""

    async def rows(self, site: SiteQueries) -> list[Row]:
        rows: list[Row] = []
        for table, name in await _columns(site):
            counted = f"SELECT count(*) AS count FROM {_named(table)} WHERE typeof({_named(name)}) = 'blob'"
            found = await Sql(_DATABASE, counted).rows(site)
            rows += [{"table": table, "column": name, **row} for row in found if row["count"]]
        return rows


async def _columns(site: SiteQueries) -> list[tuple[str, str]]:
    """(table, column) of all tables."""
    columns = await site.sql(
        _DATABASE,
        'SELECT m.name AS "table", c.name FROM sqlite_master m, pragma_table_info(m.name) c '
        "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid",
    )
    return [(each["table"], each["name"]) for each in columns]


@dataclasses.dataclass(frozen=True)
class Definitions:
    """The definition of a table beyond the names and types of its columns: {table, column, more}.

    `column` is empty for what belongs to the whole table.
    """

    async def rows(self, site: SiteQueries) -> list[Row]:
        tables = await site.sql(_DATABASE, "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
        rows: list[Row] = []
        for table, sql in ((each["name"], each["sql"]) for each in tables):
            columns = await site.sql(_DATABASE, "SELECT name, type FROM pragma_table_info(?)", [table])
            types = {each["name"]: each["type"] for each in columns}
            rows += [{"table": table, **row} for row in _more(sql or "", types)]
        return rows


def _more(sql: str, types: Mapping[str, str]) -> list[Row]:
    """Like `Definitions`, of one statement of a table whose columns have these types."""
    rows = []
    for part in _parts(sql):
        said = " ".join(part.split())
        match = _NAME.match(said)
        name = match[0].strip('"`[]').replace('""', '"') if match else ""
        if match and name in types:
            more, kind = said[match.end() :].strip(), " ".join(types[name].split())
            more = more[len(kind) :].strip() if more.upper().startswith(kind.upper()) else more
            rows.append({"column": name, "more": more})
        else:
            rows.append({"column": "", "more": said})
    return [row for row in rows if row["more"]]


def _parts(sql: str) -> list[str]:
    """The parts between the commas of a table's outer parentheses, and what comes after them."""
    parts, depth = [""], 0
    for token in _TOKENS.findall(sql):
        is_outer = depth == (0 if token == "(" else 1)
        depth += (token == "(") - (token == ")")
        if is_outer and token in ("(", ",", ")"):
            parts.append("")
        else:
            parts[-1] += token
    return parts[1:]


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


SITE = Website(
    "sqlite_web",
    version="0.8.2",
    license="MIT",
    package="pypi:sqlite-web",
    title="sqlite-web",
    port=8007,
    prepare=("{python}", "{programs}/sqlite_web_prepare.py"),
    serve=("{python}", "-c", _SERVE, "--no-browser", "-H", "127.0.0.1", "-p", "{port}", "shop.db"),
    content=_content,
    readers={
        "products": Sql(_DATABASE, "SELECT id, name, price, stock FROM product ORDER BY id"),
        "customers": Sql(_DATABASE, "SELECT id, name, email, company FROM customer ORDER BY id"),
        "orders": Sql(
            _DATABASE,
            'SELECT o.id, c.name AS customer, p.name AS product, o.quantity, o.status FROM "order" o '
            "LEFT JOIN customer c ON c.id = o.customer_id LEFT JOIN product p ON p.id = o.product_id ORDER BY o.id",
        ),
        "tables": Sql(_DATABASE, "SELECT name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"),
        "columns": Sql(
            _DATABASE,
            'SELECT m.name AS "table", c.name, c.type, c."notnull" FROM sqlite_master m, pragma_table_info(m.name) c '
            "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid",
        ),
        "added": Added(
            {
                "product": ("id", "name", "price", "stock"),
                "customer": ("id", "name", "email", "company"),
                "order": ("id", "customer_id", "product_id", "quantity", "status"),
            }
        ),
        "blobs": Blobs(),
        "definitions": Definitions(),
        "untold": Untold(_DATABASE, passed=("product", "customer", "order"), empty=True),
        "indexes": Sql(_DATABASE, "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' ORDER BY name"),
    },
    database=_DATABASE,
)
