"""What is done beside a task in a site's own database shows in its readers, and what breaks a table is read still.

Statements as a site's own page of SQL takes them: fossil's /admin_sql, or all of sqlite-web.
"""

from __future__ import annotations

import asyncio
import os
import re
import urllib.parse

import pytest

from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.tables import differences, to_tables
from tars_jax.tasks.websites.task import SYNTHESIZED, read_website_tasks
from tars_jax.tasks.websites.websites import Websites

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
ANYWHERE = (
    "PRAGMA user_version=7",
    "PRAGMA default_cache_size=77",
    "VACUUM INTO 'copy.db'",
    "CREATE VIRTUAL TABLE words USING fts5(word, content='nothing')",  # whose rows cannot be read
)
LAYOUT = ("VACUUM", "PRAGMA page_size=8192; VACUUM", "PRAGMA auto_vacuum=1; VACUUM", "PRAGMA schema_version=99")
DEFINED = {  # by who may write SQL on a page of the site's
    "fossil": (
        "CREATE TABLE empty (name)",
        "CREATE INDEX titles ON ticket (title)",
        "CREATE TRIGGER never AFTER DELETE ON ticket BEGIN SELECT 1; END",
        "CREATE VIEW few AS SELECT 1",
    ),
    "sqlite_web": (
        "CREATE TABLE empty (name)",
        "CREATE INDEX names ON product (name)",
        "CREATE TRIGGER never AFTER DELETE ON product BEGIN SELECT 1; END",
        "CREATE VIEW few AS SELECT 1",
    ),
    "ihatemoney": (),
    "trac": (),
}
OF = {
    "fossil": (
        "UPDATE ticketchng SET login='bob'",
        "DELETE FROM event WHERE type='t'",
        "UPDATE event SET comment='nothing happened' WHERE rowid=3",
        "UPDATE event SET ecomment='nothing happened' WHERE type='w'",
        "UPDATE ticket SET title=CAST(x'ff' AS TEXT)",
        "UPDATE ticket SET title=title || char(10) WHERE tkt_id=1",
        "INSERT INTO plink (pid, cid, isprim) VALUES (3, 4, 1)",
    ),
    "ihatemoney": (
        "DELETE FROM bill_version",
        "UPDATE bill SET what=what || char(10) WHERE id=1",
        # As a bill that was deleted and made anew.
        "UPDATE bill SET id=99 WHERE id=2; UPDATE billowers SET bill_id=99 WHERE bill_id=2; "
        "UPDATE bill_version SET id=99 WHERE id=2",
    ),
    "trac": (
        "UPDATE report SET description=description || char(10) WHERE id=1",
        "UPDATE ticket SET summary=summary || char(10) WHERE id=8",
        "UPDATE ticket SET description=description || ' ' WHERE id=8",
    ),
    "sqlite_web": (
        "ANALYZE",
        "PRAGMA journal_mode=WAL",
        "UPDATE product SET name=CAST(name AS BLOB) WHERE id=1",
        "UPDATE product SET name=CAST(x'ff' AS TEXT) WHERE id=1",
        "UPDATE product SET name=name || ' ' WHERE id=1",
        "UPDATE product SET name=name || char(10)",
        "UPDATE customer SET name=char(10) || name WHERE id=1",
    ),
}
RUN = "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).executescript(sys.argv[2])"


async def execute(session: WebsiteSession, statement: str) -> None:
    await session.run(("{python}", "-c", RUN, session.site.database, statement))


OTHERS = ("sqlite_web", "ihatemoney", "trac")


@pytest.mark.parametrize("name", ["fossil", *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS)])
def test_what_is_done_beside_a_task_is_seen_and_put_back(name: str) -> None:
    declared = load_website(name)
    if not is_installed(declared):
        pytest.skip(f"{name} is missing: ./launch/websites.sh {name}")

    async def work() -> list[str]:
        unseen = []
        async with Websites(live=False) as websites:
            session = await websites.open(declared, 1)
            first = to_tables(await session.snapshot())
            for statement in (*ANYWHERE, *OF[name], *DEFINED[name]):
                await execute(session, statement)
                unseen += [] if differences(first, to_tables(await session.snapshot())) else [statement]
                await session.reset()
                assert to_tables(await session.snapshot()) == first, statement
        return unseen

    assert asyncio.run(work()) == []


