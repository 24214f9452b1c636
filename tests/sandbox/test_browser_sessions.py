"""Sessions: leases and quotas, the garbage collector, recovery to the same byte, adoption after a kill, recordings."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import (
    BrowserConfig,
    BrowserManager,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Page,
    PageError,
    SandboxFailure,
    Site,
)
from tars_jax.sandbox.browser.reaper import marked_processes
from tars_jax.sandbox.browser.sessions import PageSession, PageSessions
from tars_jax.sandbox.browser.sessions.calls import Act, Evaluate
from tars_jax.sandbox.browser.sessions.journal import read_journal
from tars_jax.sandbox.browser.sessions.recording import main, play
from tars_jax.sandbox.browser.site import PageSpec
from tars_jax.sandbox.failures import QuotaExceeded, SessionEnded
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.sandbox.sessions.registry import opens
from tars_jax.tasks.games.catalog import game_names, load_game
from tests.sandbox.conftest import crash_renderer
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]

# Remembers clicks in a variable, in local storage and in a cookie; shows them, chance and time; something moves by CSS.
MEMORY = """<style>@keyframes walk { to { transform: translateX(60px) } }
  #walker { width: 20px; height: 20px; background: teal; animation: walk 2s infinite alternate }</style>
  <div id=walker></div><pre id=shown style="font-size: 9px"></pre><script>
  let clicks = 0;
  function show() { shown.textContent = [clicks, localStorage.total, document.cookie, Math.random().toFixed(3),
    Math.round(performance.now())].join('\\n'); }
  function start() { clicks = 0; show(); }
  addEventListener('click', () => { clicks += 1; localStorage.total = Number(localStorage.total ?? 0) + 1;
    document.cookie = `last=${clicks}`; setTimeout(show, 30); });</script>"""
READ = "[clicks, localStorage.total, document.cookie]"
CLICK = (MouseDown(30, 60), MouseUp(30, 60))


@pytest.fixture(scope="module")
def manager(shared_laboratory: Any) -> Iterator[BrowserManager]:
    """Its browsers are killed by these tests."""
    manager = BrowserManager(BrowserConfig(browsers=1, pages_per_browser=6, call_timeout_s=4))
    shared_laboratory.run(manager.start())
    yield manager
    shared_laboratory.run(manager.close())


def kill_browser(manager: BrowserManager) -> None:
    launched, run = manager.browsers.places[0].launched, manager.run
    assert launched is not None and run is not None
    run.kill(launched.token)


def kinds(session: PageSession) -> list[str]:
    return [event.kind for event in session.events.after(0)]


def test_a_session_that_ends_while_its_page_is_brought_back_leaks_none(
    laboratory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        async with PageSessions(laboratory.manager, SessionsConfig(max_sessions=3)) as sessions:
            session, _ = await sessions.lease(PageSpec(laboratory.site(MEMORY), 96, 96), "ann")
            await session.evaluate("1")
            opened, go_on, open_page = asyncio.Event(), asyncio.Event(), laboratory.manager.open

            async def slow(*given: Any, **more: Any) -> Page:
                page: Page = await open_page(*given, **more)
                opened.set()
                await go_on.wait()
                return page

            monkeypatch.setattr(laboratory.manager, "open", slow)
            (await session.page()).fail("renderer", "for the test")
            call = asyncio.ensure_future(session.evaluate("1"))
            await opened.wait()
            await sessions.release(session.id)
            go_on.set()
            with pytest.raises(SessionEnded):
                await call
            assert laboratory.manager.stats.pages_open == 0

    laboratory.run(live())


def test_leases_quotas_and_tokens(laboratory: Any) -> None:
    async def live() -> None:
        spec = PageSpec(laboratory.site(MEMORY), 96, 96)
        async with PageSessions(
            laboratory.manager, SessionsConfig(max_sessions=3, per_owner=2, lease_seconds=5)
        ) as sessions:
            first, token = await sessions.lease(spec, "ann")
            second, other = await sessions.lease(spec, "ann", seconds=60)
            assert opens(first.lease, token) and not opens(first.lease, other)
            assert sessions.all_of("ann") == [first, second] and sessions.all_of("bob") == []
            with pytest.raises(QuotaExceeded, match="ann has 2 sessions, of 2"):
                await sessions.lease(spec, "ann")
            with pytest.raises(QuotaExceeded, match="bob has 0 sessions, of 0"):
                await sessions.lease(spec, "bob", quota=0)
            third = await sessions.open_page(spec.site)
            with pytest.raises(QuotaExceeded, match="all 3 sessions"):
                await sessions.lease(spec, "bob")
            assert sessions.renew(first.id, 600).until > time.time() + 500 > second.until
            for wrong in (0, -1, 1e9, float("nan")):
                with pytest.raises(InputError, match="lease_seconds"):
                    sessions.renew(first.id, wrong)
            await sessions.release(first.id)
            await third.close()
            with pytest.raises(SessionEnded, match=first.id):
                sessions.get(first.id)
            with pytest.raises(SessionEnded):
                await first.evaluate("1")
            with pytest.raises(InputError, match="site.index must be a file of .*; got 'none.html'"):
                await sessions.open_page(Site(spec.site.root, "none.html"))
            assert sessions.all_of() == [second] and laboratory.manager.stats.pages_open == 1
        assert laboratory.manager.stats.pages_open == 0

    laboratory.run(live())


def test_the_collector_takes_what_is_idle_and_nothing_else(laboratory: Any) -> None:
    async def live() -> None:
        config = SessionsConfig(collect_seconds=0.02)
        async with PageSessions(laboratory.manager, config) as sessions:
            site = laboratory.site(MEMORY)
            idle, busy, held, renewed = [await sessions.open_page(site) for _ in range(4)]
            held.hold()
            for session in (idle, busy, held, renewed):
                sessions.renew(session.id, 0.3)
            call = asyncio.ensure_future(
                busy.evaluate("new Promise((done) => { setTimeout(() => done(7), 0); window.go = 1 })")
            )
            while idle in sessions.all_of():
                sessions.renew(renewed.id)
                await asyncio.sleep(0.02)
            await until(lambda: set(sessions.all_of()) == {busy, held})  # the renewed one was let alone in the end
            assert (sessions.collected, idle.events.after(0)[-1].kind) == (2, "ended")
            places = laboratory.manager.browsers.places
            await until(lambda: sum(len(place.pages) for place in places) == 2)
            for page in [page for place in places for page in place.pages]:
                await page.evaluate("window.go && __clock.advance(10)")  # the session's own calls wait
            assert await call == 7
            held.give_back()
            await until(lambda: not len(sessions))

    laboratory.run(live())


@pytest.mark.parametrize("death", ["renderer", "browser", pytest.param("driver", marks=pytest.mark.full)])
@pytest.mark.first(1)
def test_a_recovered_page_is_where_it_was(
    laboratory: Any, manager: BrowserManager, monkeypatch: pytest.MonkeyPatch, death: str
) -> None:
    long_way = 1 if death == "browser" else 200  # there the journal begins anew with the start
    monkeypatch.setattr("tars_jax.sandbox.browser.sessions.session.LONG_WAY", long_way)

    async def live() -> None:
        async with PageSessions(manager) as sessions:
            session = await sessions.open_page(laboratory.site(MEMORY))
            await session.act(CLICK, advance_ms=500)
            await session.start("start()", seed=4)
            for _ in range(3):
                before = await session.act(CLICK, advance_ms=130, read=READ)
            assert before.data == [3, "4", "last=3"]
            place = await session.checkpoint()
            if death == "renderer":
                await crash_renderer(await session.page())
            elif death == "browser":
                kill_browser(manager)
            else:
                assert manager.browsers.driver is not None
                os.kill(manager.browsers.driver.pid, signal.SIGKILL)
            after = await session.act([], advance_ms=0, read=READ)
            assert (after.png, after.data) == (before.png, before.data)
            assert (session.journal.before, len(session.journal.entries)) == ((1, 5) if long_way == 1 else (0, 6))
            there = await session.checkpoint()
            assert {**there, "calls": 0, "journal": None} == {**place, "calls": 0, "journal": None}
            fork, _ = await sessions.lease(place["journal"], "ann")
            forked = [await page.act(CLICK, advance_ms=130, read=READ) for page in (fork, session)]
            assert forked[0] == forked[1] and forked[0].data[0] == 4
            assert place["clock_ms"] == 390 and place["storage"]["cookies"][0]["value"] == "3"
            assert session.recoveries == 1 and {"failure", "recovered"} < set(kinds(session))

    laboratory.run(live())


@pytest.mark.full
def test_games_recover(laboratory: Any) -> None:
    """A second level on the same page, some clicks, and the page is lost: the new one shows the same."""

    async def recover(sessions: PageSessions, name: str) -> None:
        game = load_game(name)
        session = await sessions.open_page(Site(game.site_root, game.index), single_canvas=game.single_canvas)
        for seed in (2, 4):
            await session.start(f"game.start({{seed: {seed}, level: {seed}}})", seed=seed)
            for x, y in ((20, 30), (70, 60)):
                events = (MouseDown(x, y), MouseUp(x, y), KeyDown("ArrowLeft"), KeyUp("ArrowLeft"))
                before = await session.act(events, advance_ms=game.settle_ms, read="[game.state(), verify()]")
        await session.lose("browser", "")
        after = await session.act([], advance_ms=0, read="[game.state(), verify()]")
        assert (after.png, after.data) == (before.png, before.data), name
        await session.close()

    async def live() -> None:
        async with PageSessions(laboratory.manager) as sessions:
            for name in game_names()[::4]:
                await recover(sessions, name)

    laboratory.run(live())


def test_a_call_that_hangs_or_raises_leaves_the_session_whole(laboratory: Any, manager: BrowserManager) -> None:
    async def live() -> None:
        async with PageSessions(manager) as sessions:
            session = await sessions.open_page(laboratory.site(MEMORY))
            before = await session.start("start()", seed=4, read=READ)
            with pytest.raises(PageError):
                await session.evaluate("clicks = 5; nothing.here")
            with pytest.raises(SandboxFailure) as hung:
                await session.evaluate("(() => { clicks = 9; while (true); })()")
            assert hung.value.kind == "timeout" and session.calls == 2
            after = await session.act([], advance_ms=0, read=READ)
            assert after.png == before.png and after.data[0] == 5  # the call that raised has been replayed as well
            with pytest.raises(SandboxFailure):
                await session.start("new Promise(() => {})", seed=1)
            assert (await session.act([], advance_ms=0, read=READ)).data[0] == 5

    laboratory.run(live())


def test_a_page_that_was_touched_from_outside_is_not_passed_off_as_recovered(
    laboratory: Any, manager: BrowserManager
) -> None:
    async def live() -> None:
        async with PageSessions(manager) as sessions:
            session = await sessions.open_page(laboratory.site(MEMORY))
            await session.start("start()", seed=4)
            await (await session.page()).evaluate("clicks = 7; show()")
            await session.act([], advance_ms=0)
            kill_browser(manager)
            with pytest.raises(SandboxFailure) as caught:
                await session.act([], advance_ms=0)
            assert caught.value.kind == "diverged" and "call 2 of 2" in str(caught.value)

    laboratory.run(live())


def test_a_database_that_cannot_be_written_harms_nobody(laboratory: Any) -> None:
    """A value that contains itself ended Playwright's driver, and with it every browser."""
    store = """(async () => { const wait = (request) => new Promise((done) => {
      request.onsuccess = request.oncomplete = () => done(request.result); });
      const opening = indexedDB.open('d'); opening.onupgradeneeded = () => opening.result.createObjectStore('s');
      const database = await wait(opening), change = database.transaction('s', 'readwrite');
      change.objectStore('s').put(VALUE, 1); await wait(change); database.close(); })()"""

    async def live() -> None:
        stats = laboratory.manager.stats
        starts, failures = stats.driver_starts, stats.failures.total()
        async with PageSessions(laboratory.manager) as sessions:
            session = await sessions.open_page(laboratory.site(MEMORY))
            await session.act(CLICK, advance_ms=50)
            for value, databases in (("new Map([[1, 10n]])", 1), ("(() => { const a = {}; a.a = a; return a })()", 0)):
                await session.evaluate(store.replace("VALUE", value))
                storage = (await session.checkpoint())["storage"]
                (origin,) = storage["origins"]
                assert origin["localStorage"] == [{"name": "total", "value": "1"}] and storage["cookies"]
                assert len(origin.get("indexedDB", [])) == databases
        assert (stats.driver_starts, stats.failures.total()) == (starts, failures)

    laboratory.run(live())


