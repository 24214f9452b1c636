"""A corpus of one's own as an encyclopedia: documents in a file of JSON objects, one a line.

    {"title": "Arrosa", "text": "A village.\\nIt lies at a river.", "url": "https://example.org/arrosa"}

A document without a title is called by its address, or by its id ("docid" or "id"), as corpora for search have them.
"""

from __future__ import annotations

from pathlib import Path

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_json_lines
from tars_jax.tasks.browsing.article import Article
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia

_IDS = ("docid", "id")
_TEXTS = ("text", "contents")


def read_documents(file: Path) -> Encyclopedia:
    """Of two documents with one title the later one has its id, or its line, behind it.

    Raises InputError that names file and line for what is no document, and where there are none.
    """
    found: dict[str, Article] = {}
    for where, record in read_json_lines(file, "a document"):
        fields = Fields(record, f"{where}: field ")
        text = next((fields.text(name) for name in _TEXTS if record.get(name) is not None), None)
        if text is None:
            raise fields.error("text", "the document's text")
        id = next((str(record[name]) for name in _IDS if record.get(name) is not None), "")
        url = fields.text("url", "")
        title = " ".join((fields.text("title", "") or url or id).split())
        if not title:
            raise fields.error("title", "a name, where there is no url or docid")
        if title in found:
            title = f"{title} ({id or where.rpartition(':')[2]})"
        lines = tuple(" ".join(line.split()) for line in text.splitlines() if line.strip())
        if title in found:
            raise InputError(f"{where}: titles of documents must differ; got {title!r:.100} twice")
        found[title] = Article(title, "document", lines, aliases=(url,) if url and url != title else ())
    if not found:
        raise InputError(f"{file} must hold documents; got none")
    return Encyclopedia(found.values())
