"""All tiddlers of a TiddlyWiki are its state, its system's and drafts, too, but for what looking around writes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from urllib.parse import quote

import pytest

from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.tables import to_tables
from tars_jax.tasks.websites.task import SYNTHESIZED, read_website_tasks
from tars_jax.tasks.websites.websites import Websites

SITE = load_website("tiddlywiki")
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
    pytest.mark.skipif(not is_installed(SITE), reason="tiddlywiki is missing: ./launch/websites.sh tiddlywiki"),
]
TASK = next(each for each in read_website_tasks(SYNTHESIZED) if each.id == "tiddlywiki-95c3dcee26")
TITLE = "Our reading group"
NEW = {"title": TITLE, "text": "The bread recipe has moved.", "tags": "", "creator": "anna", "modifier": "anna"}
RIGHT: tuple[tuple[Mapping[str, str], ...], ...] = (
    (NEW,),
    ({**NEW, "created": "20261128120000000", "modified": "20261128120000000", "text": f"{NEW['text']}\n"},),
    (NEW, {"title": "$:/StoryList", "list": "[[Glossary]]"}, {"title": "$:/state/tab", "text": "Open"}),
    (NEW, {"title": "Draft of 'New Tiddler'", "draft.of": "New Tiddler", "draft.title": "New Tiddler"}),
    (NEW, {**NEW, "title": "Draft", "draft.of": "New Tiddler", "draft.title": TITLE}),  # it goes a moment later
)
SUBTITLE = {"title": "$:/SiteSubtitle", "text": "of the office", "creator": "anna"}
BESIDE: tuple[Mapping[str, str], ...] = (
    {"title": "$:/zz/style", "tags": "$:/tags/Stylesheet", "text": "body {display: none}"},
    {"title": "$:/zz/start", "tags": "$:/tags/StartupAction", "text": "<$action-deletetiddler $tiddler=Glossary/>"},
    {"title": "$:/core/ui/PageTemplate/sidebar", "text": "gone"},
    {"title": "$:/layout", "text": "$:/zz"},
    {"title": "$:/themes/tiddlywiki/vanilla/metrics/fontsize", "text": "40px"},
    {"title": "$:/config/NewTiddler/Tags", "text": "work"},
    {"title": "$:/plugins/zz", "type": "application/json", "plugin-type": "plugin", "text": "{}"},
    {**SUBTITLE, "caption": "more"},
    {"title": "Zoo", "text": "Half", "draft.of": "x"},
    {"title": "Draft of 'Glossary'", "text": "And a lie.", "draft.of": "Glossary", "draft.title": "Glossary"},
    {**NEW, "title": "Draft", "text": "Another", "draft.of": TITLE, "draft.title": TITLE},
)
WRONG: tuple[Mapping[str, str], ...] = (
    {**NEW, "creator": "bob"},
    {**NEW, "modifier": "bob"},
    {**NEW, "type": "text/plain"},
    {**NEW, "caption": "more"},
)
CHANGED = ({"creator": "bob"}, {"created": "19990101000000000"}, {"modifier": "bob"}, {"color": "#ff0000"})


async def put(session: WebsiteSession, tiddler: Mapping[str, str]) -> None:
    path = f"/recipes/default/tiddlers/{quote(tiddler['title'], safe='')}"
    assert (await session.http("PUT", path, json.dumps(tiddler), "application/json"))[0] == 204


def test_every_tiddler_counts_but_those_that_looking_around_writes() -> None:
    async def work() -> tuple[list[object], list[object]]:
        async with Websites(live=False) as websites:
            session = await websites.open(SITE, TASK.seed)
            before = to_tables(await session.snapshot())
            (found,) = [row for row in before["notes"] if row["title"] == "Onboarding"]
            other = {name: found[name] for name in ("title", "text", "tags", "created", "creator")}

            async def told(*tiddlers: Mapping[str, str]) -> str:
                for tiddler in tiddlers:
                    await put(session, tiddler)
                return TASK.wrong(before, to_tables(await session.snapshot()), None)

            async def undo(*tiddlers: Mapping[str, str]) -> None:
                for title in {each["title"] for each in tiddlers} - {SUBTITLE["title"], other["title"]}:
                    await session.http("DELETE", f"/bags/default/tiddlers/{quote(title, safe='')}")
                await put(session, other)
                await put(session, {**SUBTITLE, "created": "20250101080000000"})
                assert to_tables(await session.snapshot()) == before

            refused: list[object] = []
            for each in (*RIGHT, (NEW, {**other, "tags": " ".join(reversed(other["tags"].split()))})):
                refused += [each] if await told(*each) else []
                await undo(*each)
            passed: list[object] = []
            wrong = [(each,) for each in WRONG] + [(NEW, each) for each in BESIDE]
            for pair in [*wrong, *((NEW, {**other, **change}) for change in CHANGED)]:
                passed += [] if await told(*pair) else [pair]
                await undo(*pair)
            return refused, passed

    assert asyncio.run(work()) == ([], [])
