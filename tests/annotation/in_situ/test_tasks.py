"""A day of recorded work becomes its tasks."""

from __future__ import annotations

import msgspec

from tars_jax.agent.actions import Click, Point
from tars_jax.annotation.in_situ.alignment import align
from tars_jax.annotation.in_situ.annotated import RecordingAnnotation, annotate, trajectory_of
from tars_jax.annotation.in_situ.speech import SpokenWord
from tars_jax.annotation.in_situ.steps import RecordedStep
from tars_jax.annotation.in_situ.tasks import cut_tasks
from tests.annotation.in_situ.conftest import head
from tests.annotation.in_situ.scripted import picture

REST_S = 600.0


def day(*times: float, said: tuple[tuple[float, str], ...] = (), slept: tuple[float, ...] = ()) -> RecordingAnnotation:
    """A click at each time, its picture called by it."""
    steps = [
        RecordedStep((Click(Point(500, 500)),), time - 1, time, time + 0.1, f"{time:g}.png", None) for time in times
    ]
    words = [
        SpokenWord(word, begins + 0.3 * number, begins + 0.3 * number + 0.25)
        for begins, text in said
        for number, word in enumerate(text.split())
    ]
    return annotate(head(task="The day"), steps, align(words, steps), last_frame="end.png", ended=True, slept=slept)


def times(part: RecordingAnnotation) -> list[float]:
    return [step.time for step in part.steps if step.actions.startswith("click")]


def test_hands_that_rest_end_a_task_and_a_short_break_does_not() -> None:
    first, second = cut_tasks(day(10, 20, 320, 1000, 1010), REST_S)
    assert (times(first), times(second)) == ([10, 20, 320], [1000, 1010])
    assert (first.id, second.id) == ("test-1", "test-2") and first.task == second.task == "The day"
    assert [part.steps[-1].actions.startswith("finished") for part in (first, second)] == [False, True]
    assert first.last_frame == "" and second.last_frame == "end.png"
    assert len(cut_tasks(day(10, 20, 320, 1000, 1010), 0.0)) == 1


def test_a_suspended_computer_ends_a_task_though_its_clock_stood_still() -> None:
    assert [times(each) for each in cut_tasks(day(10, 20, 30, slept=(25.0,)), REST_S)] == [[10, 20], [30]]


def test_a_task_that_is_named_begins_there_and_the_one_before_is_finished() -> None:
    said = ((5.0, "Okay, the first task is to pay the rent."), (14.0, "My next task is to write to Ann."))
    whole = day(10, 12, 20, 30, said=said)
    first, second = cut_tasks(whole, REST_S)
    assert (first.task, second.task) == ("Pay the rent", "Write to Ann")
    assert (times(first), times(second)) == ([10, 12], [20, 30])
    assert [part.steps[-1].actions.startswith("finished") for part in (first, second)] == [True, True]
    assert first.last_frame == "20.png"
    assert not any("task" in step.thought for step in whole.steps)  # it is no thought of a step
    accepted = tuple(msgspec.structs.replace(step, accepted=True) for step in whole.steps)
    assert all(part.is_reviewed for part in cut_tasks(msgspec.structs.replace(whole, steps=accepted), REST_S))


def test_each_task_is_a_trajectory_and_what_was_deleted_is_none() -> None:
    whole = day(10, 1000, 2000)
    gone = msgspec.structs.replace(whole.steps[1], deleted=True)
    parts = cut_tasks(msgspec.structs.replace(whole, steps=(whole.steps[0], gone, *whole.steps[2:])), REST_S)
    found = [trajectory_of(part, lambda name: picture((), name)) for part in parts]
    assert [each.id for each in found] == ["test-1", "test-2"]
    assert [len(each.steps) for each in found] == [1, 2]


def test_words_that_only_speak_of_a_task_cut_nothing() -> None:
    said = ((14.0, "This task is not easy."), (24.0, "I click the task bar."))
    assert len(cut_tasks(day(10, 20, 30, said=said), REST_S)) == 1


def test_a_day_of_many_tasks_is_cut_in_a_moment() -> None:
    whole = day(*(float(hour * 3600 + 10 * step) for hour in range(8) for step in range(200)))
    assert [len(times(each)) for each in cut_tasks(whole, REST_S)] == [200] * 8
