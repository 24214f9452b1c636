"""Fava: accounts over one text file, a Beancount ledger. Nobody logs in."""

from __future__ import annotations

import random

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import CommandReader, Content, Untold, Website

_EXPENSES = ("Food", "Rent", "Travel", "Books", "Health", "Gifts")
_LEDGER = "ledger.beancount"


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
        "entries": CommandReader(("{python}", "-S", "{programs}/fava_ledger.py", _LEDGER)),
        "untold": Untold(files=(_LEDGER,)),
    },
    transient=("*.picklecache", ".*.picklecache"),
)
