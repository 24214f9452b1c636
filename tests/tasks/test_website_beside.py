"""A task that is done with something beside it, by a site's own addresses, earns nothing; another way of it does.

These are asked for by requests, as programs for calendars, of mail and of a tracker make them, without a browser.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.tables import to_tables
from tars_jax.tasks.websites.task import SYNTHESIZED, WebsiteTask, read_website_tasks
from tars_jax.tasks.websites.websites import Websites

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
REQUEST = """
import json, sys, urllib.request
method, address, headers = sys.argv[1:]
request = urllib.request.Request(address, sys.stdin.buffer.read() or None, json.loads(headers), method=method)
sys.stdout.write(urllib.request.urlopen(request, timeout=20).read().decode())
"""
SEND = """
import smtplib, sys
with smtplib.SMTP("127.0.0.1", 8025) as server:
    server.sendmail("a@example.org", ["b@example.org"], sys.stdin.read())
"""
EDIT = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2]); db.close()"
NAMES = (
    'xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:B="urn:ietf:params:xml:ns:carddav" '
    'xmlns:I="http://apple.com/ns/ical/" xmlns:A="http://inf-it.com/ns/ab/" xmlns:S="http://calendarserver.org/ns/"'
)
Done = Callable[[WebsiteSession], Awaitable[object]]


async def request(session: WebsiteSession, method: str, path: str, body: str = "", **headers: str) -> str:
    argv = ("{python}", "-c", REQUEST, method, session.site.origin + path, json.dumps(headers))
    return await session.run(argv, body)


def move(path: str, to: str) -> Done:
    return lambda session: request(session, "MOVE", path, Destination=to)


def delete(path: str) -> Done:
    return lambda session: request(session, "DELETE", path)


def patch(path: str, **properties: str) -> Done:
    """Sets properties of a collection; names are of NAMES, such as C_calendar_description."""
    told = "".join(f"<{_name(name)}>{value}</{_name(name)}>" for name, value in properties.items())
    body = f"<propertyupdate {NAMES}><set><prop>{told}</prop></set></propertyupdate>"
    return lambda session: request(session, "PROPPATCH", path, body)


def _name(name: str) -> str:
    prefix, _, rest = name.partition("_")
    return f"{prefix}:{rest.replace('_', '-')}" if rest else prefix


def put_back(path: str, old: str = "", new: str = "") -> Done:
    async def do(session: WebsiteSession) -> None:
        await request(session, "PUT", path, (await request(session, "GET", path)).replace(old, new))

    return do


def send(text: str) -> Done:
    return lambda session: session.run(("{python}", "-c", SEND), text)


async def send_again(session: WebsiteSession) -> None:
    """One that is to stay: the same words from and to the same people."""
    (mail,) = [each for each in await session.read("mails") if each["subject"] == "Password for Lake Cinema"]
    source = await request(session, "GET", f"/api/email/{mail['id']}/source")
    await delete(f"/api/email/{mail['id']}")(session)
    await send(source)(session)


async def do_mails(session: WebsiteSession) -> None:
    for mail in await session.read("mails"):
        if mail["subject"] in ("Password for Harbor Cafe", "Password for Bakery Sun"):
            await delete(f"/api/email/{mail['id']}")(session)


async def do_note(session: WebsiteSession) -> None:
    fields = {"title": "Plan: meeting room", "priority": "1", "@note": "More help for the solar panels."}
    await session.submit("/issue9", {**fields, "submit_button!": "Submit Changes"})


def edit(statement: str) -> Done:
    """As the tracker's own REST does it; no other field of the message changes."""
    return lambda session: session.run(("{python}", "-c", EDIT, session.site.database, statement))