def test_a_repeated_call_counts_once(laboratory: Any) -> None:
    async def live() -> None:
        async with PageSessions(laboratory.manager) as sessions:
            session = await sessions.open_page(laboratory.site(MEMORY))
            await session.start("start()", seed=4)
            first = await session.call(Act(CLICK, 50, READ), idempotency_key="a")
            await session.act(CLICK, advance_ms=50)
            with pytest.raises(PageError):
                await session.call(Evaluate("nothing.here"), idempotency_key="b")
            for _ in range(2):
                assert await session.call(Act(CLICK, 50, READ), idempotency_key="a") == first and first.data[0] == 1
                with pytest.raises(PageError):
                    await session.call(Evaluate("nothing.here"), idempotency_key="b")
                assert session.calls == 4
                await session.lose("browser", "")  # the second time, the answers are those of the replay
                session._answers.clear()

    laboratory.run(live())


def test_a_person_holds_the_page_and_gives_it_back(laboratory: Any) -> None:
    async def live() -> None:
        async with PageSessions(laboratory.manager) as sessions:
            session = await sessions.open_page(laboratory.site(MEMORY))
            await session.start("start()", seed=4)
            assert (await session.call(Act(CLICK, 50, READ), person=True)).data[0] == 1
            agents = asyncio.ensure_future(session.act(CLICK, advance_ms=50, read=READ))
            assert (await session.call(Act(CLICK, 50, READ), person=True)).data[0] == 2
            assert not agents.done() and session.to_json()["person"]
            session.give_back()
            assert (await agents).data[0] == 3

    laboratory.run(live())


