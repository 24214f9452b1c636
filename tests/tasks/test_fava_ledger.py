"""A ledger is what Beancount reads in it: how an entry is written is no effect, and all of what it says is one."""

from __future__ import annotations

import asyncio
import os

import pytest

from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.tables import Tables, to_tables
from tars_jax.tasks.websites.task import SYNTHESIZED, read_website_tasks
from tars_jax.tasks.websites.websites import Websites

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
    pytest.mark.skipif(not is_installed(load_website("fava")), reason="fava is missing: ./launch/websites.sh fava"),
]
TASK = next(each for each in read_website_tasks(SYNTHESIZED) if each.id == "fava-d0999e6835")
PAYEE, NARRATION = "Notes: sound check", "Question: window cleaning"
ENTRY = f'2025-01-01 * "{PAYEE}" "{NARRATION}"\n'
BOOKS = "open Expenses:Books EUR"
RIGHT = (
    ENTRY,
    ENTRY.replace("*", "txn"),
    ENTRY.replace("2025-01-01", "2025/01/01"),
    ENTRY.replace("2025-01-01", "2025/1/1"),
    ENTRY.replace("2025-01-01", "2026-11-28"),  # the words name no day
    ENTRY.replace(" * ", "\t*\t").replace("\n", "  \r\n"),
)
WRONG = (
    ENTRY + ENTRY,
    ENTRY.replace("*", "!"),
    ENTRY.replace("\n", " #tag\n"),
    ENTRY.replace("\n", " ; a remark\n"),
    ENTRY + '  note: "more"\n',
    ENTRY + "  Assets:Cash\n  Assets:Bank\n",
    ENTRY.replace(NARRATION, f"{NARRATION}\n and doors"),
    "; " + ENTRY,
)
OTHERWISE = (  # what stands in the ledger, and what is put in its place beside the right entry
    (BOOKS, "open Expenses:Books EUR,USD"),
    (BOOKS, "open Expenses:Books"),
    (BOOKS, f'{BOOKS} "STRICT"'),
    (BOOKS, f"{BOOKS} ; a remark"),
    (BOOKS, f'{BOOKS}\n  note: "more"'),
    ('option "title" "Ledger"', 'option "title" "Mine"'),
    ("Assets:Cash  -16.97 EUR", "Assets:Cash  -16.97 EUR @ 1 EUR"),
    ("Assets:Cash  -16.97 EUR", '! Assets:Cash  -16.97 EUR\n    note: "more"'),
)
BESIDE = (
    "2026-01-01 close Expenses:Gifts",
    "2025-01-01 commodity USD",
    "2025-01-01 pad Assets:Cash Equity:Opening-Balances",
    "2025-08-01 balance Assets:Cash -1761.09 ~ 0.1 EUR",
    '2025-01-01 event "location" "Paris"',
    '2025-01-01 note Assets:Cash "Hello" #tag',
    '2025-01-01 document Assets:Cash "/tmp/x.pdf"',
    '2025-01-01 custom "fava-option" "language" "de"',
    '2025-01-01 query "all" "SELECT account"',
    "2025-01-01 price USD 1.1 EUR",
    'plugin "beancount.plugins.auto_accounts" "config"',
    'include "more.beancount"',
    "pushtag #tag\npoptag #tag",
    "* A heading",
    "2025-13-01 garbage",
)
WRITE = "import sys; open('ledger.beancount', 'w', newline='').write(sys.argv[1])"


async def told(session: WebsiteSession, before: Tables, text: str) -> str:
    """What is wrong with a ledger; empty: nothing."""
    await session.run(("{python}", "-c", WRITE, text))
    return TASK.wrong(before, to_tables(await session.snapshot()), None)


@pytest.mark.parametrize("beside", [BESIDE[:1], pytest.param(BESIDE[1:], marks=pytest.mark.full)])
def test_the_same_entry_is_right_however_it_is_written_and_all_else_is_an_effect(beside: tuple[str, ...]) -> None:
    async def work() -> tuple[list[str], list[str]]:
        async with Websites(live=False) as websites:
            session = await websites.open(load_website("fava"), TASK.seed)
            ledger = (await session.files("ledger.beancount"))["ledger.beancount"]
            before = to_tables(await session.snapshot())
            refused = [entry for entry in RIGHT if await told(session, before, f"{ledger}\n{entry}")]
            wrong = [f"{ledger}\n{entry}" for entry in WRONG]
            wrong += [ledger.replace(old, new) + f"\n{ENTRY}" for old, new in OTHERWISE]
            wrong += [f"{ledger}\n{ENTRY}\n{each}\n" for each in beside]
            return refused, [text for text in wrong if not await told(session, before, text)]

    assert asyncio.run(work()) == ([], [])