ALARM = "\r\n".join(
    ("BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT5M", "DESCRIPTION:Up.", "END:VALARM")
)  # of one more component in an event
BOOK = patch(
    "/anna/neighbors/", displayname="Question: book fair", B_addressbook_description="More help for the fire drill."
)
RADICALE: dict[str, tuple[bool, Done | None]] = {
    "nothing": (True, None),
    "a contact as it was given": (True, put_back("/anna/suppliers/suppliers-1.vcf")),
    "an event as it was given": (True, put_back("/anna/travel-rules/travel-rules-1.ics")),
    "an event under another name": (True, move("/anna/travel-rules/travel-rules-1.ics", "/anna/travel-rules/z.ics")),
    "a color without its alpha": (True, patch("/anna/travel-rules/", I_calendar_color="#CC3333")),
    "a color one can see through": (False, patch("/anna/travel-rules/", I_calendar_color="#cc333380")),
    "a contact of another book": (False, move("/anna/neighbors/neighbors-1.vcf", "/anna/suppliers/n1.vcf")),
    "an event of another calendar": (False, move("/anna/kitchen-rota/kitchen-rota-1.ics", "/anna/travel-rules/k.ics")),
    "another field of an event": (False, put_back("/anna/travel-rules/travel-rules-1.ics", "SUMMARY:", "SUMMARY:X")),
    "a longer location": (False, put_back("/anna/travel-rules/travel-rules-1.ics", "\r\nSUMMARY", "\\n\r\nSUMMARY")),
    "an alarm": (False, put_back("/anna/travel-rules/travel-rules-1.ics", "END:VEVENT", f"{ALARM}\r\nEND:VEVENT")),
    "a calendar's text for a book": (False, patch("/anna/neighbors/", C_calendar_description="More help.")),
    "a book's text for a calendar": (False, patch("/anna/travel-rules/", B_addressbook_description="More help.")),
    "a book's color for a calendar": (False, patch("/anna/travel-rules/", A_addressbook_color="#000000ff")),
    "an empty line in a title": (False, patch("/anna/travel-rules/", displayname="Travel Rules\n")),
    "a whole collection gone": (False, delete("/anna/suppliers/")),
}
MAILDEV: dict[str, tuple[bool, Done | None]] = {
    "nothing": (True, None),
    "a new mail": (False, send("From: a@example.org\r\nTo: b@example.org\r\nSubject: zz\r\n\r\nhello\r\n")),
    "the same mail sent again": (False, send_again),
}
ROUNDUP: dict[str, tuple[bool, Done | None]] = {
    "nothing": (True, None),
    "another day of a message": (False, edit("UPDATE _msg SET _date = '20200101000000.000' WHERE id = 1")),
    "other receivers of a message": (False, edit("INSERT INTO msg_recipients (linkid, nodeid) VALUES (5, 1)")),
    "a title with an empty line": (False, edit("UPDATE _issue SET _title = _title || char(10) WHERE id = 8")),
}


def make(kind: str, title: str = "Budget: spare keys", **properties: str) -> Done:
    told = "".join(f"<{_name(name)}>{value}</{_name(name)}>" for name, value in properties.items())
    made = f"<resourcetype><collection/>{kind}</resourcetype><displayname>{title}</displayname>{told}"
    body = f"<mkcol {NAMES}><set><prop>{made}</prop></set></mkcol>"
    return lambda session: request(session, "MKCOL", "/anna/new/", body)


async def do_edits(session: WebsiteSession) -> None:
    await patch("/anna/glossary/", C_calendar_description="Check the bicycle repair soon.")(session)
    holds = "".join(f'<C:comp name="{name}"/>' for name in ("VJOURNAL", "VTODO"))
    await patch("/anna/kitchen-rota/", C_supported_calendar_component_set=holds)(session)


# Its words: an addressbook or calendar with a title.
ANY_TYPE: dict[str, tuple[bool, Done | None]] = {
    "an address book": (True, make("<B:addressbook/>")),
    "a calendar": (True, make("<C:calendar/>")),
    "a subscription": (False, make("<S:subscribed/>", S_source="http://example.org/")),
    "another title": (False, make("<C:calendar/>", "Budget")),
    "a description": (False, make("<C:calendar/>", C_calendar_description="More.")),
    "none": (False, None),
}


async def verdicts(task: WebsiteTask, do: Done, besides: Sequence[Done | None]) -> list[bool]:
    """Whether each is taken; each begins with a state that was put back, all of it."""
    taken = []
    async with Websites(live=False) as websites:
        session = await websites.open(load_website(task.site), task.seed)
        before = to_tables(await session.snapshot())
        for beside in besides:
            await do(session)
            if beside is not None:
                await beside(session)
            taken.append(task.wrong(before, to_tables(await session.snapshot()), None) == "")
            await session.reset()
            assert to_tables(await session.snapshot()) == before
    return taken


@pytest.mark.parametrize(
    ("id", "do", "cases"),
    [
        ("radicale-c000484d9f", BOOK, RADICALE),
        ("radicale-5367e60b2e", do_edits, ANY_TYPE),
        ("maildev-21be01fa40", do_mails, MAILDEV),
        ("roundup-e4e3f3d8e7", do_note, ROUNDUP),
    ],
    ids=["radicale", "any-type", "maildev", "roundup"],
)
def test_what_is_done_beside_a_task_is_told_from_another_way_of_doing_it(
    id: str, do: Done, cases: dict[str, tuple[bool, Done | None]]
) -> None:
    task = next(each for each in read_website_tasks(SYNTHESIZED) if each.id == id)
    if not is_installed(load_website(task.site)):
        pytest.skip(f"{task.site} is missing: ./launch/websites.sh {task.site}")
    taken = asyncio.run(verdicts(task, do, [beside for _, beside in cases.values()]))
    assert dict(zip(cases, taken, strict=True)) == {name: is_right for name, (is_right, _) in cases.items()}
