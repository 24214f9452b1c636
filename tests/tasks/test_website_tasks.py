"""Tasks over websites as data: what is refused, what a file holds, what a state that moves is. No site runs here."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.envs.website_app import WebsiteAppEnvironment
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites import installation
from tars_jax.tasks.websites.catalog import load_website, website_names
from tars_jax.tasks.websites.programs.keeper.__main__ import Keeper
from tars_jax.tasks.websites.programs.keeper.visitor import Visitor
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import FilesReader, Row, Untold
from tars_jax.tasks.websites.sqlite_web import Added, Definitions
from tars_jax.tasks.websites.tables import MOST_READS, steady_tables, to_tables
from tars_jax.tasks.websites.task import WebsiteTask, read_website_tasks

ROWS = [{"id": 1, "summary": "Door lock beeps ", "status": "new"}, {"id": 2, "summary": "x\r\ny", "status": None}]
TASK = {
    "id": "one", "site": "trac", "instruction": "Close ticket 1.",
    "effect": {"changes": [{"read": "tickets", "where": {"id": 1}, "is": {"status": "closed"}}]},
}  # fmt: skip


@pytest.mark.parametrize("name", website_names())
def test_content_comes_from_the_seed_alone(name: str) -> None:
    site = load_website(name)
    one, again, other = site.content_for(3), site.content_for(3), site.content_for(4)
    assert one == again != other
    assert json.loads(json.dumps(one)) == one
    assert site.license and site.version and site.is_here(site.url) and not site.is_here("http://localhost.evil/")
    assert not site.is_here(f"{site.origin}@evil/") and not site.is_here("http://localhost:1/")


class Moving:
    """A site whose state is another one at each read, for so many reads."""

    site = load_website("trac")

    def __init__(self, moves: int) -> None:
        self.left, self.reads = moves, 0

    async def snapshot(self) -> dict[str, Any]:
        self.reads += 1
        self.left -= 1
        return {"tickets": [{"id": max(self.left, 0)}]}


def test_a_state_is_read_until_two_reads_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    still, moving, never = Moving(0), Moving(4), Moving(1000)
    assert asyncio.run(steady_tables(still)) == {"tickets": [{"id": "0"}]} and still.reads == 2 and not waited
    assert asyncio.run(steady_tables(moving)) == {"tickets": [{"id": "0"}]} and moving.reads == 5
    with pytest.raises(SandboxFailure, match="website: its state changed by itself between 8 reads"):
        asyncio.run(steady_tables(never))
    assert never.reads == MOST_READS == 8 and sum(waited) < 10


@pytest.mark.parametrize(("said", "is_gone"), [("sql: no such column: name", True), ("sql: database is locked", False)])
def test_a_table_that_a_user_took_away_has_no_rows(said: str, is_gone: bool) -> None:
    class Broken(WebsiteSession):
        async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
            raise SandboxFailure("website", said)

    session = Broken(load_website("trac"), 0, None, None)  # type: ignore[arg-type]
    if is_gone:
        assert asyncio.run(session.read("milestones")) == []
    else:
        with pytest.raises(SandboxFailure, match="locked"):
            asyncio.run(session.read("milestones"))


def test_a_reader_that_cannot_make_sense_of_a_state_is_a_failure_and_no_verdict() -> None:
    class Torn(WebsiteSession):
        async def files(self, pattern: str) -> dict[str, str]:
            return {"a": "cut in the mid"}

    def parse(path: str, text: str) -> list[Row]:
        return [{"name": json.loads(text)["name"]}]

    declared = dataclasses.replace(load_website("trac"), readers={"torn": FilesReader("a", parse)})
    session = Torn(declared, 0, None, None)  # type: ignore[arg-type]
    with pytest.raises(SandboxFailure, match="website: trac: torn could not be read: JSONDecodeError"):
        asyncio.run(session.snapshot())


@pytest.mark.parametrize("reads", [1, 2])
def test_a_reader_that_fails_while_an_episode_is_judged_is_no_verdict(
    reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a state that goes on changing. Whoever has such a session gives it back as one that is not whole."""

    class Session:
        site, left = load_website("trac"), reads

        async def snapshot(self) -> dict[str, Any]:
            self.left -= 1
            if self.left == 0:
                raise SandboxFailure("website", "sql: disk I/O error")
            return {"tickets": ROWS}

    monkeypatch.setattr("tars_jax.envs.website_app.installed", lambda site: None)
    played = WebsiteAppEnvironment([TASK])
    played._session, played._screen, played._task = Session(), object(), WebsiteTask.from_json(TASK)  # type: ignore[assignment]
    with pytest.raises(SandboxFailure, match="disk I/O error"):
        asyncio.run(played.step([Finished("done")]))
    assert not played._whole
    played._session = Moving(1000)  # type: ignore[assignment]
    with pytest.raises(SandboxFailure, match="changed by itself"):
        asyncio.run(played.step([Finished("done")]))
    assert not played._whole


