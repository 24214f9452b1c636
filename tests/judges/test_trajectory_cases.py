"""The embedded judges on episodes labelled by hand (`trajectory_cases.py`): precision goes before recall."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

import pytest

from tars_jax.environment import CannotSay
from tars_jax.judges.judge import Judgement
from tars_jax.judges.requirements import clauses_of, demanded
from tars_jax.judges.rubric import RubricJudge
from tars_jax.judges.statements import sentences_of
from tars_jax.judges.webjudge import WebJudge
from tests.judges.episodes import episode, task
from tests.judges.trajectory_cases import CASES, FAILURES, SUCCESSES, Case

JUDGES: dict[str, WebJudge | RubricJudge] = {"webjudge": WebJudge(), "rubric": RubricJudge()}


def judged(judge: str, case: Case) -> Judgement:
    played = episode(case.steps, case.final, instruction=case.instruction)
    return asyncio.run(JUDGES[judge](played, task(case.instruction, case.facts)))


def named(cases: list[Case]) -> list[object]:
    return [pytest.param(case, id=f"{case.domain}: {case.kind}") for case in cases]


def said(judge: str, case: Case) -> bool | None:
    """None: it cannot say."""
    with contextlib.suppress(CannotSay):
        return judged(judge, case).success
    return None


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("case", named(SUCCESSES))
def test_a_plain_success_is_no_failure(judge: str, case: Case) -> None:
    assert said(judge, case) is not False


@pytest.mark.parametrize(("judge", "taken"), [("webjudge", 21), ("rubric", 18)])
def test_how_many_plain_successes_are_taken(judge: str, taken: int) -> None:
    """Of the rest nobody says: receipts and lists over several lines, facts that name no change."""
    assert sum(said(judge, case) is True for case in SUCCESSES) >= taken and len(SUCCESSES) == 30


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("case", named(FAILURES))
def test_a_failure_is_refused_or_nobody_says(judge: str, case: Case) -> None:
    try:
        assert judged(judge, case) == (0.0, False)
    except CannotSay as verdict:
        assert str(verdict).startswith("rules cannot tell: ")


def test_the_cases_are_of_many_domains() -> None:
    assert len(SUCCESSES) >= 12 and len(FAILURES) >= 12 and len({case.domain for case in CASES}) >= 7
    kinds = [case.kind.partition(":")[0] for case in FAILURES]
    assert kinds.count("attack") == kinds.count("fresh") == 45


@pytest.mark.parametrize(
    ("instruction", "first", "final"),
    [
        ("Create a page called 'Recipes'", "Wiki", "The page Recipes could not be saved."),  # denied
        ("Create a page called 'Recipes'", "Wiki", "The page Recipes has been deleted."),  # gone
        ("Create a page called 'Recipes'", "Wiki\nNothing here yet.", "Wiki\nNothing here yet."),  # of a whole list
        ("Create a page called 'Recipes'", "Wiki", "Error: disk full"),
        ("Add a green lamp to the cart", "Shop", "Your cart is empty."),
        ("Put 2 'blue pens' into the 'cart'", "Shop", "Your cart: 1 blue pens"),  # another number
        ("Close ticket 14", "Ticket 14: open", "Ticket 14: open"),  # the opposite
        ("Turn on dark mode", "Dark mode: off", "Dark mode: off"),
        ("Set the language to 'German'", "Language: English", "Language: English"),  # another value
        (
            "Set the language to 'German' and the time zone to 'Berlin'",
            "Time zone: Rome",
            "Language: German\nTime zone: Rome",
        ),
    ],
)
def test_what_contradicts_is_a_failure(instruction: str, first: str, final: str) -> None:
    played = episode([(first, "click('1')")], final, instruction=instruction)
    assert asyncio.run(WebJudge()(played, task())) == (0.0, False)


@pytest.mark.parametrize(
    ("instruction", "first", "final"),
    [
        ("Create a page called 'Recipes'", "Wiki", "The page Recipes is not archived."),
        ("Create a page called 'Recipes'", "Wiki", "No page links to Recipes."),
        ("Create a page called 'Recipes'", "Wiki", "Recipes\nNothing here yet."),  # the new page itself
        ("Create a page called 'Recipes'", "Wiki", "Failed logins: 0"),
        ("Buy a red mug", "Shop", "Thank you!\nYour cart is empty."),
        ("Add a green lamp to the cart", "Shop", "Cart: 3 items"),
        ("Set the time zone to 'Berlin'", "Time zone: Paris", "Time zone: Europe/Berlin"),
        ("Close ticket 14", "Ticket 14: open", "Bob wrote: Ticket 14 is not closed"),
    ],
)
def test_what_only_sounds_like_a_contradiction_is_none(instruction: str, first: str, final: str) -> None:
    with pytest.raises(CannotSay):
        asyncio.run(WebJudge()(episode([(first, "click('1')")], final, instruction=instruction), task()))


PENS = "Put 2 'blue pens' into the 'cart'"


@pytest.mark.parametrize(
    ("steps", "final", "reason"),
    [
        ([("Shop", "wait()"), ("Your cart: 2 blue pens", "wait()")], "Your cart: 1 mug", "an earlier page showed it"),
        ([("Shop", "click(start_box='(1,1)')")], "> 2 blue pens in the cart", "in no form that they know"),
        (
            [("Shop", "fill('3', '2 blue pens cart')")],
            "cart: 2 blue pens",
            "typed what nobody asked for: 2 blue pens",
        ),
        (
            [("Shop", "fill('3', '2')\nfill('4', 'blue pens')\nfill('5', 'cart')")],
            "cart: 2 blue pens",
            "the agent typed it",
        ),
        ([("Shop", "hotkey(key='ctrl v')")], "cart: 2 blue pens", "keys together, which may paste or undo"),
        ([("Shop", "goto('http://shop/?x=1')")], "cart: 2 blue pens", "an address that may hold words of its own"),
        ([("Shop", "bash('cat page')")], "cart: 2 blue pens", "used bash, which may print"),
        ([("Your cart: 2 blue pens", "wait()")], "Your cart: 2 blue pens", "it was so at the start"),
        ([("Shop", "click('1')"), ("cart: 2 blue pens", "click('2')")], "", "nobody saw what the last action did"),
        (
            [("Shop", "click('1')")],
            "cart: 2 blue pens\nAn error occurred",
            "something beside it that they do not understand",
        ),
        (
            [("Shop", "click('1')"), ("1 red mug was added to the cart.", "click('2')")],
            "Your cart: 2 blue pens",
            "something else was done, too",
        ),
        ([("Shop", "click('1')")], "blue pens added", "in no form that they know"),
    ],
)
def test_why_rules_cannot_tell(steps: list[tuple[str, str]], final: str, reason: str) -> None:
    with pytest.raises(CannotSay, match=reason):
        asyncio.run(WebJudge()(episode(steps, final, instruction=PENS), task()))


MADE, GERMAN = "The project Apollo was created.", "Language: German"


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    ("instruction", "steps", "final"),
    [
        ("Create a project named Apollo.", [("Start page", "wait()")], MADE),
        ("Create a project named Apollo.", [("Start page", "goto('http://site/activity')")], MADE),
        ("Create a project named Apollo.", [("Start page", "scroll('down')")], MADE),
        ("Create a project named Apollo.", [("Start page", "click('1')")], MADE),  # nobody said its name
        ("Create a project named Apollo.", [("Start page", "type('Apollo')"), ("Start page", "go_back()")], MADE),
        ("Create a project named Apollo.", [("Start page", "type('Apollo')")], MADE),  # never sent
        ("Create a project named Apollo.", [("Search:", "type('Apollo\\n')")], MADE),
        ("Create a project named Apollo.", [("Projects\nApollo", "click('1')")], MADE),
        ("Create a project named Apollo.", [("Name:", "type('Apollo\\n')")], f"Inbox\n{MADE}"),
        ("Create a project named Apollo.", [("Name:", "type('Apollo\\n')")], f"Mail\n{MADE}"),
        ("Create a project named Apollo.", [("Name:", "type('Apollo\\n')")], f"{MADE}\n{MADE}"),
        ("Create a project named Apollo.", [("Name:", "type('Apollo\\n')"), (MADE, "click('1')")], MADE),
        ("Set the language to German.", [("Home", "wait()")], GERMAN),
        ("Set the language to German.", [("Settings", "scroll('down')")], GERMAN),
        ("Set the language to German.", [("Home", "goto('http://site/settings')")], GERMAN),
        ("Set the language to German.", [("Home", "click('1')")], GERMAN),
        ("Set the language to German.", [("Language: English", "wait()")], GERMAN),
    ],
)
def test_what_is_found_is_not_made(judge: str, instruction: str, steps: list[tuple[str, str]], final: str) -> None:
    fact = MADE if "Apollo" in instruction else "The language is German."
    with pytest.raises(CannotSay):
        asyncio.run(JUDGES[judge](episode(steps, final, instruction=instruction), task(instruction, fact)))


FORM, NAMED = ("New project\nTitle", "type('Apollo')"), "New project\nTitle Apollo"


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    ("steps", "final"),
    [
        # Nothing was sent.
        *[
            ([FORM, (NAMED, action)], MADE)
            for action in (
                "search(query='Apollo')", "back()", "zoom()", "create()", "call_user()",
                "add_note_to_self(content='Apollo')", "think(content='x')",
                "left_double(point='<point>5 5</point>')", "hotkey(key='tab')", "type(content=' ')",
                "drag(start_point='<point>1 1</point>', end_point='<point>1 1</point>')",
                "drag(start_point='<point>1 1</point>', end_point='<point>9 9</point>')",
            )
        ],
        ([("Projects", "search(query='Apollo')")], MADE),
        ([FORM, (NAMED, "hotkey(key='esc')"), ("Loading", "click('1')")], MADE),  # the form is gone
        # Nothing shows a form for it.
        *[
            ([(box, "type('Apollo')"), (f"{box} Apollo", "click('1')")], MADE)
            for box in ("Go to", "Ask", "Comment", "Chat", "Suche", "Find a project", "Box", "Project", "Your name", "")
        ],
        *[([(box, "type('Apollo\\n')")], MADE) for box in ("Go to", "Write", "", "Title\nGo to", "Title\nBox:")],
        ([("Title\nSearch", "type('Apollo')"), (NAMED, "click('1')")], MADE),
        # Something else was given.
        *[
            ([("New project\nTitle", f"type('{typed}')"), (f"New project\nTitle {typed}", "click('1')")], MADE)
            for typed in ("not Apollo", "Winter, Apollo", "apollo", "Apollo ", "Apollo Apollo", "Apollo 2", "Apollo's")
        ],
        # The rest of the sentence was typed.
        ([("Title", "type('project Apollo was created')"), ("Title", "click('1')")], MADE),
        ([FORM, (NAMED, "type(' was created')"), (NAMED, "click('1')")], MADE),
        ([FORM, (NAMED, "hotkey(key='x')"), (NAMED, "click('1')")], MADE),
        # Another one was made, or it is told of any.
        *[
            ([FORM, (NAMED, "click('1')")], f"The project {said} created.")
            for said in ("My Apollo was", "the Apollo was", "New Apollo was", "Apollo is", "was Apollo")
        ],
        ([FORM, (NAMED, "click('1')")], "My Apollo was created."),
        ([FORM, (NAMED, "click('1')")], "Created: just Apollo"),
    ],
)  # fmt: skip
def test_what_was_not_given_and_sent_is_not_made(judge: str, steps: list[tuple[str, str]], final: str) -> None:
    instruction = "Create a project named Apollo."
    with pytest.raises(CannotSay):
        asyncio.run(JUDGES[judge](episode(steps, final, instruction=instruction), task(instruction, MADE)))


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    "steps",
    [
        [("Standup\nGo to", "type('Standup\\n')")],
        [("Standup\nGo to", "type('Standup')"), ("Standup\nGo to Standup", "hotkey(key='enter')")],
        [("Standup\nGo to", "type('Standup')"), ("Standup\nGo to Standup", "click('1')")],
        [("Standup", "drag(start_point='<point>1 1</point>', end_point='<point>9 9</point>')")],
        [("Standup", "left_double(point='<point>5 5</point>')")],
    ],
)
def test_nor_is_it_deleted(judge: str, steps: list[tuple[str, str]]) -> None:
    asked, told = "Delete the event Standup.", "The event Standup was deleted."
    with pytest.raises(CannotSay):
        asyncio.run(JUDGES[judge](episode(steps, told, instruction=asked), task(asked, told)))
    searched = [("Search", "type('Standup\\n')"), ("Standup", "click('1')")]
    assert asyncio.run(JUDGES[judge](episode(searched, told, instruction=asked), task(asked, told))).success


@pytest.mark.parametrize("judge", JUDGES)
def test_what_an_action_explains_is_made(judge: str) -> None:
    made = [("Name:", "type('Apollo')"), ("Name: Apollo", "click('1')"), ("Wait", "wait()")]
    for instruction, fact, steps, final in (
        ("Create a project named Apollo.", MADE, made, MADE),
        ("Create a project named Apollo.", MADE, [("Name:", "type('Apollo\\n')")], MADE),
        ("Create a project named Apollo.", MADE, [("Projects", "create_project(title='Apollo')")], MADE),
        ("Create a project named Apollo.", MADE, [FORM, (NAMED, "hotkey(key='enter')")], MADE),
        ("Create a project named Apollo.", MADE, [("Title", "fill('a12', 'Apollo')"), (NAMED, "click('7')")], MADE),
        (
            "Create a project 'It's'",
            "The project 'It's' was created.",
            [("Name:", "type('It\\'s\\n')")],
            "The project It's was created.",
        ),
        ("Set the language to German.", "The language is German.", [("Language: English", "click('1')")], GERMAN),
        (
            "Set the language to German.",
            "The language is German.",
            [("Language: English", "type('German')"), (GERMAN, "click('1')")],
            f"Settings saved.\n{GERMAN}",
        ),
    ):
        played = episode(steps, final, instruction=instruction)
        assert asyncio.run(JUDGES[judge](played, task(instruction, fact))) == (1.0, True)


def test_a_picture_is_nothing_that_rules_can_tell() -> None:
    text_first = dataclasses.replace(episode([("Shop", "click('1')")], instruction=PENS), final_screenshot=PNG)
    for played in (
        text_first,
        dataclasses.replace(text_first, steps=(dataclasses.replace(text_first.steps[0], text=""),)),
    ):
        for judge in JUDGES.values():
            with pytest.raises(CannotSay, match="the last page is a picture"):
                asyncio.run(judge(played, task(reference="2 blue pens")))


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c6360606000000004000127342"
    "70a0000000049454e44ae426082"
)


def test_what_is_asked_for_is_no_end_of_a_page() -> None:
    for instruction in ("Find the price of the red mug", "What is the price of the red mug?"):
        with pytest.raises(CannotSay, match="an answer is asked for"):
            asyncio.run(
                WebJudge()(episode([("Shop", "click('1')")], "red mug, price 5.00", instruction=instruction), task())
            )


def test_a_task_that_names_nothing_is_met_by_no_page() -> None:
    with pytest.raises(CannotSay, match="what is asked has no form that they know"):
        asyncio.run(WebJudge()(episode([("Shop", "click('1')")], "Done.", instruction="Do it"), task()))


def test_one_fact_that_does_not_hold_decides_and_a_doubt_does_not() -> None:
    played = episode([("Shop\n1 mug", "click('1')"), ("cart: 2 blue pens", "click('2')")], "cart: 1 mug")
    sure, doubt, wrong = "cart: 1 mug", "cart: 2 blue pens", "cart: 3 mug"
    assert asyncio.run(RubricJudge()(played, task(reference=f"{sure}\n{doubt}\n{wrong}"))) == (0.0, False)
    for partial in (False, True):
        with pytest.raises(CannotSay, match="an earlier page showed it"):
            asyncio.run(RubricJudge(partial=partial)(played, task(reference=f"{sure}\n{doubt}")))
    assert asyncio.run(RubricJudge(partial=True)(played, task(reference=f"{sure}\n{wrong}"))) == (0.5, False)
    empty = episode([("cart: 1 mug", "click('1')")], "Your cart is empty.")
    assert asyncio.run(RubricJudge()(empty, task(reference="the cart is empty"))) == (1.0, True)


@pytest.mark.parametrize(
    ("clause", "sentence", "says"),
    [
        ("Create a page called 'Garden'", "The page Garden has been created.", True),
        ("Create a page called 'Garden'", "Created page “Garden”", True),
        ("Create a page called 'Garden'", "Garden created successfully", True),
        ("Create a page called 'Garden'", "“The page Garden has been created.”", False),
        ("Create a page called 'Garden'", "Page created in Garden", False),
        ("Create a page called 'Garden' in the 'Plants' space", "The page Garden was created.", False),
        ("Do not create a page called 'Garden'", "The page Garden was created.", False),
        ("Delete all notes except 'Garden'", "Garden was deleted.", False),
        ("Close ticket 14", "Ticket 14: closed", True),
        ("Close ticket 14", "14 closed", False),
        pytest.param("Close ticket 14", "the " * 5000 + "ticket 14 closed", True, id="a long sentence"),
        ("Turn off dark mode", "Dark mode: disabled", True),
        ("Set the language to 'German'", "Language was changed to German", True),
        ("Set the language to 'German'", "German: language", False),
        ("Send the text 'Hi' to Anna", "Message sent to Anna: Hi", True),
        ("Send the text 'Hi' to Anna", "Message sent to Anna and Bob: Hi", False),
        ("Add 2 green lamps to the cart", "Cart: two green lamps, 60.00", True),
        ("Book a flight from Paris to Rome", "Flight from Rome to Paris was booked", False),
    ],
)
def test_what_a_sentence_says(clause: str, sentence: str, says: bool) -> None:
    (read,) = sentences_of(sentence)
    assert demanded(clause).says(read.tokens) is says


def test_clauses_take_over_the_verb() -> None:
    asked = "Delete 'a and b' and 'c', then turn on 'dark mode'."
    assert clauses_of(asked) == ["Delete 'a and b'", "delete 'c'", "turn on 'dark mode'"]
