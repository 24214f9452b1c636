"""An Otter Wiki: pages of Markdown in a git repository. Everybody may read and write; it needs the system's git."""

from __future__ import annotations

import random

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, FilesReader, Row, Sql, Untold, Website

_DATABASE = "otterwiki.db"


def _content(rng: random.Random) -> Content:
    pages = {
        name: f"# {name}\n\n{words.paragraph(rng, 3)}\n\n" + "".join(f"- {words.sentence(rng)}\n" for _ in range(3))
        for name in words.pick(rng, words.TOPICS, 6)
    }
    links = "".join(f"- [[{name}]]\n" for name in pages)
    home = f"# {rng.choice(words.SHOPS)}\n\n{words.paragraph(rng, 2)}\n\n{links}"
    return {"pages": {"Home": home, **pages}}


def _page(path: str, text: str) -> list[Row]:
    return [{"page": path.removeprefix("wiki/").removesuffix(".md"), "text": text}]


def _commits(path: str, text: str) -> list[Row]:
    """The messages of a log of git, one a line behind a tab."""
    return [{"message": line.partition("\t")[2]} for line in text.splitlines()]


SITE = Website(
    "otterwiki",
    version="2.26.1",
    license="MIT",
    package="pypi:otterwiki",
    title="An Otter Wiki",
    port=8005,
    prepare=("{python}", "{programs}/otterwiki_prepare.py"),
    serve=("{python}", "{programs}/wsgi_serve.py", "{port}", "{programs}/otterwiki_application.py"),
    content=_content,
    environment={"OTTERWIKI_SETTINGS": "{state}/settings.cfg"},
    health="/-/about",
    readers={
        "pages": FilesReader("wiki/**/*.md", _page),
        "commits": FilesReader("wiki/.git/logs/HEAD", _commits),
        "preferences": Sql(_DATABASE, "SELECT name, value FROM preferences ORDER BY name"),
        "users": Sql(_DATABASE, "SELECT name, email, password_hash, is_admin FROM user ORDER BY email"),
        # The cache is of pages that were looked at. A draft goes as its page is saved: one that stays was left behind.
        "drafts": Sql(_DATABASE, "SELECT pagepath, content FROM drafts ORDER BY pagepath, content"),
        "untold": Untold(
            _DATABASE, ("preferences", "user", "drafts"), ("cache",), ("wiki/.git", "wiki/.git/*", "wiki/*.md")
        ),
    },
    logs=("commits",),
)