def test_values_beside_the_first_tables_and_columns_are_read() -> None:
    class Shop:
        async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
            with sqlite3.connect(":memory:") as shop:
                shop.row_factory = sqlite3.Row
                shop.executescript(
                    """CREATE TABLE product (id INTEGER, name TEXT, "a ""b" REAL); CREATE TABLE extra (id INTEGER);
                    INSERT INTO product VALUES (1, 'Lamp', NULL), (2, 'Rug', 2.5); INSERT INTO extra VALUES (7)"""
                )
                return [dict(row) for row in shop.execute(statement)]

    rows = asyncio.run(Added({"product": ("id", "name")}).rows(Shop()))  # type: ignore[arg-type]
    assert rows == [
        {"table": "extra", "column": "id", "value": 7},
        {"table": "product", "column": 'a "b', "value": 2.5},
    ]


@pytest.mark.parametrize(
    ("column", "more"),
    [
        ('"tint" REAL', None),
        ("tint real", None),
        ("tint DECIMAL(10,  5)", None),
        ("tint REAL REFERENCES customer (id)", "REFERENCES customer (id)"),
        ("tint REAL CHECK (tint > 5 AND tint < 7)", "CHECK (tint > 5 AND tint < 7)"),
        ("tint REAL COLLATE NOCASE", "COLLATE NOCASE"),
        ("tint TEXT DEFAULT 'a, (b'", "DEFAULT 'a, (b'"),
    ],
)
def test_a_column_has_more_than_its_name_and_type(column: str, more: str | None) -> None:
    class Shop:
        async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
            with sqlite3.connect(":memory:") as shop:
                shop.row_factory = sqlite3.Row
                shop.execute("CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, UNIQUE (id, name))")
                shop.execute(f"ALTER TABLE product ADD COLUMN {column}")
                return [dict(row) for row in shop.execute(statement, parameters)]

    rows = asyncio.run(Definitions().rows(Shop()))  # type: ignore[arg-type]
    at_first = [("id", "PRIMARY KEY"), ("", "UNIQUE (id, name)")]
    added = [] if more is None else [("tint", more)]
    assert sorted((row["column"], row["more"]) for row in rows) == sorted([*at_first, *added])


@pytest.mark.parametrize(
    ("done", "told"),
    [
        ("INSERT INTO ticket VALUES ('told')", []),
        ("INSERT INTO visit VALUES ('volatile')", []),
        ("CREATE TABLE chat (text)", []),  # as a program does where a page is looked at
        ("CREATE TABLE chat (text); INSERT INTO chat VALUES ('Hello')", [("table", "chat")]),
        ("DELETE FROM note", [("table", "note")]),
        ("UPDATE note SET text = 'b' WHERE text = 'a'", [("table", "note")]),
        ("DELETE FROM note; INSERT INTO note VALUES ('b'), ('a')", []),
        ("ALTER TABLE ticket ADD COLUMN tint", [("table", "ticket")]),
        ("CREATE TRIGGER late AFTER INSERT ON note BEGIN DELETE FROM ticket; END", [("trigger", "late")]),
        ("CREATE INDEX fast ON ticket (title)", [("index", "fast")]),
        ("PRAGMA user_version = 7", [("user_version", "env/site.db")]),
        ("file env/conf.ini", [("file", "env/conf.ini")]),
        ("file pages/new.png", [("file", "pages/new.png")]),
        ("file pages/told.md", []),
    ],
)
def test_what_no_other_reader_tells_is_compared(done: str, told: list[tuple[str, str]], tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, tmp_path.with_name("saved"), Visitor(1024), [])
    (tmp_path / "env").mkdir()
    (tmp_path / "pages").mkdir()
    (tmp_path / "env" / "conf.ini").write_text("name = Old")

    def changed(statements: str) -> None:
        with sqlite3.connect(tmp_path / "env" / "site.db") as site:
            site.executescript(statements)
        site.close()

    class Inside:
        async def tables(self, file: str, told: Sequence[str], passed: Sequence[str]) -> list[dict[str, str]]:
            return keeper.tables(file, told, passed)

        async def others(self, told: Sequence[str]) -> list[dict[str, str]]:
            return keeper.others(told)

    reader = Untold("env/site.db", ("ticket",), ("visit",), ("pages/*.md",))
    changed("CREATE TABLE ticket (title); CREATE TABLE visit (at); CREATE TABLE note (text)")
    changed("INSERT INTO note VALUES ('a'), ('b')")
    before = asyncio.run(reader.rows(Inside()))  # type: ignore[arg-type]
    if done.startswith("file "):
        (tmp_path / done.removeprefix("file ")).write_text("name = New")
    else:
        changed(done)
    after = asyncio.run(reader.rows(Inside()))  # type: ignore[arg-type]
    different = [row for row in (*before, *after) if (row in before) != (row in after)]
    assert sorted({(row["what"], row["name"]) for row in different}) == told


@pytest.mark.parametrize("name", website_names())
def test_rows_of_logs_are_rows_of_readers(name: str) -> None:
    site = load_website(name)
    assert {*site.logs} <= {*site.readers}
    with pytest.raises(InputError, match="logs of .* must be among its readers; got 'nothing'"):
        dataclasses.replace(site, logs=("nothing",))