def test_events_of_a_page(laboratory: Any) -> None:
    html = """<a id=file href="data:text/plain,hello" download=hello.txt>file</a><script>console.log('first', 1);
      console.warn('careful'); setTimeout(() => { throw new Error('late') }, 10);</script>"""

    async def live() -> None:
        async with PageSessions(laboratory.manager) as sessions:
            session = await sessions.open_page(laboratory.site(html))
            await session.act([], advance_ms=20)
            await session.evaluate(
                "confirm('Really?'); file.click(); history.pushState({}, '', '#there'); open('/'); 0"
            )
            wanted = {"navigation", "console", "error", "dialog", "download", "popup", "ended"}
            seen: dict[str, list[dict[str, Any]]] = {}
            async with asyncio.timeout(PATIENCE_S):
                async for event in session.events.follow():
                    seen.setdefault(event.kind, []).append(event.data)
                    if set(seen) == wanted - {"ended"}:
                        await session.close()
            assert set(seen) == wanted
            assert [entry["text"] for entry in seen["console"]] == ["first 1", "careful"]
            assert seen["navigation"][-1]["url"].endswith("#there") and "late" in seen["error"][0]["text"]
            assert seen["dialog"] == [{"type": "confirm", "text": "Really?", "answer": "dismissed"}]
            assert seen["download"][0]["name"] == "hello.txt"

    laboratory.run(live())


