"""Real sites in real computers: their state is read, changed and put back; failures are typed; nothing gets out."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable

import pytest

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.catalog import load_website, website_names
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import Website
from tars_jax.tasks.websites.websites import Websites
from tests.tasks.website_programs import send_signal

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
IN_CI = ("fossil",)  # trac is started by the others here


def site(name: str) -> Website:
    found = load_website(name)
    if not is_installed(found):
        pytest.skip(f"{name} is not installed: ./launch/websites.sh {name}")
    return found


def run(work: Callable[[Websites], Awaitable[None]], *, live: bool = False) -> None:
    async def whole() -> None:
        async with Websites(live=live) as websites:
            await work(websites)

    asyncio.run(whole())


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [each if each in IN_CI else pytest.param(each, marks=pytest.mark.full) for each in website_names()]
)
def test_it_starts_shows_its_first_page_and_is_put_back(name: str) -> None:
    declared = site(name)

    async def work(websites: Websites) -> None:
        async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=1)) as browsers:
            session = await websites.open(declared, 5)
            first = await session.snapshot()
            assert any(first.values()), first
            page = await session.open_page(browsers, (800, 600))
            await page.start(seed=1)
            await page.navigate(session.url)
            shown = await page.act([], advance_ms=100)
            assert declared.is_here(shown.data["url"]) and len({*map(bytes, shown.pixels.reshape(-1, 3)[::97])}) > 3
            await page.close()
            await deface(session)
            assert await session.changed()
            await session.reset()
            assert await session.changed() == [] and await session.snapshot() == first and await session.healthy()
            await session.close()

    run(work)


async def deface(session: WebsiteSession) -> None:
    """Files of the state are changed, removed and added, as nothing that a user does could."""
    script = (
        "cd site && f=$(find . -type f -size +0 ! -name '*.log' ! -name '*lock*' | sort | head -1) && "
        'echo more >> "$f" && '
        "mkdir -p 'a b' && echo x > 'a b/ü' && ln -s /etc/passwd 'a b/link'"
    )
    done = await session.computer.machine.run(["sh", "-c", script])
    assert done.status == 0, done.stderr


def test_two_sessions_share_nothing_and_what_a_page_changes_is_put_back() -> None:
    declared = site("trac")

    async def work(websites: Websites) -> None:
        one, other = await asyncio.gather(websites.open(declared, 1), websites.open(declared, 1))
        first = await one.read("milestones")
        assert first == await other.read("milestones")
        status, _ = await one.submit("/milestone?action=new", {"name": "Größe 1", "add!": "Add milestone"})
        assert status == 200
        names = [row["name"] for row in await one.read("milestones")]
        assert "Größe 1" in names and await other.read("milestones") == first
        for _ in range(3):  # and again: what the program remembers is no other state
            await one.reset()
            assert await one.read("milestones") == first
            assert "Größe" not in (await one.http("GET", "/roadmap"))[1]
        with pytest.raises(SandboxFailure, match="website: trac: sql"):
            await one.sql(declared.database, "DELETE FROM ticket")
        with pytest.raises(SandboxFailure, match="there is no database"):
            await one.sql("../.saved/state/env/db/trac.db", "SELECT 1")

    run(work)


@pytest.mark.full
def test_eight_sessions_of_two_sites_at_once_see_their_own_state_alone() -> None:
    """Each does something else; then all are put back, one of them while the others go on."""
    fossil, trac = site("fossil"), site("trac")

    async def work(websites: Websites) -> None:
        sessions = await asyncio.gather(*(websites.open(each, 1) for each in (fossil, trac) * 4))
        first = [await each.snapshot() for each in sessions]

        async def add(session: WebsiteSession, name: str) -> None:
            if session.site is trac:
                form = {"name": name, "add!": "Add milestone"}
                status, _ = await session.submit("/milestone?action=new", form)
                assert status == 200
            else:
                program = ("{root}/run", "usr/bin/fossil", "ticket", "add", "title", name, "-R", "site.fossil")
                await session.run(program)

        async def names(session: WebsiteSession) -> list[str]:
            reader, column = ("milestones", "name") if session.site is trac else ("tickets", "title")
            return sorted(row[column] for row in await session.read(reader) if row[column].startswith("Mark"))

        await asyncio.gather(*(add(each, f"Mark{number}") for number, each in enumerate(sessions)))
        assert [await names(each) for each in sessions] == [[f"Mark{number}"] for number in range(8)]
        await asyncio.gather(
            sessions[0].reset(), sessions[1].reset(), add(sessions[2], "Mark9"), add(sessions[3], "Mark9")
        )
        found = [await names(each) for each in sessions]
        assert found == [[], [], ["Mark2", "Mark9"], ["Mark3", "Mark9"], *([f"Mark{number}"] for number in range(4, 8))]
        await asyncio.gather(*(each.reset() for each in sessions))
        assert [await each.snapshot() for each in sessions] == first

    run(work)


def test_failures_of_a_site_are_typed() -> None:
    declared = site("fossil")

    async def work(websites: Websites) -> None:
        ends = dataclasses.replace(declared, name="fossil", serve=("{python}", "-c", "print('no luck'); exit(3)"))
        with pytest.raises(SandboxFailure, match="website: fossil ended with 3 as it started: no luck"):
            await websites.open(ends, 1)
        deaf = dataclasses.replace(declared, serve=("{python}", "-c", "import time; time.sleep(99)"), start_s=0.5)
        with pytest.raises(SandboxFailure, match="did not start in 0.5 s"):
            await websites.open(deaf, 1)
        broken = dataclasses.replace(declared, prepare=("{python}", "-c", "exit('no disk')"))
        with pytest.raises(SandboxFailure, match=r"could not be prepared \(status 1\): no disk"):
            await websites.open(broken, 2)
        session = await websites.open(declared, 1)
        await send_signal(session, "SIGSTOP", "fossil server|usr/bin/fossil")
        with pytest.raises(SandboxFailure, match="GET /home"):
            await session.keeper.http("GET", "/home", timeout_s=0.3)
        await send_signal(session, "SIGTERM", "website_keeper")
        with pytest.raises(SandboxFailure, match="website"):
            await session.reset()

    run(work)


@pytest.mark.browser
@pytest.mark.slow
def test_a_hostile_page_reaches_neither_this_machine_nor_another_site() -> None:
    declared = site("fossil")

    async def work(websites: Websites) -> None:
        asked: list[bytes] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.read(100))
            writer.close()

        ours = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = ours.sockets[0].getsockname()[1]
        async with ours, BrowserManager(BrowserConfig(browsers=2, pages_per_browser=1)) as browsers:
            one, other = await asyncio.gather(websites.open(declared, 1), websites.open(declared, 1))
            # A service that only the other site's computer has.
            await other.computer.machine.start(
                [other.computer.machine.python, "-u", "-m", "http.server", "8055", "--bind", "127.0.0.1"],
                output=f"{other.computer.machine.home}/asked",
            )
            page = await one.open_page(browsers, (400, 300))
            await page.start(seed=1)
            await page.navigate(one.url)
            await page.act([], advance_ms=50)
            targets = [
                f"http://{host}:{number}/"
                for number in (port, 8055)
                for host in (
                    "localhost",
                    "127.0.0.1",
                    "[::1]",
                    "0.0.0.0",
                    "127.1",
                    "2130706433",
                    "host.docker.internal",
                )
            ]
            targets += ["http://169.254.169.254/latest/", "file:///etc/passwd", "https://example.com/"]
            tried = (
                f"Promise.all({targets}.map((url) => fetch(url, {{mode: 'no-cors'}})"
                ".then((answer) => answer.type + answer.status, () => 'refused')))"
            )
            answers = await page.page.evaluate(tried)
            # An answer of the proxy, which says 403, is opaque to the page: what counts is that nobody was asked.
            assert len(answers) == len(targets) and not asked, (answers, asked)
            said = await page.page.evaluate(f"fetch('{one.url}').then((answer) => answer.status)")
            assert said == 200
            await page.close()
            assert b"GET" not in other.computer.container.read(f"{other.computer.machine.home}/asked")

    run(work)


@pytest.mark.full
def test_a_page_can_be_saved_again_after_a_reset() -> None:
    """A reset takes what was saved out of the repository; an index of git that names it still fails every save."""
    declared = site("otterwiki")

    async def work(websites: Websites) -> None:
        session = await websites.open(declared)
        for text in ("One.", "One.", "Two."):
            status, _ = await session.submit("/home/edit", {"content": text})
            pages = {row["page"]: row["text"] for row in await session.read("pages")}
            assert (status, pages["home"], len(await session.read("commits"))) == (200, text, 2)
            await session.reset()

    run(work)
