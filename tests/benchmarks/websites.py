"""What websites cost: start of each kind, reset after a change, the first page, memory, many at once.

    PYTHONPATH=. python tests/benchmarks/websites.py [--sites fossil,trac] [--resets 20] [--at-once 8] [--no-live]

All installed sites by default. `prepared` fills the state once for a seed; `started` begins the site's program on a
copy of its files, until it answers and is logged in; `live` goes on from a copy of a running one. A reset puts back a
state in which every database and one further file differ. Memory is that of the control group, files that were read
included.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable
from typing import TypeVar

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.tasks.websites.catalog import installed_websites, load_website
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import Website
from tars_jax.tasks.websites.websites import Websites

T = TypeVar("T")
# A table more in every SQLite file, and a file more.
CHANGE = """
import pathlib, sqlite3
for path in pathlib.Path("site").rglob("*"):
    if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE more (text)")
            database.executemany("INSERT INTO more VALUES (?)", [["x" * 100]] * 1000)
pathlib.Path("site/more").write_text("x")
"""


async def timed(work: Awaitable[T], seconds: list[float]) -> T:
    begun = time.perf_counter()
    value = await work
    seconds.append(time.perf_counter() - begun)
    return value


async def changed(session: WebsiteSession) -> None:
    done = await session.computer.machine.run([session.computer.machine.python, "-c", CHANGE])
    assert done.status == 0, done.stderr


async def first_page(session: WebsiteSession, browsers: BrowserManager) -> None:
    page = await session.open_page(browsers)
    await page.start(seed=0)
    await page.navigate(session.url)
    await page.act([], advance_ms=100)
    await page.close()


async def measured(site: Website, resets: int, at_once: int, live: bool, browsers: BrowserManager) -> str:
    prepared: list[float] = []
    started: list[float] = []
    copied: list[float] = []
    put_back: list[float] = []
    pages: list[float] = []
    async with Websites(live=False) as websites:
        await (await timed(websites.open(site, 1), prepared)).close()
        session = await timed(websites.open(site, 1), started)
        memory = (session.computer.container.memory_bytes() or 0) / (1 << 20)
        for _ in range(resets):
            await changed(session)
            put_back.append(await session.reset() / 1000)
        for _ in range(3):
            await timed(first_page(session, browsers), pages)
        many = await asyncio.gather(*(timed(websites.open(site, 1), []) for _ in range(at_once)))
        healthy = await asyncio.gather(*(each.healthy() for each in many))
        assert all(healthy), f"{site.name}: of {at_once} at once {healthy.count(False)} do not answer"
        total = sum((each.computer.container.memory_bytes() or 0) / (1 << 20) for each in many)
    if live:
        async with Websites() as websites:
            await (await websites.open(site, 1)).close()
            for _ in range(3):
                session = await timed(websites.open(site, 1), copied)
                await session.close()
            if session.origin != "live":
                copied = []
    longest, page = 1000 * max(put_back), statistics.median(pages)
    shown = f"{statistics.median(copied):.2f}" if copied else "-"
    return (
        f"| {site.name} {site.version} | {site.license} | {prepared[0]:.1f} | {started[0]:.2f} | {shown} "
        f"| {1000 * statistics.median(put_back):.1f} (at most {longest:.0f}) | {page:.2f} "
        f"| {memory:.0f} | {total / at_once:.0f} | {', '.join(site.readers)} |"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", default=",".join(installed_websites()))
    parser.add_argument("--resets", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--no-live", action="store_true")
    arguments = parser.parse_args()
    print(
        "| site | license | prepared, s | started, s | live, s | reset, ms | first page, s | memory, MiB "
        f"| MiB each of {arguments.at_once} at once | read by verifiers |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=1)) as browsers:
        for name in arguments.sites.split(","):
            live = not arguments.no_live
            print(await measured(load_website(name), arguments.resets, arguments.at_once, live, browsers), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
