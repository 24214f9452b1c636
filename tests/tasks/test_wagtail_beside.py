"""What is done in Wagtail beside a task is an effect, and what only looks otherwise in a text is none."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.tables import differences, to_tables
from tars_jax.tasks.websites.task import SYNTHESIZED, read_website_tasks
from tars_jax.tasks.websites.websites import Websites

SITE = load_website("wagtail")
pytestmark = [
    pytest.mark.full,  # it starts slowly
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
    pytest.mark.skipif(not is_installed(SITE), reason="wagtail is missing: ./launch/websites.sh wagtail"),
]
TASK = next(each for each in read_website_tasks(SYNTHESIZED) if each.id == "wagtail-0fb23d640e")
TEXT = "The solar panels works again."
ROTA, DRILL, GARDEN = 5, 7, 6  # ids of pages of this seed: a live one, a draft, a live one


def body(*texts: str) -> str:
    """As the editor sends a text of several paragraphs."""
    block = {"type": "unstyled", "depth": 0, "inlineStyleRanges": [], "entityRanges": [], "data": {}}
    blocks = [{**block, "key": f"k{number:04}", "text": text} for number, text in enumerate(texts)]
    return json.dumps({"blocks": blocks, "entityMap": {}})


async def edit(session: WebsiteSession, page: int, **fields: str) -> None:
    status, _ = await session.submit(f"/admin/pages/{page}/edit/", {"slug": await slug(session, page), **fields})
    assert status < 400


async def slug(session: WebsiteSession, page: int) -> str:
    (found,) = await session.sql("site.sqlite3", "SELECT slug FROM wagtailcore_page WHERE id = ?", [page])
    return str(found["slug"])


async def publish(session: WebsiteSession, page: int) -> None:
    await edit(session, page, **{"action-publish!": "action-publish"})


def test_orders_publishing_and_subscriptions_are_effects_and_empty_ends_of_a_text_are_none() -> None:
    async def work() -> tuple[list[bool], list[set[str]]]:
        async with Websites(live=False) as websites:
            session = await websites.open(SITE, TASK.seed)
            first = to_tables(await session.snapshot())

            right = []
            for texts in ((TEXT,), (f"{TEXT} ", ""), ("", f" {TEXT}"), (TEXT, "More.")):
                await edit(session, ROTA, body=body(*texts))
                right.append(TASK.wrong(first, to_tables(await session.snapshot()), None) == "")
                await session.reset()
            seen: list[set[str]] = []

            async def look() -> None:
                """Which readers tell of it; and puts all back."""
                seen.append({each.table for each in differences(first, to_tables(await session.snapshot()))})
                await session.reset()

            await session.submit("/admin/account/", {}, f"/admin/pages/{GARDEN}/set_position/?position=0")
            await look()
            await publish(session, GARDEN)  # as it was
            await look()
            await publish(session, DRILL)
            await session.submit(f"/admin/pages/{DRILL}/unpublish/", {})
            await look()
            await edit(session, GARDEN, **{"comment_notifications!": "on"})
            await look()
            return right, seen

    right, seen = asyncio.run(work())
    assert right == [True, True, True, False]
    assert seen == [{"orders"}, {"pages"}, {"pages"}, {"beside", "drafts", "pages"}]