def test_downloads_are_kept_up_to_a_limit(laboratory: Any, tmp_path: Path) -> None:
    save = """((href, name) => { const link = document.createElement('a'); link.href = href; link.download = name;
      link.click(); })"""

    async def live() -> None:
        site = laboratory.site("")
        (site.root / "report.csv").write_text("a,b")
        (site.root / "packed.zip").write_bytes(b"PK")

        async def told(session: PageSession, count: int) -> list[dict[str, Any]]:
            async with asyncio.timeout(PATIENCE_S):
                async for _ in session.events.follow():
                    found = [event.data for event in session.events.after(0) if event.kind == "download"]
                    if len(found) == count:
                        return sorted(found, key=lambda download: download.get("number", 99))
            raise AssertionError("the session ended")

        async with PageSessions(laboratory.manager, SessionsConfig(download_megabytes=1), tmp_path) as sessions:
            session = await sessions.open_page(site)
            for count, expression in enumerate(
                (
                    f"{save}('data:text/plain,hello', '../../a\\u0000.txt')",
                    f"{save}('report.csv', '')",  # a link to the page's own site
                    "location = 'packed.zip'; 1",  # a navigation that turns out to be one
                    f"{save}(URL.createObjectURL(new Blob(['x'.repeat(2 << 20)])), 'large.txt')",
                )
            ):
                await session.evaluate(expression)
                downloads = await told(session, count + 1)
            assert [(each["name"].rpartition("_")[2], each.get("bytes"), each["kept"]) for each in downloads] == [
                (".txt", 5, True), ("report.csv", 3, True), ("packed.zip", 2, True), ("large.txt", None, False)
            ]  # fmt: skip
            assert session.downloads is not None
            await session.lose("browser", "")  # the replay downloads them again: the same ones
            await session.evaluate("1")
            await told(session, 8)
            assert len(session.downloads.kept) == 3
        async with PageSessions(laboratory.manager, SessionsConfig(download_megabytes=1), tmp_path) as sessions:
            (session,) = sessions.all_of()
            assert session.downloads is not None and session.to_json()["downloads"] == 3
            assert [session.downloads.file(number) for number in (0, 4)] == [None, None]
            file = session.downloads.file(2)
            assert file is not None and file.read_text() == "a,b" and file.is_relative_to(tmp_path)
            await session.close()
            assert not file.exists()

    laboratory.run(live())


