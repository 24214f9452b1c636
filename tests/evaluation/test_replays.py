"""Replays: what was asked, seen and read beside what was thought and done, at any length and in any script."""

from __future__ import annotations

import base64
import dataclasses
import html
import re

import pytest

from tars_jax.evaluation.replays import BUDGET, FOLDED, MOST_CHARACTERS, call_html, replays_html, text_html
from tars_jax.trajectory import Outcome, Step, Trajectory

# One pixel, white.
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==")


def step(**changes: object) -> Step:
    fields: dict[str, object] = {
        "screenshot": b"", "response": "yes", "thought": "", "action": "answer(yes=True)", "point": None, "reward": 0.0,
        "think_tokens": 0, "valid": True, "info": {}, "text": "7",
    }  # fmt: skip
    return Step(**{**fields, **changes})  # type: ignore[arg-type]


def episode(*steps: Step, instruction: str = "Is it large?", **changes: object) -> Trajectory:
    task = {"environment": "mine:Large", "seed": 3}
    found = Trajectory("e", task, (), steps, Outcome.FINISHED, 1.0, {"instruction": instruction}, success=True)
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]


def shown(*trajectories: Trajectory) -> str:
    return replays_html([], trajectories, len(trajectories))


def test_a_text_episode_shows_what_was_asked_and_read_and_speaks_of_no_screenshot() -> None:
    page = shown(episode(step(text="Seven or eight?")))
    assert '<p class="asked" dir="auto">Is it large?</p>' in page
    assert '<p class="read" dir="auto">Seven or eight?</p>' in page
    assert "screenshot" not in page.lower() and "<img" not in page
    assert "thought" not in page  # there was none


def test_an_answer_in_words_is_shown_as_it_came() -> None:
    page = shown(episode(step(action="", response="seven, <b>I think</b>")))
    assert "seven, &lt;b&gt;I think&lt;/b&gt;" in page and "not readable" not in page


def test_text_stands_beside_pictures() -> None:
    page = shown(episode(step(screenshot=PIXEL, text="a button", point=(500.0, 500.0))))
    assert page.index("<img") < page.index("a button") < page.index("answer(")
    assert page.count('class="ring"') == 1 and "damaged" not in page
    assert 'class="strip after reading"' in page
    assert 'class="strip after"' in shown(episode(step(screenshot=PIXEL, text="")))


def test_what_the_last_action_led_to_stands_at_the_end() -> None:
    page = shown(episode(step(), final_text="Right.", final_screenshot=PIXEL))
    assert page.index("answer(") < page.index('alt="Screenshot of the end"') < page.index("Right.")
    assert "the end" not in shown(episode(step()))


def test_an_environment_that_nobody_knows_has_no_instruction_and_a_replay() -> None:
    page = shown(episode(step(), metadata={}))
    assert "asked" not in page and "answer(" in page


def test_a_long_text_is_folded_and_the_whole_of_it_is_there() -> None:
    text = "".join(f"<li>{number}</li>\n" for number in range(760))
    assert 9_000 < len(text) < 10_000
    found = text_html(text, "read")
    summary, whole = re.fullmatch(
        r'<details class="read folded"><summary>(.*)</summary><div class="whole" dir="auto">(.*)</div></details>',
        found,
        flags=re.DOTALL,
    ).groups()  # type: ignore[union-attr]
    assert html.unescape(whole) == text
    assert len(summary) < 1000 and f"{len(text):,} characters" in summary
    assert "<li>" not in found


@pytest.mark.parametrize(
    ("text", "folded"), [("a" * FOLDED, False), ("a" * 2 * FOLDED, True), ("a\n" * 6, False), ("a\n" * 60, True)]
)
def test_what_is_folded(text: str, folded: bool) -> None:
    assert text_html(text, "read").startswith("<details") == folded
    assert call_html(text).startswith("<details") == folded


def test_the_middle_of_an_endless_text_is_left_out() -> None:
    found = text_html("a" * MOST_CHARACTERS + "b" * MOST_CHARACTERS, "read")
    assert f"… {MOST_CHARACTERS:,} characters are left out …" in found
    assert found.count("b") - text_html("c" * 9999, "read").count("b") == MOST_CHARACTERS // 2


def test_nothing_is_shown_of_nothing() -> None:
    assert text_html(" \n", "thought") == "" and call_html("") == ""


def test_a_call_breaks_between_its_parts() -> None:
    assert call_html("f(a='x y', b=[1, 2])\ng()") == (
        '<p class="action" dir="ltr">f(<wbr>a=&#x27;x y&#x27;, b=[<wbr>1, 2])\ng()</p>'
    )


def test_the_page_stays_small() -> None:
    long = [episode(*[step(text="a" * 10_000)] * 24, task={"environment": "x", "seed": seed}) for seed in range(40)]
    page = shown(*long)
    assert 1 <= page.count('class="level"') < 40 and len(page) < 1.2 * BUDGET
