"""Tasks of a real site by its own API: the same tasks and the same verdict as in its pages, and no other site."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import os
import random
import re
import threading
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from tars_jax import InputError
from tars_jax.agent import action_from_call
from tars_jax.agent.actions import Click, Finished, Point, ToolCall
from tars_jax.environment import Task
from tars_jax.envs.website_app import WebsiteAppEnvironment, read_tasks
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.programs.keeper.visitor import Visitor
from tars_jax.tasks.websites.task import SYNTHESIZED

SITES = ("ihatemoney", "fava")
LACKING = [name for name in SITES if not is_installed(load_website(name))]
FORM = "application/x-www-form-urlencoded"
API = "/api/projects/trip/bills"
TICKED = "ihatemoney-6bf30f4e64"  # the bill of 2025-05-27 is for Liam, too
ENTRY = {
    "id": "lunch", "site": "fava", "instruction": "Enter what lunch cost.",
    "effect": {"changes": [{"read": "entries", "is": {
        "date": "2025-07-01", "flag": "*", "payee": "Inn", "narration": "Lunch", "more": "",
        "postings": "Expenses:Food 12.50 EUR\nAssets:Cash"}}]},
}  # fmt: skip
LUNCH = {
    "t": "Transaction", "date": "2025-07-01", "flag": "*", "payee": "Inn", "narration": "Lunch", "tags": [],
    "links": [], "meta": {},
    "postings": [{"account": "Expenses:Food", "amount": "12.50 EUR"}, {"account": "Assets:Cash", "amount": ""}],
}  # fmt: skip

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
    pytest.mark.skipif(bool(LACKING), reason=f"./launch/websites.sh {' '.join(LACKING)}"),
]


class Played:
    """An episode, request by request."""

    def __init__(self, task: str | dict[str, Any], interface: str = "sdk") -> None:
        tasks: list[Any] = [each for each in read_tasks(str(SYNTHESIZED)) if each.id == task] or [task]
        self.environment = WebsiteAppEnvironment(tasks, interface=interface, size=(640, 480))
        self.last: Any = None

    async def begin(self) -> Any:
        return await self.environment.reset(Task("x", "website_app", 1, {}, 9))

    async def ask(self, method: str, path: str, body: str = "", kind: str = "") -> str:
        given = {"method": method, "path": path, "body": body, "content_type": kind}
        call = ToolCall("request", {name: value for name, value in given.items() if value})
        self.last = await self.environment.step([call])
        return str(self.last.observation.text)


def bill(found: list[dict[str, Any]], owers: list[str], **changes: Any) -> tuple[str, str]:
    """Path and form of the bill of 2025-05-27 as it is, but for who owes and these changes."""
    (own,) = (each for each in found if each["date"] == "2025-05-27")
    members = {each["name"]: each["id"] for other in found for each in other["owers"]}
    same = {name: own[name] for name in ("date", "what", "amount", "external_link", "original_currency", "bill_type")}
    fields = {**same, "payer": own["payer_id"], "payed_for": [members[name] for name in owers], **changes}
    return f"{API}/{own['id']}", urlencode(fields, doseq=True)


def test_a_task_is_done_by_the_sites_own_api_and_by_nothing_that_only_looks_like_it() -> None:
    async def play() -> None:
        played = Played(TICKED)
        for wrong in (False, True):
            first = await played.begin()
            assert first.text == "I Hate Money at http://localhost:8006; its first page is /trip/"
            assert first.pixels is None and "is as it was" in first.info["state"]["wrong"]
            status, _, listed = (await played.ask("GET", API)).partition("\n")
            assert status == "200" and not played.last.terminated
            path, form = bill(json.loads(listed), ["Dmitri", "Elif", "Liam"], **({"amount": 9} if wrong else {}))
            assert (await played.ask("PUT", path, form, FORM)).startswith("200\n")
            assert played.last.observation.screenshot == b""
            assert (played.last.success, played.last.terminated, played.last.reward) == (
                not wrong,
                not wrong,
                not wrong,
            )
        turn = await played.environment.step([Click(Point(1, 1)), Finished("")])
        assert turn.observation.text == "click: there is no screen" and turn.terminated and not turn.success
        await played.environment.close()

    asyncio.run(play())


def test_requests_reach_one_site_and_have_cookies_of_their_own() -> None:
    async def play() -> None:
        played = Played(TICKED)
        await played.begin()
        for path in ("http://localhost:8004/", "http://localhost:80061/", "file:///etc/passwd", "api"):
            said = await played.ask("GET", path)
            assert said.startswith("request: path must be one of http://localhost:8006 and begin with /"), said
        assert (await played.ask("GET", "//localhost:8004/")).startswith("303 to /create")  # a path of this site
        assert (await played.ask("GET", "http://localhost:8006/trip")).startswith("308 to http")  # and not followed
        assert "content_type must be" in await played.ask("PUT", "/trip/", "x", "text/plain\r\nCookie: a=b")
        assert "One more" not in await played.ask("GET", "/trip/\r\nX-One: One more")
        page = await played.ask("GET", "/trip/")
        token = re.search(r'name="csrf_token"[^>]* value="([^"]+)"', page)  # it goes with a cookie of that answer
        assert page.startswith("200\n") and token is not None
        assert (await played.ask("POST", "/exit", urlencode({"csrf_token": token[1]}), FORM)).startswith("302 to /")
        assert (await played.ask("GET", "/trip/")).startswith("303 to /authenticate")
        session = played.environment._session
        assert session is not None and (await session.http("GET", "/trip/"))[0] == 200  # the verifier's own
        assert not played.last.terminated and not played.last.success
        await played.begin()
        assert (await played.ask("GET", "/trip/")).startswith("200\n")
        await played.environment.close()

    asyncio.run(play())


@pytest.mark.browser
def test_where_there_are_both_a_page_and_requests_change_one_site() -> None:
    body = json.dumps({"entries": [LUNCH]})
    written = f"request(method='PUT', path='/ledger/api/add_entries', body={body!r})"
    task = {**ENTRY, "about": {"requests": [written]}}

    async def play() -> None:
        played = Played(task, "both")
        first = await played.begin()
        assert first.text == "" and first.pixels is not None and first.pixels.shape == (480, 640, 3)
        space = played.environment.action_space
        assert "click" in space.actions and [each.name for each in space.functions] == ["request"]
        move = played.environment.reference_player(first.info["state"], random.Random(0))
        turn = await played.environment.step([action_from_call(move.function, move.parameters, space=space)])
        assert turn.observation.text.startswith("200\n") and turn.observation.pixels is not None
        assert turn.success and turn.terminated, turn.observation.info["state"]["wrong"]
        await played.environment.close()

    asyncio.run(play())


def test_what_sends_forever_is_told_and_is_no_failure_of_the_site() -> None:
    class Events(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"event\n")
                    time.sleep(0.01)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Events) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        visitor = Visitor(server.server_address[1])
        try:
            status, said, _ = visitor.request("GET", "/events", "", {}, 0.05)
        finally:
            server.shutdown()
    assert (status, said) == (0, "it did not end within 0.05 s")


def test_an_interface_and_recorded_requests_are_checked() -> None:
    with pytest.raises(InputError, match="interface must be one of gui, sdk, both; got 'api'"):
        WebsiteAppEnvironment([ENTRY], interface="api")
    with pytest.raises(InputError, match="solution of task 'lunch' must be actions or requests; got \"request"):
        WebsiteAppEnvironment([{**ENTRY, "about": {"requests": ["request(method='BREW', path='/')"]}}])