def test_the_next_sessions_adopt_what_the_last_ones_left(laboratory: Any, tmp_path: Path) -> None:
    async def live() -> None:
        site = laboratory.site(MEMORY)
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            kept, broken, torn = [await sessions.open_page(site) for _ in range(3)]
            ids = [session.id for session in (kept, broken, torn)]
            for session in (kept, torn):
                await session.start("start()", seed=4)
                await session.act(CLICK, advance_ms=50, read=READ)
            sessions.renew(kept.id, 77)
            with pytest.raises(InputError, match="which another process uses"):
                await PageSessions(laboratory.manager, folder=tmp_path).__aenter__()
        (tmp_path / broken.id / "session.json").write_text('{"lease": {"owner": "x"}}')
        (file,) = (tmp_path / torn.id).glob("journal-*.jsonl")
        file.write_bytes(file.read_bytes()[:-20])
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            assert sessions.adopted == 2 and {session.id for session in sessions.all_of()} == {ids[0], ids[2]}
            assert not (tmp_path / ids[1]).exists()
            adopted, shorter = sessions.get(ids[0]), sessions.get(ids[2])
            assert (adopted.lease.seconds, adopted.calls, shorter.calls) == (77, 2, 1)
            assert kept.last is not None
            again = await adopted.act([], advance_ms=0, read=READ)
            assert (again.png, again.data) == (kept.last.png, kept.last.data)
            await sessions.release(ids[0])
            assert not (tmp_path / ids[0]).exists()

    laboratory.run(live())


