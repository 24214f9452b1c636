"""Fava: accounts over one text file, a Beancount ledger. Nobody logs in."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Files, Row, Untold, Website

_EXPENSES = ("Food", "Rent", "Travel", "Books", "Health", "Gifts")
_HEAD = re.compile(r'^(\d{4}-\d{2}-\d{2})\s+([*!])\s+(?:"([^"]*)"\s+)?"([^"]*)"(.*)$')
_OPEN = re.compile(r"^(\d{4}-\d{2}-\d{2})\s+(open|close)\s+(\S+)")


def _content(rng: random.Random) -> Content:
    entries = []
    for month in range(1, 7):
        salary = [["Assets:Bank", "2400.00"], ["Income:Salary", "-2400.00"]]
        entries.append(
            {"date": f"2025-{month:02}-01", "payee": "Harbor Cafe", "narration": "Salary", "postings": salary}
        )
        for day in sorted(rng.sample(range(2, 28), 4)):
            cents = rng.randint(300, 29900)
            amount = f"{cents // 100}.{cents % 100:02}"
            source = rng.choice(("Assets:Bank", "Assets:Cash"))
            what = rng.choice(("Weekly things", "For the office", "A present", "Tickets", "Repair"))
            postings = [[f"Expenses:{rng.choice(_EXPENSES)}", amount], [source, f"-{amount}"]]
            date = f"2025-{month:02}-{day:02}"
            entries.append({"date": date, "payee": rng.choice(words.SHOPS), "narration": what, "postings": postings})
    return {"title": "Ledger", "entries": entries}


def _entries(text: str) -> Iterator[tuple[Row | None, str]]:
    """Each transaction, and each line that belongs to none, in their order."""
    head: dict[str, str] | None = None
    for line in text.splitlines():
        if match := _HEAD.match(line):
            if head is not None:
                yield head, ""
            date, flag, payee, narration, more = match.groups()
            head = {"date": date, "flag": flag, "payee": payee or "", "narration": narration, "more": more.strip()}
            head["postings"] = ""
        elif head is not None and line.startswith((" ", "\t")) and line.strip():
            head["postings"] = "\n".join(filter(None, (head["postings"], " ".join(line.replace(",", "").split()))))
        else:
            if head is not None:
                yield head, ""
            head = None
            yield None, line
    if head is not None:
        yield head, ""


def _transactions(path: str, text: str) -> list[Row]:
    """Date, flag, payee, narration, what else its first line has, and its postings, one a line."""
    return [transaction for transaction, _ in _entries(text) if transaction is not None]


def _accounts(path: str, text: str) -> list[Row]:
    return [
        {"account": match[3], "date": match[1], "directive": match[2]}
        for match in map(_OPEN.match, text.splitlines())
        if match
    ]


def _other_lines(path: str, text: str) -> list[Row]:
    """All that is neither a transaction nor an account that is opened or closed."""
    lines = [line for transaction, line in _entries(text) if transaction is None]
    return [{"line": line} for line in lines if line.strip() and not _OPEN.match(line)]


SITE = Website(
    "fava",
    version="1.30.16",
    license="MIT",
    package="pypi:fava",
    title="Fava",
    port=8004,
    prepare=("{python}", "{programs}/fava_prepare.py"),
    serve=("{python}", "{programs}/wsgi_serve.py", "{port}", "{programs}/fava_application.py"),
    content=_content,
    first_page="/ledger/income_statement/",
    health="/ledger/api/changed",
    readers={
        "transactions": Files("ledger.beancount", _transactions),
        "accounts": Files("ledger.beancount", _accounts),
        "lines": Files("ledger.beancount", _other_lines),
        "untold": Untold(files=("ledger.beancount",)),
    },
    transient=("*.picklecache", ".*.picklecache"),
)
