"""Words that were said go to the step that they announce or comment on; some go nowhere."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis
import hypothesis.strategies as st
import pytest

from tars_jax.agent.actions import Action, Click, Hotkey, Point, Scroll, Type
from tars_jax.annotation.in_situ.alignment import SpokenSentence, align
from tars_jax.annotation.in_situ.speech import SpokenWord
from tars_jax.annotation.in_situ.steps import RecordedStep

CLICK = Click(Point(500, 500))


def said(begins: float, text: str, pause: float = 0.3) -> list[SpokenWord]:
    return [
        SpokenWord(word, begins + pause * place, begins + pause * (place + 0.9))
        for place, word in enumerate(text.split())
    ]


def step(time: float, action: Action = CLICK, seconds: float = 0.1) -> RecordedStep:
    return RecordedStep((action,), time - 0.3, time, time + seconds, "frame", None)


def of(sentences: Sequence[SpokenSentence]) -> list[tuple[str, int | None]]:
    return [(each.role, each.step) for each in sentences]


def test_a_thought_belongs_to_the_action_that_it_announces() -> None:
    words = said(1, "Now I click the export button.") + said(6, "Let me scroll further down.")
    found = align(words, [step(3.5), step(8, Scroll(None, "down"))])
    assert of(found) == [("announces", 0), ("announces", 1)]
    assert [each.said for each in found] == ["Now I click the export button.", "Let me scroll further down."]


def test_a_comment_belongs_to_the_action_that_has_been_done() -> None:
    words = said(2.5, "Good, that worked.") + said(5, "Next I need the settings.")
    assert of(align(words, [step(2), step(7.5)])) == [("comments", 0), ("announces", 1)]


def test_what_is_said_while_a_text_is_typed_belongs_to_it() -> None:
    typing = step(2, Type("green apples"), seconds=4)
    assert of(align(said(3, "I am writing green apples."), [step(1), typing, step(9)])) == [("announces", 1)]


def test_the_words_of_a_text_find_its_step_though_another_is_nearer() -> None:
    steps = [step(3.2), step(4.4, Type("annual budget"))]
    assert of(align(said(1, "The name is annual budget."), steps)) == [("announces", 1)]


@pytest.mark.parametrize(
    "correction", ["No, wait, the cancel button.", "Actually the cancel button.", "Scratch that, the cancel button."]
)
def test_a_correction_takes_the_place_of_what_it_corrects(correction: str) -> None:
    words = said(1, "I will click the save button.") + said(4, correction)
    first, second = align(words, [step(8)])
    assert (first.role, first.step) == ("corrected", None)
    assert (second.role, second.step, second.text) == ("announces", 0, "The cancel button.")


def test_a_correction_in_the_midst_of_a_sentence() -> None:
    words = said(1, "I click the red, no wait, the blue button.")
    first, second = align(words, [step(5)])
    assert (first.said, first.role) == ("I click the red,", "corrected")
    assert (second.text, second.step) == ("The blue button.", 0)


def test_no_results_is_no_correction() -> None:
    words = said(1, "I look for the invoice.") + said(4, "No results in this list.")
    assert "corrected" not in [each.role for each in align(words, [step(8)])]


def test_a_wrong_step_keeps_its_own_thought() -> None:
    words = said(1, "I click the export button.") + said(4, "Oops, wrong one, I need the import button.")
    assert of(align(words, [step(3.2), step(9)])) == [("announces", 0), ("announces", 1)]


@pytest.mark.parametrize(
    "talk", ["Did you feed the dog this morning?", "Hello mom, I am fine.", "What do we have for dinner tonight?"]
)
def test_talk_of_other_things_is_kept_apart(talk: str) -> None:
    words = said(1, talk) + said(5, "Now I click the export button.")
    assert of(align(words, [step(8)])) == [("apart", None), ("announces", 0)]


def test_what_the_screen_shows_is_no_other_thing() -> None:
    words = said(1, "The dinner is on the calendar.")
    assert of(align(words, [step(4)], ["Dinner", "calendar"])) == [("announces", 0)]


def test_silence_is_no_thought() -> None:
    assert align([], [step(1)]) == []


def test_without_steps_nothing_is_a_thought() -> None:
    assert of(align(said(1, "Now I click it."), [])) == [("apart", None)]


def test_a_hotkey_is_known_by_what_it_does() -> None:
    steps = [step(4, Hotkey(("ctrl", "c"))), step(5, Hotkey(("ctrl", "s")))]
    assert of(align(said(1, "Let me save that."), steps)) == [("announces", 1)]


SAID = st.sampled_from(("no,", "wait.", "okay", "click", "you", "dinner", "saved.", "i'll", "actually?", "—", "..."))
WORDS = st.lists(st.tuples(SAID, st.floats(0, 3)), max_size=30)


@hypothesis.given(WORDS, st.lists(st.floats(0, 60), max_size=8))
def test_each_word_is_kept_once_and_steps_never_go_back(given: list[tuple[str, float]], presses: list[float]) -> None:
    words, now = [], 0.0
    for text, pause in given:
        words.append(SpokenWord(text, now + pause, now + pause + 0.2))
        now += pause + 0.2
    found = align(words, [step(time) for time in sorted(presses)])
    heard = [word for word in words if any(letter.isalnum() for letter in word.text)]
    assert [word for each in found for word in each.words if any(map(str.isalnum, word.text))] == heard
    places = [each.step for each in found if each.step is not None]
    assert places == sorted(places)
    assert all(0 <= place < len(presses) for place in places)
