"""The order in which functions are tried: first what changes what the readers of a site's state show.

A state tells by the names of its tables and of their fields what it is about. A form whose fields or page have these
names is tried before others, and settings, which hardly any reader shows, come last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.data.website_synthesis.functions import CATEGORY_WORDS, SiteFunction
from tars_jax.tasks.websites.tables import Tables

SHORTEST = 3  # letters of a word that says something


def order_by_promise(functions: Sequence[SiteFunction], tables: Tables) -> list[SiteFunction]:
    """Functions in order of promise, the best first; equals stay as they were."""
    columns = {part for rows in tables.values() for row in rows for name in row for part in words(name)}
    subjects = {part for table in tables for part in words(table)}

    def rank(function: SiteFunction) -> tuple[bool, bool, bool, bool, int]:
        said = words(" ".join((function.button, *function.places[-2:], function.action.partition("?")[0])))
        shown = any(words(f"{each.label} {each.move.name}") & columns for each in function.fields)
        says = any(pattern.search(function.button) for pattern in CATEGORY_WORDS.values())
        return (
            function.category == "configure", not (shown or function.category == "delete"), not said & subjects,
            not says, len(function.trail),
        )  # fmt: skip

    return sorted(functions, key=rank)


def words(text: str) -> set[str]:
    """Words of a text in lower case and in the singular."""
    parts = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    return {each.removesuffix("s") for each in parts if len(each) >= SHORTEST}
