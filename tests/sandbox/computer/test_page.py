"""A page upon a computer: whose localhost it reaches, where its downloads go, what its dialogs get."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, KeyDown, KeyUp, MouseDown, MouseMove, MouseUp
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.equipped.page import ComputerPage
from tars_jax.sandbox.computer.home import File
from tars_jax.tasks.computer.site import RunningSite, SitePage, page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
ENTER: list[InputEvent] = [KeyDown("Tab"), KeyUp("Tab"), KeyDown("Enter"), KeyUp("Enter")]
CLICK: list[InputEvent] = [MouseMove(20, 20), MouseDown(20, 20), MouseUp(20, 20)]
FILES = (
    b"<!doctype html><style>* { margin: 0; font-size: 30px }</style>"
    b"<form method=post action=/up enctype=multipart/form-data><input type=file name=f %s></form>"
)


@contextlib.asynccontextmanager
async def opened(site: dict[str, SitePage]) -> AsyncIterator[tuple[Computer, ComputerPage, RunningSite]]:
    config = BrowserConfig(browsers=1, pages_per_browser=2)
    async with Computers() as computers, BrowserManager(config) as browsers:
        computer = await computers.open()
        running = await RunningSite.start(computer, site)
        shown = await ComputerPage.open(browsers, computer.machine, (320, 240))
        await shown.start(seed=0)
        await shown.navigate("localhost:8000")
        await shown.act([], advance_ms=100)
        try:
            yield computer, shown, running
        finally:
            await shown.close()
            await shown.close()  # twice is once
            await running.close()
            await computer.close()


def test_localhost_is_the_computers_and_never_this_machine() -> None:
    async def reach() -> None:
        heard: list[bytes] = []

        async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(await reader.read(100))
            writer.close()

        async with await asyncio.start_server(hear, "127.0.0.1", 0) as ours, opened({"/": page("Inside", "")}) as parts:
            _, shown, _ = parts
            assert (await shown.act([], advance_ms=100)).data["title"] == "Inside"
            port = ours.sockets[0].getsockname()[1]
            for host in ("localhost", "127.0.0.1", "[::1]"):
                fetched = f"fetch('http://{host}:{port}/', {{mode: 'no-cors'}}).then(() => 'reached', () => 'failed')"
                assert await shown.page.evaluate(fetched) == "failed"
                assert await shown.page.evaluate(fetched.replace(str(port), "8000")) == "reached"
            for address in (f"http://127.1:{port}", f"http://10.0.0.1:{port}", "https://localhost", "file:///etc", ""):
                with pytest.raises(InputError, match="address must be one of this computer"):
                    await shown.navigate(address)
            assert not heard

    asyncio.run(reach())


def test_downloads_lie_in_the_computer_each_under_a_name_of_its_own() -> None:
    async def download() -> None:
        links = page("Files", "<a href=/a>a</a><a href=/b>b</a>")
        site = {
            "/": links,
            "/a": SitePage(b"1,2\n", "text/csv", "my table.csv"),
            "/b": SitePage(b"3\n", "text/csv", "my table.csv"),
        }
        async with opened(site) as (computer, shown, _):
            await computer.put({"Downloads/my table.csv": File(b"mine\n")})
            for _ in range(2):
                await shown.act(ENTER, advance_ms=100)
            files, _ = await computer.home()
            assert {path: file.data for path, file in files.items()} == {
                "Downloads/my table.csv": b"mine\n",
                "Downloads/my table (1).csv": b"1,2\n",
                "Downloads/my table (2).csv": b"3\n",
            }
            assert sorted(shown.downloads) == [1, 2]

    asyncio.run(download())


@pytest.mark.full
def test_a_computer_that_takes_no_download_goes_on() -> None:
    async def download() -> None:
        async with opened(
            {"/": page("Files", "<a href=/a>a</a>"), "/a": SitePage(b"1\n", "text/csv", "a.csv")}
        ) as parts:
            computer, shown, _ = parts
            await computer.put({"Downloads": File(b"no folder\n")})
            assert (await shown.act(ENTER, advance_ms=100)).data["title"] == "Files"
            assert not shown.downloads

    asyncio.run(download())


@pytest.mark.parametrize(("kind", "names"), [("", ["a.txt"]), ("multiple", ["a.txt", "b/a.txt"])])
@pytest.mark.first(1)
def test_a_dialog_gets_files_of_the_computer(kind: str, names: list[str]) -> None:
    async def send() -> None:
        site = {"/": SitePage(FILES % kind.encode()), "/thanks": page("Thanks", "")}
        async with opened(site) as (computer, shown, running):
            await computer.put({"a.txt": File(b"first"), "b/a.txt": File(b"second")})
            with pytest.raises(InputError, match="must be open"):
                await shown.choose_files(["a.txt"])
            assert (await shown.act(CLICK, advance_ms=50)).data["dialog"] == ("files" if kind else "file")
            with pytest.raises(InputError, match="nothing"):
                await shown.choose_files(["nothing"])
            if not kind:
                with pytest.raises(InputError, match="must be 1; got 2"):
                    await shown.choose_files(["a.txt", "b/a.txt"])
            await shown.choose_files(names)
            assert await shown.page.evaluate("[...document.querySelector('input').files].map((file) => file.name)") == [
                "a.txt" for _ in names
            ]
            await shown.page.evaluate("document.querySelector('form').submit()")
            seen = await shown.act([], advance_ms=100)
            assert seen.data["title"] == "Thanks" and not seen.data["dialog"]
            posted = (await running.requests())[-1].body
            assert posted.count(b"first") == 1 and posted.count(b"second") == len(names) - 1

    asyncio.run(send())


@pytest.mark.full
def test_a_dialog_is_cancelled_by_no_files() -> None:
    async def cancel() -> None:
        async with opened({"/": SitePage(FILES % b"oncancel='document.title = 9'")}) as (_, shown, _):
            await shown.act(CLICK, advance_ms=50)
            await shown.choose_files([])
            seen = await shown.act([], advance_ms=50)
            assert seen.data["title"] == "9" and not seen.data["dialog"]

    asyncio.run(cancel())


def test_a_port_where_nothing_listens_is_the_browsers_own_error_page_and_later_ones_load() -> None:
    async def reach() -> None:
        async with opened({"/": page("Inside", "")}) as (_, shown, _):
            await shown.navigate("http://localhost:1/")
            assert "chrome-error" in (await shown.act([], advance_ms=100)).data["url"]
            await shown.navigate("http://localhost:8000/")
            assert (await shown.act([], advance_ms=100)).data["title"] == "Inside"

    asyncio.run(reach())
