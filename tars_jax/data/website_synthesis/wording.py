"""Instructions in words: composed from a function's own labels, then refined, with nothing that is quoted lost.

Everything that must be typed, chosen or found stands in straight quotation marks; a rewriter may change the rest alone.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Sequence
from typing import Protocol

from tars_jax.data.website_synthesis.functions import SiteFunction
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.phrases import IN_PLACE, VERBS, Value, field_name, phrase, read_heading

QUOTED = re.compile(r'"([^"]*)"')
_STOP = re.compile(
    r"\b(a|an|one|another|the|this|new|of|to|for|as|and|it|my|your|now|form|page|ticket's)\b", re.IGNORECASE
)
_DOING = re.compile(
    r"\b(new|add|create|submit|post|register|compose|publish|append|import|insert|send|enter|attach|edit|update|save|"
    r"change|changes|rename|apply|modify|set|delete|remove|trash|purge|erase|continue|ok|done|commit|confirm)\b",
    re.IGNORECASE,
)


class Rewriter(Protocol):
    """Says an instruction in other words."""

    def rewrite(self, instruction: str) -> str: ...


def noun_of(function: SiteFunction) -> str:
    """Noun for what a function is about, in the words of its button, of the one that brought it up, or of the page."""
    for said in (function.button, function.opener):
        left = " ".join(_STOP.sub(" ", _DOING.sub(" ", re.sub(r"[^\w\s-]", " ", said))).split())
        if left and left != said and left.lower() != "entry" and len(left) <= 30 and not re.search(r"\d", left):
            return left.lower() if left.istitle() or left.islower() else left
    return next((noun for each in reversed(function.places) if (noun := read_heading(each).noun)), "")


def compose(function: SiteFunction, moves: Sequence[PageMove], rng: random.Random, *, place: int = 1) -> str:
    """The instruction, one sentence or two that say what to do; `place`: how many of its page's names are told."""
    places = tuple(reversed(_places(function, place)))
    values = [_value(move, _takes_the_place(function, move)) for move in moves]
    verb = rng.choice(VERBS[function.category])
    return str(phrase(function.category, verb, noun_of(function), places, values, function.button))


def joined(parts: Sequence[str], rng: random.Random) -> str:
    """Several parts as one instruction, in their order."""
    words = rng.choice(
        (("First, ", "Then ", "Finally, "), ("", "After that, ", "At last, "), ("", "Next, ", "Lastly, "))
    )
    said = []
    for index, part in enumerate(parts):
        word = words[0] if index == 0 else words[2] if index == len(parts) - 1 and index > 1 else words[1]
        said.append(word + (part[0].lower() + part[1:] if word else part))
    return " ".join(said)


def replaces(instruction: str, move: PageMove) -> str:
    """The instruction, in which it is said that a text takes the place of all that its field held."""
    said = f'{field_name(move.label)} "{move.value}"'
    return instruction.replace(said, f"{said} {IN_PLACE}") if f"{said} {IN_PLACE}" not in instruction else instruction


def refine(instruction: str, rewriter: Rewriter | None) -> tuple[str, str]:
    """The instruction in other words, and why a rewriter's were turned down; empty: they were not."""
    plain = re.sub(r"\s+([.,:])", r"\1", re.sub(r"\s+", " ", instruction)).strip()
    if rewriter is None:
        return plain, ""
    answer = " ".join(rewriter.rewrite(plain).split())
    if sorted(QUOTED.findall(answer)) != sorted(QUOTED.findall(plain)):
        return plain, "it lost or added something in quotation marks"
    if not 0.4 * len(plain) <= len(answer) <= 2.5 * len(plain):
        return plain, "it is far longer or shorter"
    return answer, ""


def _places(function: SiteFunction, count: int) -> tuple[str, ...]:
    """The last names of its page that are no name of the button itself."""
    names = [each for each in function.places if each != function.button and '"' not in each and len(each) <= 70]
    told = names[-count:] if count else []
    if function.object and function.object not in told:
        told = [function.object, *told]
    return tuple(told)


def _takes_the_place(function: SiteFunction, move: PageMove) -> bool:
    """Whether a text is put into an editor or a text area that holds another one."""
    field = dataclasses.replace(move, value="")
    held = [each for each in function.fields if each.kind in ("textarea", "editor") and each.value.strip()]
    return any(each.move == field for each in held)


def _value(move: PageMove, takes_the_place: bool) -> Value:
    if move.kind == "mark":
        return Value(move.label, mark="chosen")
    if move.kind == "toggle":
        return Value(move.label, mark="ticked" if move.value == "on" else "not ticked")
    return Value(move.label, move.value, takes_the_place=takes_the_place)