@pytest.mark.parametrize("name", ["sqlite_web", pytest.param("fossil", marks=pytest.mark.full)])
def test_how_a_database_lies_in_its_file_is_no_effect_and_is_put_back(name: str) -> None:
    declared = load_website(name)
    if not is_installed(declared):
        pytest.skip(f"{name} is missing: ./launch/websites.sh {name}")

    async def work() -> list[str]:
        seen = []
        async with Websites(live=False) as websites:
            session = await websites.open(declared, 1)
            first = to_tables(await session.snapshot())
            for statement in LAYOUT:
                await execute(session, statement)
                seen += [statement] if differences(first, to_tables(await session.snapshot())) else []
                await session.reset()
        return seen

    assert asyncio.run(work()) == []


def test_a_ticket_that_is_mended_by_its_form_for_changes_is_right_and_one_with_a_contact_is_not() -> None:
    declared = load_website("fossil")
    if not is_installed(declared):
        pytest.skip("fossil is missing: ./launch/websites.sh fossil")
    task = next(each for each in read_website_tasks(SYNTHESIZED) if each.id == "fossil-8e734e184b")
    asked = {change.read: change.is_ for change in task.effect.changes}
    ticket, remark = asked["tickets"], asked["comments"]
    fields = {name: ticket[name] for name in ("title", "type", "foundin", "severity")}
    new = {**fields, "icomment": remark["text"], "mutype": "Markdown", "submit!": "Submit"}

    async def work() -> list[bool]:
        taken = []
        async with Websites(live=False) as websites:
            session = await websites.open(declared, task.seed)
            before = to_tables(await session.snapshot())
            mends: tuple[dict[str, str], ...] = (
                {},
                {"priority": "High"},
                {"resolution": "Fixed"},
                {"private_contact": "bob@example.org"},
            )
            for beside in mends:
                await session.submit("/tktnew", {**new, "title": "Mistaken"})
                (found,) = await session.sql(
                    "site.fossil", "SELECT tkt_uuid AS id FROM ticket WHERE title = 'Mistaken'"
                )
                page = f"/tktedit/{found['id']}"
                await session.submit(page, {"title": ticket["title"], "submit!": "Submit Changes", **beside})
                taken.append(task.wrong(before, to_tables(await session.snapshot()), None) == "")
                await session.reset()
        return taken

    assert asyncio.run(work()) == [True, False, False, False]


@pytest.mark.full
def test_a_draft_that_is_left_behind_is_seen_and_goes_as_its_page_is_saved() -> None:
    declared = load_website("otterwiki")
    if not is_installed(declared):
        pytest.skip("otterwiki is missing: ./launch/websites.sh otterwiki")

    async def work() -> None:
        async with Websites(live=False) as websites:
            session = await websites.open(declared, 1)
            first = to_tables(await session.snapshot())
            _, page = await session.http("GET", "/home/edit")
            token = urllib.parse.quote(re.findall(r'name="csrf_token"[^>]*value="([^"]+)"', page)[0])
            form = "application/x-www-form-urlencoded"
            draft = ("POST", "/home/draft", f"content=Half&revision=&csrf_token={token}", form)
            assert (await session.http(*draft))[0] == 200
            assert to_tables(await session.snapshot())["drafts"] != first["drafts"]
            await session.http("POST", "/home/draft/discard", f"csrf_token={token}", form)
            assert to_tables(await session.snapshot()) == first
            await session.http(*draft)
            await session.http("POST", "/home/save", f"content=One.&commit=&csrf_token={token}", form)
            assert to_tables(await session.snapshot())["pages"] != first["pages"]
            assert to_tables(await session.snapshot())["drafts"] == first["drafts"]

    asyncio.run(work())


