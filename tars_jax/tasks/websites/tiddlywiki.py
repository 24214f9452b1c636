"""TiddlyWiki: a notebook. Its program keeps the notes in memory and writes files late, so a reset restarts it."""

from __future__ import annotations

import dataclasses
import random
from typing import Any
from urllib.parse import quote

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Inside, Rest, Row, Website, parsed

# Of a note's fields those that are told by name, and those that only say when and how often it was saved.
_TOLD = {"title", "tags", "text", "created", "modified", "creator", "modifier", "revision", "bag"}
_SETTINGS = ("$:/SiteTitle", "$:/SiteSubtitle", "$:/DefaultTiddlers", "$:/palette", "$:/theme", "$:/language",
    "$:/view", "$:/config/AnimationDuration", "$:/config/NewJournal/Title", "$:/status/UserName")  # fmt: skip
_TAGS = ("work", "home", "later", "urgent", "idea")


def _content(rng: random.Random) -> Content:
    notes = [
        {
            "title": title,
            "tags": sorted(words.pick(rng, _TAGS, rng.randint(1, 2))),
            "text": words.paragraph(rng, 3),
        }
        for title in words.pick(rng, words.TOPICS, 7)
    ]
    return {"title": f"Notes of {rng.choice(words.SHOPS)}", "notes": notes}


def _notes(answer: Any) -> list[Row]:
    rows = [
        {
            "title": note["title"],
            "tags": note.get("tags", ""),
            "text": note.get("text", "").strip(),
            "more": {name: value for name, value in note.items() if name not in _TOLD},
        }
        for note in answer
        if "draft.of" not in note
    ]
    return sorted(rows, key=lambda row: row["title"])


@dataclasses.dataclass(frozen=True)
class Settings:
    """A row of each setting that there is. Other notes of the system are written by looking, such as what is open."""

    names: tuple[str, ...]

    async def rows(self, site: Inside) -> list[Row]:
        rows: list[Row] = []
        for name in self.names:
            status, text = await site.http("GET", f"/recipes/default/tiddlers/{quote(name, safe='')}")
            if status < 400:
                rows += parsed(text, name, lambda note: [{"name": note["title"], "text": note.get("text", "")}])
        return rows


SITE = Website(
    "tiddlywiki",
    version="5.4.1",
    license="BSD-3-Clause",
    package="npm:tiddlywiki",
    title="TiddlyWiki",
    port=8010,
    prepare=("{python}", "{programs}/tiddlywiki_prepare.py"),
    serve=(
        "node", "{root}/node_modules/tiddlywiki/tiddlywiki.js", "{state}", "--listen", "host=127.0.0.1", "port={port}",
        "anon-username=anna", "csrf-disable=yes",
    ),
    content=_content,
    health="/status",
    readers={
        "notes": Rest("/recipes/default/tiddlers.json?exclude=revision", _notes),
        "settings": Settings(_SETTINGS),
    },
    restarts=True,
)  # fmt: skip
