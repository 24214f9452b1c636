"""Filters of candidates, each with its reason; those of this file need no browser."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.data.website_synthesis.composition import MOST_STEPS, TaskCandidate
from tars_jax.data.website_synthesis.functions import SiteFunction
from tars_jax.data.website_synthesis.second_reading import readings
from tars_jax.data.website_synthesis.wording import QUOTED
from tars_jax.tasks.websites.effect import Effect
from tars_jax.tasks.websites.tables import Tables

READING = "a second reading"
_HIDDEN = re.compile(
    r"https?://(?!\w+\.example\.com)|[#.][\w-]+\s*\{|\bxpath\b|\bquery_?selector\b|</?\w+>|\b\w+\[\w+\]"
)


def ambiguous(candidate: TaskCandidate, functions: Sequence[SiteFunction]) -> str:
    """The reason why a second reading misses what was meant, part by part; empty: it finds it."""
    for part in candidate.parts:
        if part.function.object == "":
            return "nothing tells the object that is meant from others"
        nearby = list(functions)
        if part.function.key not in {each.key for each in functions}:
            nearby.append(part.function)  # it is there only after the part before
        found = readings(part.instruction, nearby)
        meant = {move.label: move.value for move in part.inputs}
        if not found:
            return f"{READING} finds nothing that is meant"
        if len(found) > 1:
            return f"{READING} finds more than one thing that can be meant"
        if dict(found[0][1]) != meant or found[0][0].action != part.function.action:
            return f"{READING} finds something else"
    return ""


def is_unclear(reason: str) -> bool:
    """Whether a candidate was turned down for words that more words may mend."""
    return reason.startswith(READING)


def leaks(instruction: str, names: Sequence[str]) -> str:
    """The reason why an instruction leaks what only verification may know; empty: it leaks nothing.

    Args:
      names: of fields, tables and addresses, which are nowhere on a page; those of one plain word are no secret.
    """
    plain = QUOTED.sub(" ", instruction)
    if _HIDDEN.search(plain):
        return "agent-facing text holds an address, a selector or markup"
    secret = [name for name in names if re.search(r"[_\[\].]|[a-z][A-Z]", name) and name in plain]
    return "agent-facing text holds a name of a field or table" if secret else ""


def untrusted_effect(effect: Effect, before: Tables, chance: Sequence[Tables]) -> str:
    """The reason why an effect may come about without work; empty: it may not. The first of `chance` did nothing."""
    for number, tables in enumerate(chance):
        if not effect.wrong(before, tables):
            return "it is passed by random play" if number else "it is passed by doing nothing"
    return ""


def too_long(candidate: TaskCandidate) -> str:
    return f"it takes more than {MOST_STEPS} steps" if candidate.steps > MOST_STEPS else ""


def normalized(instruction: str) -> str:
    """Equal for instructions that differ in case, spaces and marks alone."""
    return " ".join(re.findall(r"\w+", instruction.lower()))


def shape(candidate: TaskCandidate) -> tuple[object, ...]:
    """Equal for candidates that put in the same values in the same place."""
    return tuple(
        (part.function.key, tuple(sorted((m.label, m.value) for m in part.inputs))) for part in candidate.parts
    )
