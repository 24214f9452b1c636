"""A website: an application of others, how it is installed and served, what it begins with, how it is read.

SITE = Website("fossil", version="2.21", ...)      # a file of this folder, or of anybody's
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from tars_jax import InputError

Row: TypeAlias = Mapping[str, Any]  # of what a reader finds; values are JSON
Content: TypeAlias = Mapping[str, Any]  # JSON: what a site is filled with
MANAGERS = ("pypi", "debian", "npm")
# In the computer: what is installed, the programs that fill and serve it, the keeper of its state.
ROOT, PROGRAMS, KEEPER = "/opt/website", "/opt/website_programs", "/opt/website_keeper"
MOST_ROWS = 5000


class SiteQueries(Protocol):
    """Queries of readers to a running site. All raise SandboxFailure("website") for an answer that there is not."""

    async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]: ...

    async def files(self, pattern: str) -> dict[str, str]:
        """The texts of files below the state's folder, by their paths there."""
        ...

    async def tables(self, file: str, told: Sequence[str], passed: Sequence[str]) -> list[dict[str, str]]:
        """Digests of the tables and definitions of a SQLite file; as in programs/keeper."""
        ...

    async def others(self, told: Sequence[str]) -> list[dict[str, str]]:
        """Digests of the files whose paths are like none of these patterns, but for databases."""
        ...

    async def http(self, method: str, path: str, body: str = "", kind: str = "") -> tuple[int, str]:
        """Status and text, asked as the user who is logged in."""
        ...

    async def run(self, argv: Sequence[str], stdin: str = "") -> str:
        """Output of a program, run in the state's folder."""
        ...


class StateReader(Protocol):
    """Finds out one part of a site's state, for verifiers; never for the policy."""

    async def rows(self, site: SiteQueries) -> Sequence[Row]: ...


@dataclasses.dataclass(frozen=True)
class Sql:
    """Rows of a SQLite file of the state. The statement cannot change it.

    There are none where whoever uses the site has taken a table or a column away, or put in what cannot be read, as
    some let them.
    """

    file: str
    statement: str
    parse: Callable[[Row], Row] = lambda row: row  # what a statement cannot say, such as what an editor draws by chance

    async def rows(self, site: SiteQueries) -> Sequence[Row]:
        from tars_jax.sandbox.failures import SandboxFailure

        try:
            return [self.parse(row) for row in await site.sql(self.file, self.statement)]
        except SandboxFailure as failure:
            if any(words in str(failure) for words in ("no such ", "malformed")):
                return []
            raise


@dataclasses.dataclass(frozen=True)
class FilesReader:
    """A row {path, text} of each file of the state that a pattern like **/*.md finds; or what `parse` makes of it."""

    pattern: str
    parse: Callable[[str, str], Sequence[Row]] = lambda path, text: [{"path": path, "text": text}]

    async def rows(self, site: SiteQueries) -> Sequence[Row]:
        found = await site.files(self.pattern)
        return [row for path in sorted(found) for row in self.parse(path, found[path])]


@dataclasses.dataclass(frozen=True)
class Untold:
    """Parts of a site's files that no other reader shows, wherever its program keeps them: {what, name, value}.

    A row of each table of a SQLite file, of each definition in it and of the numbers in its header, and of each file;
    values are digests. What is left out is listed, by patterns of names. How a file is laid out is no part of it: its
    pages, what VACUUM does, and the counter of its schema, whose definitions are compared themselves.
    """

    database: str = ""
    told: tuple[str, ...] = ()  # tables whose rows other readers tell, or that follow from what these tell
    passed: tuple[str, ...] = ()  # tables that looking at pages writes, or whose definitions other readers tell, too
    files: tuple[str, ...] = ()  # that other readers tell, or that follow from them
    empty: bool = False  # tables without rows count, too: not where programs make some as a page is looked at

    async def rows(self, site: SiteQueries) -> Sequence[Row]:
        passed = (*self.passed, "sqlite_sequence", "sqlite_autoindex_*")  # of SQLite itself
        tables = await site.tables(self.database, self.told, passed) if self.database else []
        shown = [row for row in tables if self.empty or row["what"] != "empty table"]
        return [*shown, *await site.others(self.files)]


