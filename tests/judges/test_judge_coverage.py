"""A set of tasks of which a fifth or more cannot be judged is refused for that judge, before anything is played."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.environment import Task, Verification
from tars_jax.judges import load_judge
from tars_jax.judges.judge_coverage import require_decidable
from tars_jax.judges.labels.answers import answered

KNOWN, UNKNOWN = "Add 2 pens to the cart.", "Beautify the report."
ENDPOINT = {"address": "http://127.0.0.1:9", "model": "m"}
CITIES = ("Paris", "Lyon", "Nice", "Lille", "Brest")


def tasks(instructions: Sequence[str], references: Sequence[str] = ()) -> list[Task]:
    given = references or [""] * len(instructions)
    return [
        Task(f"t{number}", "website", number, {}, 5, told, Verification("judge", reference))
        for number, (told, reference) in enumerate(zip(instructions, given, strict=True))
    ]


def admitted(found: Sequence[Task], name: str, options: dict[str, Any] | None = None) -> bool:
    judge = load_judge(name, options)
    try:
        require_decidable((task, judge) for task in found)
    except InputError as error:
        assert "task.judge must be able to tell these tasks; it could not say of" in str(error)
        return False
    return True


@pytest.mark.parametrize(("unknown", "wanted"), [(0, True), (1, True), (2, False), (10, False)])
def test_a_fifth_that_no_rule_knows_refuses_the_set(unknown: int, wanted: bool) -> None:
    asked = [KNOWN] * (10 - unknown) + [UNKNOWN] * unknown
    assert admitted(tasks(asked), "webjudge") is wanted
    facts = [("2 pens are in the cart", "somebody looks happy")[each is UNKNOWN] for each in asked]
    assert admitted(tasks(asked, facts), "rubric") is wanted
    assert admitted(tasks(asked, facts), "rubric", {"endpoint": ENDPOINT}) and admitted(tasks(asked), "environment")
    several = [{"judge": "webjudge"}, {"judge": "environment"}, {"judge": "environment"}]
    assert admitted(tasks(asked), "votes", {"judges": several}) is wanted
    assert admitted(tasks(asked), "votes", {"judges": several, "rule": "majority"})


@pytest.mark.parametrize(("known", "unknown", "wanted"), [(0, 1, False), (0, 4, False), (3, 1, False), (5, 1, True)])
def test_few_tasks_are_a_set_too(known: int, unknown: int, wanted: bool) -> None:
    assert admitted(tasks([KNOWN] * known + [UNKNOWN] * unknown), "webjudge") is wanted


@pytest.mark.parametrize("reference", ["", "  ", " || ", "||"])
@pytest.mark.parametrize("name", ["reference", "answer"])
def test_a_reference_holds_an_answer(name: str, reference: str) -> None:
    (found,) = tasks(["Which city is it?"], [reference])
    judge = load_judge(name)
    wanted = re.escape(f"verification.reference of task t0 must be the right answer; got {reference!r}")
    with pytest.raises(InputError, match=wanted):
        require_decidable([(found, judge)])
    with pytest.raises(InputError, match=wanted):
        asyncio.run(judge.judgement(answered(found, "Paris"), found))


def test_answers_are_told_where_wrong_ones_are() -> None:
    """Another name may be an alias, unless the reference is closed; another number is another."""
    asked = ["Which city is it?"] * len(CITIES)
    for name in ("reference", "answer"):
        assert not admitted(tasks(asked, CITIES), name)
        assert admitted(tasks(asked, [f"{city} ||" for city in CITIES]), name)
        assert admitted(tasks(["How many are there?"] * 5, ["12", "13", "14", "15", "16"]), name)
        unsaid = [dataclasses.replace(task, instruction="") for task in tasks(asked, CITIES)]
        assert admitted(unsaid, name)  # what is asked shows when it is played
    assert admitted(tasks(asked, CITIES), "answer", {"endpoint": ENDPOINT})


def test_nobody_judges() -> None:
    require_decidable((task, None) for task in tasks([UNKNOWN] * 9))