def test_a_task_goes_through_json_and_says_what_is_wrong_with_it() -> None:
    task = WebsiteTask.from_json(TASK)
    assert WebsiteTask.from_json(json.loads(json.dumps(task.to_json()))) == task
    for change, said in (
        ({"effect": None}, "effect of task 'one' must have a change, or answer be given; got neither"),
        ({"effect": None, "answer": " ."}, "answer of task 'one' must have a letter, digit or symbol; got ' .'"),
        ({"effect": []}, "task.effect must be an object"),
        ({"checks": []}, "task.checks must not be there"),
        ({"instruction": " "}, "must say something"),
        ({"start": "//evil"[1:].replace("/", "x")}, "must be a path of the site"),
        ({"seed": -1}, "task.seed must be"),
        ({"solution": "rm"}, "task.solution must not be there"),
        ({"sent_first": [["/form"]]}, r"task.sent_first must be an array of \[path, fields\]; got"),
        ({"effect": {"changes": [{"read": "t", "is": {"a": 1}, "eval": 1}]}}, r"task.effect.changes\[0\].eval"),
    ):
        with pytest.raises(InputError, match=said):
            WebsiteTask.from_json({**TASK, **change})


@pytest.mark.parametrize(
    ("answer", "said", "is_right"),
    [
        ("Door Lock", '"Door Lock"', True),
        ("Door Lock", "\u201cdoor lock.\u201d", True),
        ("Door Lock", "'Door Lock'.", True),
        ("Door Lock", "\u00abDoor Lock\u00bb", True),
        ('"Door Lock"', "Door Lock", True),
        ("Door Lock", '"Door" Lock', False),
        ("Door Lock", '"Door" or "Lock"', False),
        ("Door Lock", '"Door Lock" or "Window"', False),
        ("it's 'Door'", "it's 'Door'", True),
        ("ada at ...", "Ada at \u2026", True),
        ("ada at ...", '"ada at ..."', True),
        ("ada at ...", "ada at", False),
        ("ada at ...", "ada at .", False),
        ("ada at", "ada at ...", False),
        ("ada at", "ada at.", True),
    ],
)
def test_one_answer_may_stand_in_quotation_marks_and_only_the_period_of_a_sentence_is_dropped(
    answer: str, said: str, is_right: bool
) -> None:
    task = WebsiteTask.from_json({**TASK, "effect": None, "answer": answer})
    assert (task.wrong({}, {}, said) == "") is is_right


def test_an_answer_is_compared_without_case_white_space_and_period() -> None:
    task = WebsiteTask.from_json({**TASK, "effect": None, "answer": "Door Lock"})
    state = to_tables({"tickets": ROWS})
    assert not task.wrong(state, state, " door  lock.\n")
    assert task.wrong(state, state, None) == "there is no answer yet"
    assert "not the expected" in task.wrong(state, state, "the door lock, or the printer")
    assert "tickets: " in task.wrong(state, to_tables({"tickets": ROWS[:1]}), "Door Lock"), "nothing is to change"
    loss = WebsiteTask.from_json({**TASK, "effect": None, "answer": "\u22121761.09 EUR"})
    assert not loss.wrong(state, state, "-1761.09 EUR") and loss.wrong(state, state, "1761.09 EUR")


def test_files_of_tasks_name_the_line_that_is_wrong(tmp_path: Path) -> None:
    lines, array = tmp_path / "a b tasks.jsonl", tmp_path / "tasks.json"
    lines.write_text(json.dumps(TASK) + "\n\n" + json.dumps({**TASK, "id": "zwei ß"}), "utf-8")
    array.write_text(json.dumps([TASK]))
    assert [task.id for task in read_website_tasks(lines)] == ["one", "zwei ß"]
    assert len(read_website_tasks(array)) == 1
    for text, said in (
        (json.dumps(TASK) + "\n{", "tasks.jsonl:2 must be a task; "),
        (json.dumps(TASK) + "\n" + json.dumps(TASK), "ids of tasks must differ"),
        ("\n", "at least one task"),
        (json.dumps({**TASK, "site": 3}), "tasks.jsonl:1: site must be text"),
    ):
        lines.write_text(text)
        with pytest.raises(InputError, match=said):
            read_website_tasks(lines)
    with pytest.raises(InputError, match="does not exist"):
        read_website_tasks(tmp_path / "no.json")


def test_a_site_that_is_missing_or_another_version_names_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(installation.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=r"trac 1.6 must be installed in .*websites.sh trac; got none"):
        installation.installed(load_website("trac"))
    (tmp_path / "trac/Trac-1.7.dist-info").mkdir(parents=True)
    (tmp_path / "fossil").mkdir()
    (tmp_path / "fossil/version").write_text("1:2.21-1+deb12u9\n")
    with pytest.raises(InputError, match="got version 1.7"):
        installation.installed(load_website("trac"))
    assert installation.is_installed(load_website("fossil"))
    with pytest.raises(InputError, match="did you mean 'fossil'"):
        load_website("fosil")
    with pytest.raises(InputError, match="must be a Website"):
        load_website("tars_jax.tasks.websites.trac:words")
