"""Tasks over websites as data: what is refused, and how rows are compared. No site runs here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tars_jax.tasks.websites.checks import Check

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites import installation
from tars_jax.tasks.websites.catalog import load_website, website_names
from tars_jax.tasks.websites.site import Row, Sql, Website
from tars_jax.tasks.websites.task import WebsiteTask, read_website_tasks

ROWS = [{"id": 1, "summary": "Door lock beeps ", "status": "new"}, {"id": 2, "summary": "x\r\ny", "status": None}]
TASK = {
    "id": "one", "site": "trac", "instruction": "Close ticket 1.",
    "checks": [{"read": "tickets", "where": {"id": 1}, "select": ["status"], "equals": [["closed"]]}],
}  # fmt: skip


class Known:
    site: Website = load_website("trac")

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    async def read(self, reader: str) -> Sequence[Row]:
        return self._rows

    async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        return [{"n": len(self._rows)}]


def wrong(check: dict[str, Any], rows: list[dict[str, Any]] = ROWS) -> str:
    return asyncio.run(Check.from_json(check).wrong(Known(rows)))


@pytest.mark.parametrize("name", website_names())
def test_content_comes_from_the_seed_alone(name: str) -> None:
    site = load_website(name)
    one, again, other = site.content_for(3), site.content_for(3), site.content_for(4)
    assert one == again != other
    assert json.loads(json.dumps(one)) == one
    assert site.license and site.version and site.is_here(site.url) and not site.is_here("http://localhost.evil/")
    assert not site.is_here(f"{site.origin}@evil/") and not site.is_here("http://localhost:1/")


@pytest.mark.parametrize(("said", "is_gone"), [("sql: no such column: name", True), ("sql: database is locked", False)])
def test_a_table_that_a_user_took_away_has_no_rows(said: str, is_gone: bool) -> None:
    class Broken(Known):
        async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
            raise SandboxFailure("website", said)

    async def rows() -> Sequence[Row]:
        return await Sql("shop.db", "SELECT name FROM product").rows(Broken([]))  # type: ignore[arg-type]

    if is_gone:
        assert asyncio.run(rows()) == []
    else:
        with pytest.raises(SandboxFailure, match="locked"):
            asyncio.run(rows())


def test_rows_are_compared_as_texts_in_any_order() -> None:
    assert not wrong({"read": "t", "where": {"id": "1"}, "select": ["summary"], "equals": [["Door lock beeps"]]})
    assert not wrong({"read": "t", "select": ["id", "status"], "equals": [{"id": 2, "status": ""}, [1, "new"]]})
    assert "instead of" in wrong({"read": "t", "where": {"id": 1}, "select": ["status"], "equals": [["closed"]]})
    assert not wrong({"read": "t", "contains": [{"summary": "x\ny"}, {"summary": "beeps", "status": "new"}]})
    assert "no row contains" in wrong({"read": "t", "contains": [{"summary": "x", "status": "new"}]})
    assert not wrong({"read": "t", "where": {"id": 3}, "count": 0}) and wrong({"read": "t", "count": 3})
    assert not wrong({"sql": "SELECT count(*) AS n FROM ticket", "equals": [{"n": 2}]})


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"count": 1}, "either read or sql"),
        ({"read": "t"}, "expect one of"),
        ({"read": "t", "count": 1, "contains": [{"a": 1}]}, "expect one of"),
        ({"read": "t", "count": True}, "check.count must be a whole number"),
        ({"read": "t", "equals": [["a", "b"]], "select": ["c"]}, "a value for each of select"),
        ({"read": "t", "equals": ["a"]}, "check.equals must be"),
        ({"read": "t", "count": 1, "script": "true"}, "check.script must not be there"),
        ({"read": "t", "where": ["a"], "count": 1}, "check.where must be"),
        ({"read": "t", "where": {"nothing": 1}, "count": 0}, "columns of t must be of id, summary, status"),
    ],
)
def test_a_check_that_cannot_be_is_refused(check: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        wrong(check)


def test_a_task_goes_through_json_and_says_what_is_wrong_with_it() -> None:
    task = WebsiteTask.from_json(TASK)
    assert WebsiteTask.from_json(json.loads(json.dumps(task.to_json()))) == task
    for change, said in (
        ({"checks": []}, "must be at least one, or answer"),
        ({"instruction": " "}, "must say something"),
        ({"start": "//evil"[1:].replace("/", "x")}, "must be a path of the site"),
        ({"seed": -1}, "task.seed must be"),
        ({"solution": "rm"}, "task.solution must not be there"),
        ({"sent_first": [["/form"]]}, r"task.sent_first must be an array of \[path, fields\]; got"),
        ({"checks": [{"read": "t", "count": 0, "eval": 1}]}, r"task.checks\[0\].eval"),
    ):
        with pytest.raises(InputError, match=said):
            WebsiteTask.from_json({**TASK, **change})


def test_an_answer_is_compared_without_case_white_space_and_period() -> None:
    task = WebsiteTask.from_json({**TASK, "checks": [], "answer": "Door Lock"})
    known = Known(ROWS)
    assert not asyncio.run(task.wrong(known, " door  lock.\n"))
    assert asyncio.run(task.wrong(known, None)) == "there is no answer yet"
    assert "not the expected" in asyncio.run(task.wrong(known, "the door lock, or the printer"))
    kept = WebsiteTask.from_json({**TASK, "checks": [], "answer": "a", "unchanged": ["tickets"]})
    assert asyncio.run(kept.wrong(known, "a", {"tickets": ROWS[:1]})) == "tickets has changed"


def test_files_of_tasks_name_the_line_that_is_wrong(tmp_path: Path) -> None:
    lines, array = tmp_path / "a b.jsonl", tmp_path / "tasks.json"
    lines.write_text(json.dumps(TASK) + "\n\n" + json.dumps({**TASK, "id": "zwei ß"}), "utf-8")
    array.write_text(json.dumps([TASK]))
    assert [task.id for task in read_website_tasks(lines)] == ["one", "zwei ß"]
    assert len(read_website_tasks(array)) == 1
    for text, said in (
        (json.dumps(TASK) + "\n{", "line 2 must be a JSON object"),
        (json.dumps(TASK) + "\n" + json.dumps(TASK), "ids of tasks must differ"),
        ("\n", "at least one task"),
        (json.dumps({**TASK, "site": 3}), "line 1: site must be text"),
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