@dataclasses.dataclass(frozen=True)
class Rest:
    """Rows of the site's answer to a GET, as JSON."""

    path: str
    parse: Callable[[Any], Sequence[Row]] = lambda answer: answer

    async def rows(self, site: SiteQueries) -> Sequence[Row]:
        status, text = await site.http("GET", self.path)
        return parsed(text if status < 400 else "", self.path, self.parse)


@dataclasses.dataclass(frozen=True)
class CommandReader:
    """Rows of the output of a program of the site, as JSON."""

    argv: tuple[str, ...]  # as `Website.serve`
    stdin: str = ""
    parse: Callable[[Any], Sequence[Row]] = lambda answer: answer

    async def rows(self, site: SiteQueries) -> Sequence[Row]:
        said = await site.run(self.argv, self.stdin)
        return parsed(said or "[]", self.argv[0], self.parse)


def parsed(text: str, asked: str, parse: Callable[[Any], Sequence[Row]]) -> Sequence[Row]:
    from tars_jax.sandbox.failures import SandboxFailure

    try:
        return parse(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise SandboxFailure("website", f"{asked} did not answer as it should: {text[:200]!r} ({error})") from error


@dataclasses.dataclass(frozen=True)
class Login:
    """A form that is sent before the first screenshot. Its hidden fields, such as tokens, go with it."""

    path: str  # of the page with the form
    fields: Mapping[str, str]
    action: str = ""  # where it is sent; empty: where the form says


@dataclasses.dataclass(frozen=True)
class Website:
    """A web application, as its files here declare it.

    Programs are argument lists in which {python}, {root}, {state}, {programs} and {port} stand for the computer's
    Python, the installed tree, the state's folder, the folder `programs/` and the port. Raises InputError for what
    cannot be.
    """

    name: str
    version: str  # that is installed; another is refused
    license: str
    package: str  # MANAGER:NAME, such as pypi:Trac
    port: int
    prepare: tuple[str, ...]  # fills the empty state's folder from the content, which it reads as JSON from stdin
    serve: tuple[str, ...]  # serves it on loopback until it is ended
    content: Callable[[random.Random], Content]
    readers: Mapping[str, StateReader]
    first_page: str = "/"
    health: str = "/"  # a GET of this answers below 400 when the site is up
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    login: Login | None = None
    # Of an agent's own requests: who is logged in, where an API has it from these and not from a cookie.
    api_headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    transient: tuple[str, ...] = ()  # patterns of files that are no state: logs, sessions, caches
    restarts: bool = False  # it keeps state in memory: a reset starts it anew
    reload: tuple[tuple[str, str, str], ...] = ()  # (method, path, body): makes it read what a reset has put back
    logs: tuple[str, ...] = ()  # readers that tell what was done and not what is: how often something is saved
    database: str = ""  # the SQLite file that queries with `sql` are asked of; empty: none
    start_s: float = 60.0
    memory_mib: int = 1024
    title: str = ""
    programs: str = ""  # a folder of the user's own that is shown as {programs}; empty: ours

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InputError(f"name of a website must be letters, digits and _; got {self.name!r}")
        if self.package.partition(":")[0] not in MANAGERS:
            raise InputError(
                f"package of {self.name} must begin with one of {', '.join(MANAGERS)}; got {self.package!r}"
            )
        if not 1024 <= self.port <= 65535:
            raise InputError(f"port of {self.name} must be from 1024 to 65535; got {self.port}")
        if not self.readers:
            raise InputError(f"readers of {self.name} must be at least one; got none")
        if unknown := [name for name in self.logs if name not in self.readers]:
            raise InputError(f"logs of {self.name} must be among its readers; got {unknown[0]!r}")

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def url(self) -> str:
        """Address of the first page."""
        return self.origin + self.first_page

    def content_for(self, seed: int) -> Content:
        """The content for a seed, the same in every process."""
        return self.content(random.Random(f"{self.name} {seed}"))

    def is_here(self, address: str) -> bool:
        """Whether an address is one of the site's own pages."""
        return address == self.origin or address.startswith((f"{self.origin}/", f"{self.origin}?"))