def test_one_session_that_the_disk_does_not_give_back_keeps_no_other(laboratory: Any, tmp_path: Path) -> None:
    async def live() -> None:
        site = laboratory.site(MEMORY)
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            lost, kept = [(await sessions.open_page(site)).id for _ in range(2)]
        (tmp_path / lost / "downloads" / "1.json").mkdir()  # to read it is an OSError
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            assert [session.id for session in sessions.all_of()] == [kept] and (tmp_path / lost).exists()

    laboratory.run(live())


OWNER = """
import asyncio, sys
from pathlib import Path
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, Site
from tars_jax.sandbox.browser.sessions import PageSessions

async def main(site, folder):
    async with BrowserManager(BrowserConfig(browsers=1)) as manager, \\
            PageSessions(manager, folder=Path(folder)) as sessions:
        session = await sessions.open_page(Site(Path(site)))
        await session.start("start()", seed=4)
        await session.act([], advance_ms=333)
        print(manager.run.token, manager.run.reaper_pid, manager.run.folder, session.last.png.hex(), flush=True)
        await asyncio.sleep(60)

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_killed_owner_leaves_its_sessions_and_no_process(laboratory: Any, tmp_path: Path) -> None:
    """Even where its reaper was killed too, and a browser stands still: the next owner ends what is left."""
    site = laboratory.site(MEMORY)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(site.root), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    token, reaper, folder, png = owner.stdout.readline().split()
    stuck = marked_processes(token)
    for pid in stuck:
        if pid != owner.pid:
            os.kill(pid, signal.SIGSTOP)  # neither driver nor browser hears that its owner is gone
    os.kill(int(reaper), signal.SIGKILL)
    owner.kill()
    owner.wait()
    assert marked_processes(token) and Path(folder).exists()

    async def adopt() -> None:
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            (session,) = sessions.all_of()
            assert sessions.reaped >= 2 and not marked_processes(token) and not Path(folder).exists()
            assert (await session.act([], advance_ms=0)).png.hex() == png

    laboratory.run(adopt())


def test_recordings_play_again(laboratory: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def live() -> None:
        async with PageSessions(laboratory.manager, folder=tmp_path / "sessions") as sessions:
            session = await sessions.open_page(laboratory.site(MEMORY))
            await session.act(CLICK, advance_ms=50)
            sessions.record(session)
            for seed in range(2):
                await session.start("start()", seed=seed)
                await session.act([*CLICK, KeyDown("a"), KeyUp("a")], advance_ms=90)
            assert session.recording is not None
            packed = tmp_path / "film.zip"
            with packed.open("wb") as zipped:
                session.recording.pack(zipped)
            folder = session.recording.folder
            assert await play(packed, laboratory.manager) == await play(folder, laboratory.manager) == 4
            file = folder / "journal.jsonl"
            assert len(read_journal(file).entries) == 5
            lines = file.read_text().splitlines()
            changed = json.loads(lines[3])
            changed["call"]["advance_ms"] = 290
            file.write_text("\n".join([*lines[:3], json.dumps(changed), *lines[4:], ""]))
            with pytest.raises(SandboxFailure, match="call 3 of 5"):
                await play(folder, laboratory.manager)
            (folder / "frames" / "000002.png").write_bytes(b"another picture")
            with pytest.raises(InputError, match="000002.png must be the screenshot"):
                await play(folder, laboratory.manager)

    laboratory.run(live())
    assert main([str(tmp_path / "film.zip")]) == 0 and "4 frames, each the same" in capsys.readouterr().out
    assert main([str(tmp_path / "none.zip")]) == 2 and "none.zip must be a recording" in capsys.readouterr().err
