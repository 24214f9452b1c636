"""Writes the notes and settings of a TiddlyWiki as files (content on stdin)."""

import json
import pathlib
import sys

content = json.load(sys.stdin)
pathlib.Path("tiddlywiki.info").write_text(
    json.dumps(
        {
            "description": "Notes",
            "plugins": ["tiddlywiki/tiddlyweb", "tiddlywiki/filesystem"],
            "themes": ["tiddlywiki/vanilla", "tiddlywiki/snowwhite"],
        }
    )
)
folder = pathlib.Path("tiddlers")
folder.mkdir()


def note(file: str, title: str, text: str, tags: str = "") -> None:
    lines = ["created: 20250101080000000", "creator: anna", f"tags: {tags}", f"title: {title}", "", text]
    (folder / f"{file}.tid").write_text("\n".join(lines))


for each in content["notes"]:
    note(each["title"], each["title"], each["text"], " ".join(each["tags"]))
note("site-title", "$:/SiteTitle", content["title"])
note("site-subtitle", "$:/SiteSubtitle", "of the office")
note("default", "$:/DefaultTiddlers", "\n".join(f"[[{each['title']}]]" for each in content["notes"][:2]))