def test_a_report_that_begins_with_the_form_s_own_columns_is_the_one_that_is_asked_for() -> None:
    """Fossil's form for a new one shows a column more than a copy of its first one, of which no instruction speaks."""
    declared = load_website("fossil")
    if not is_installed(declared):
        pytest.skip("fossil is missing: ./launch/websites.sh fossil")
    task = next(each for each in read_website_tasks(SYNTHESIZED) if each.id == "fossil-0d8e4d3cf8")
    title = task.effect.changes[0].is_["title"]

    async def work() -> tuple[str, str]:
        async with Websites(live=False) as websites:
            session = await websites.open(declared, task.seed)
            before = to_tables(await session.snapshot())
            await session.submit("/rptnew", {"t": title, "submit!": "Apply Changes"})
            named = task.wrong(before, to_tables(await session.snapshot()), None)
            await execute(session, f"UPDATE reportfmt SET sqlcode='SELECT 1' WHERE title='{title}'")
            return named, task.wrong(before, to_tables(await session.snapshot()), None)

    right, other = asyncio.run(work())
    assert right == "" and other.startswith("reports: no row is as")


@pytest.mark.full
def test_every_property_of_a_collection_is_seen_and_put_back() -> None:
    declared = load_website("radicale")
    if not is_installed(declared):
        pytest.skip("radicale is missing: ./launch/websites.sh radicale")
    change = "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write('{\"ICAL:order\": \"7\", ' + t[1:])"

    async def work() -> None:
        async with Websites(live=False) as websites:
            session = await websites.open(declared, 1)
            first = to_tables(await session.snapshot())
            path = next(iter(await session.files("collections/collection-root/anna/*/.Radicale.props")))
            await session.run(("{python}", "-c", change, path))
            assert to_tables(await session.snapshot()) != first
            await session.reset()
            assert to_tables(await session.snapshot()) == first

    asyncio.run(work())


@pytest.mark.full
@pytest.mark.parametrize("kind", ["HTML", "Wiki", "Plain Text", "Markdown"])
def test_a_remark_s_form_is_open_as_no_words_ask_for_one(kind: str) -> None:
    declared = load_website("fossil")
    if not is_installed(declared):
        pytest.skip("fossil is missing: ./launch/websites.sh fossil")
    task = next(each for each in read_website_tasks(SYNTHESIZED) if each.id == "fossil-8e734e184b")
    asked = {change.read: change.is_ for change in task.effect.changes}
    ticket, remark = asked["tickets"], asked["comments"]
    fields = {name: ticket[name] for name in ("title", "type", "foundin", "severity")}

    async def work() -> str:
        async with Websites(live=False) as websites:
            session = await websites.open(declared, task.seed)
            before = to_tables(await session.snapshot())
            await session.submit("/tktnew", {**fields, "icomment": remark["text"], "mutype": kind, "submit!": "Submit"})
            return task.wrong(before, to_tables(await session.snapshot()), None)

    assert asyncio.run(work()) == ""


@pytest.mark.parametrize("name", ["fossil", pytest.param("otterwiki", marks=pytest.mark.full)])
def test_a_page_that_was_changed_and_put_back_is_as_it_was(name: str) -> None:
    declared = load_website(name)
    if not is_installed(declared):
        pytest.skip(f"{name} is missing: ./launch/websites.sh {name}")
    task = next(each for each in read_website_tasks(SYNTHESIZED) if each.site == name and not each.effect.changes)

    async def save(session: WebsiteSession, page: str, text: str) -> None:
        if name == "fossil":
            program = ("{root}/run", "usr/bin/fossil", "wiki", "commit", page, "-R", "site.fossil")
            await session.run((*program, "-M", "text/x-markdown"), text)
        else:
            path = f"/{urllib.parse.quote(page)}"
            await session.submit(f"{path}/edit", {"content": text, "commit": ""}, f"{path}/save")

    async def work() -> tuple[bool, bool]:
        async with Websites(live=False) as websites:
            session = await websites.open(declared, task.seed)
            before = to_tables(await session.snapshot())
            rows, names = ("wiki", "name") if name == "fossil" else ("pages", "page")
            page = next(row for row in before[rows] if row[names] not in ("home", "Home"))
            judged = []
            for text in ("Another text.", page["text"]):
                await save(session, page[names], text)
                judged.append(task.wrong(before, to_tables(await session.snapshot()), task.answer) == "")
            return judged[0], judged[1]

    assert asyncio.run(work()) == (False, True)
