"""TiddlyWiki: a notebook. Its program keeps the notes in memory and writes files late, so a reset restarts it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Rest, Row, Website

Tiddler: TypeAlias = Mapping[str, str]
_EVERY = "/every-tiddler.json"  # of programs/tiddlywiki_serve.js
# Of a note's fields those that are told by name, and what only says when and how often it was saved.
_TOLD = {"title", "tags", "text", "type", "created", "creator", "modifier", "modified", "revision", "bag"}
# What the page writes as somebody looks around: what is open, what is folded, what is searched for, who is logged in.
_LOOKING = ("$:/StoryList", "$:/HistoryList", "$:/state/", "$:/temp/", "$:/status/")
_TAG = re.compile(r"\[\[(.*?)\]\](?=\s|$)|(\S+)")
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


def _tags(said: str) -> list[str]:
    """Of a text such as work [[to do]], in one order: theirs says nothing."""
    return sorted(braced or plain for braced, plain in _TAG.findall(said))


def _row(tiddler: Tiddler) -> Row:
    """All fields but when it was last saved; without a modifier nobody but its creator has saved it."""
    creator = tiddler.get("creator", "")
    return {
        "title": tiddler["title"],
        "tags": " ".join(f"[[{tag}]]" if " " in tag else tag for tag in _tags(tiddler.get("tags", ""))),
        "text": tiddler.get("text", ""),
        "created": tiddler.get("created", ""),
        "creator": creator,
        "modifier": tiddler.get("modifier", creator),
        "more": {
            "type": tiddler.get("type") or "text/vnd.tiddlywiki",
            **{name: value for name, value in tiddler.items() if name not in _TOLD},
        },
    }


def _notes(tiddlers: Sequence[Tiddler]) -> list[Row]:
    return _rows(each for each in tiddlers if not each["title"].startswith("$:/") and "draft.of" not in each)


def _system(tiddlers: Sequence[Tiddler]) -> list[Row]:
    """Settings, styles, macros, plugins, and whatever else takes the place of what the program ships."""
    return _rows(
        each for each in tiddlers if each["title"].startswith("$:/") and not each["title"].startswith(_LOOKING)
    )


def _drafts(tiddlers: Sequence[Tiddler]) -> list[Row]:
    """Those that say something else than the notes that they are of: an editor that was only opened says the same."""
    saved = {each["title"]: each for each in tiddlers}

    def said(tiddler: Tiddler, title: str) -> Row:
        row = _row({name: value for name, value in tiddler.items() if name not in ("draft.of", "draft.title")})
        return {**row, "title": title, "created": "", "creator": "", "modifier": ""}

    def is_as_saved(draft: Tiddler) -> bool:
        title = draft.get("draft.title", draft["draft.of"])
        return said(draft, title) == said(saved.get(title, {"title": title}), title)

    return _rows(each for each in tiddlers if "draft.of" in each and not is_as_saved(each))


def _rows(tiddlers: Iterable[Tiddler]) -> list[Row]:
    return sorted(map(_row, tiddlers), key=lambda row: row["title"])


SITE = Website(
    "tiddlywiki",
    version="5.4.1",
    license="BSD-3-Clause",
    package="npm:tiddlywiki",
    title="TiddlyWiki",
    port=8010,
    prepare=("{python}", "{programs}/tiddlywiki_prepare.py"),
    serve=(
        "node", "{programs}/tiddlywiki_serve.js", "{root}", "{state}", "--listen", "host=127.0.0.1", "port={port}",
        "anon-username=anna", "csrf-disable=yes",
    ),
    content=_content,
    health="/status",
    readers={
        "notes": Rest(_EVERY, _notes),
        "system": Rest(_EVERY, _system),
        "drafts": Rest(_EVERY, _drafts),
    },
    restarts=True,
)  # fmt: skip
