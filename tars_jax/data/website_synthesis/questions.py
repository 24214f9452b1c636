"""Tasks whose end is an answer: a cell of a table. The state cannot tell these, so a rubric of facts does."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from tars_jax.data.website_synthesis.exploration import Explored
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.view import PageTable

LONGEST = 40  # characters of an answer
MOST_OF_A_PAGE = 3


@dataclasses.dataclass(frozen=True)
class SiteQuestion:
    """A question about a site, its answer, and the way to where it stands."""

    instruction: str
    answer: str
    rubric: tuple[str, ...]
    plan: tuple[PageMove, ...]


def questions(pages: Sequence[Explored], seed: str, count: int) -> tuple[list[SiteQuestion], Counter[str]]:
    """Questions with one answer on the whole site, and why others were left out."""
    rng = random.Random(f"{seed}:questions")
    dropped: Counter[str] = Counter()
    found: dict[tuple[str, str], SiteQuestion] = {}
    answers: dict[tuple[str, str], set[str]] = {}  # of all pages: the same row elsewhere may say another thing
    for page in pages:
        for table in page.view.tables:
            for row, column, cell in _cells(table):
                answers.setdefault((row, column), set()).add(cell)
    paths: dict[str, set[str]] = {}
    for page in pages:
        paths.setdefault(page.view.heading, set()).add(page.view.path)
    shared = {heading for heading, found_at in paths.items() if len(found_at) > 1}
    for page in pages:
        asked = []
        for table in page.view.tables:
            for row, column, cell in _cells(table):
                reason = _unfit(table, row, column, cell, answers)
                if reason:
                    dropped[reason] += 1
                else:
                    asked.append((row, column, cell))
        rng.shuffle(asked)
        for row, column, cell in asked[:MOST_OF_A_PAGE]:
            said = asked_for(column, row, _called(page, shared))
            facts = (f"The answer is {cell!r}.", f"The row of {row!r} was on the screen.")
            found.setdefault((row, column), SiteQuestion(said, cell, facts, page.trail))
    of_page: dict[tuple[PageMove, ...], list[SiteQuestion]] = {}
    for question in found.values():
        of_page.setdefault(question.plan, []).append(question)
    pages_in_turn = [each for level in itertools.zip_longest(*of_page.values()) for each in level if each is not None]
    return pages_in_turn[:count], dropped


def asked_for(column: str, row: str, place: str, *, of_site: bool = False) -> str:
    """`place`: the page, or the site that has it somewhere (`of_site`); empty: nothing calls it."""
    where = f' {"anywhere in" if of_site else "on the page"} "{place}"' if place else ""
    return f'What does the column "{column}" say in the row of "{row}"{where}? Answer with that text alone.'


def _called(page: Explored, shared: Collection[str]) -> str:
    """The page by its heading, or by the link that leads there where others have that heading, too."""
    names = [page.view.heading] if page.view.heading not in shared else [*reversed(page.names)][:1]
    return next((each for each in names if each and '"' not in each), "")


def _cells(table: PageTable) -> Iterator[tuple[str, str, str]]:
    """(name of a row, header of a column, text) of tables that have headers."""
    for row in table.rows:
        if len(row) == len(table.headers) >= 2 and row[0]:
            yield from ((row[0], column, cell) for column, cell in zip(table.headers[1:], row[1:], strict=True))


def _unfit(table: PageTable, row: str, column: str, cell: str, answers: dict[tuple[str, str], set[str]]) -> str:
    if not column or not cell or len(cell) > LONGEST or len(row) > 80 or '"' in row + column:
        return "a cell or header without a short text"
    if len(answers[(row, column)]) > 1 or sum(each[0] == row for each in table.rows) > 1:
        return "the same question has other answers elsewhere"
    if cell.lower() in f"{row} {column}".lower():
        return "the question holds its answer"
    index = table.headers.index(column)
    texts = {each[index] for each in table.rows if len(each) == len(table.headers)}
    if len(texts) < 2:
        return "the whole column says the same"
    if re.search(r"\b(ago|today|yesterday|just now|seconds?|minutes?|hours?)\b|\d\d:\d\d", cell):
        return "an answer that depends on when it is asked"
    return ""
