"""An annotation is changed, kept and becomes a trajectory that data sets read."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tars_jax import InputError
from tars_jax.annotation.in_situ.alignment import align
from tars_jax.annotation.in_situ.annotated import (
    RecordingAnnotation,
    annotate,
    load_annotation,
    save_annotation,
    trajectory_of,
)
from tars_jax.annotation.in_situ.cues import normal
from tars_jax.annotation.in_situ.draft_annotation import read_annotation
from tars_jax.annotation.in_situ.events import ScreenFrame
from tars_jax.annotation.in_situ.recording import read_recording
from tars_jax.annotation.in_situ.review.changes import change_about, change_step, merge_step
from tars_jax.annotation.in_situ.speech import SpokenWord
from tars_jax.annotation.in_situ.steps import recorded_steps
from tars_jax.data.datasets import read_dataset
from tars_jax.trajectory.files import save_trajectory
from tests.annotation.in_situ.scripted import Session, session, write


def heard(folder: Path, played: Session) -> RecordingAnnotation:
    """As if each word had been understood, and its full stop."""
    recording = read_recording(folder)
    steps = list(recorded_steps(recording.events, recording.head.screen))
    words = []
    for thought in played.thoughts:
        times = [*(time for _, time in thought.words), thought.ends]
        texts = [word for word, _ in thought.words[:-1]] + [f"{thought.words[-1][0]}."]
        words += [SpokenWord(text, *times[place : place + 2]) for place, text in enumerate(texts)]
    frames = [event.file for event in recording.events if isinstance(event, ScreenFrame)]
    return annotate(recording.head, steps, align(words, steps), last_frame=frames[-1], ended=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(session(5, steps=4), tmp_path_factory.mktemp("recording"), 5)


@pytest.fixture(scope="module")
def annotation(folder: Path) -> RecordingAnnotation:
    return read_annotation(folder, None)


def frames(folder: Path, name: str) -> bytes:
    return (folder / "frames" / name).read_bytes()


def test_a_recording_becomes_a_data_set(annotation: RecordingAnnotation, folder: Path, tmp_path: Path) -> None:
    thought = change_step(annotation, 1, {"thought": "I look for it."})
    solved = change_about(thought, {"success": True})
    saved = trajectory_of(solved, lambda name: frames(folder, name))
    save_trajectory(tmp_path / "one.trajectory", saved)
    (trajectory,) = read_dataset(str(tmp_path))
    played = session(5, steps=4)
    assert [step.action for step in trajectory.steps] == [*(action for _, action in played.steps), "finished()"]
    assert trajectory.steps[1].response.startswith("Thought: I look for it.\nAction: ")
    assert all(step.screenshot.startswith(b"\x89PNG") for step in trajectory.steps)
    assert (trajectory.success, trajectory.reward, trajectory.windows) == (True, 1.0, ())
    assert trajectory.metadata["instruction"] == "Put it in order" and not trajectory.metadata["reviewed"]


def test_what_is_apart_or_taken_back_is_never_in_the_data(tmp_path: Path) -> None:
    for seed in range(40):
        played = session(seed, steps=6)
        if {"apart", "corrected"} <= {thought.kind for thought in played.thoughts}:
            break
    made = heard(write(played, tmp_path, seed), played)
    trajectory = trajectory_of(made, lambda name: frames(tmp_path, name))
    text = normal(" ".join(step.response for step in trajectory.steps))
    for thought in played.thoughts:
        if thought.kind in ("apart", "corrected"):
            assert normal(thought.text) not in text
    assert any(normal(thought.text) in text for thought in played.thoughts if thought.kind == "announce")


def test_calls_are_checked_by_the_grammar_and_written_in_its_one_way(annotation: RecordingAnnotation) -> None:
    new = change_step(annotation, 0, {"actions": "left_click(point='[5, 6]')"})
    assert new.steps[0].actions == "click(point='<point>5 6</point>')"
    assert new.revision == annotation.revision + 1
    with pytest.raises(InputError, match="actions must be calls such as"):
        change_step(annotation, 0, {"actions": "click(point='<point>5 6000</point>')"})


@pytest.mark.parametrize("given", [{"actions": 1}, {"thought": None}, {"accepted": "yes"}, {"frame": "x"}])
def test_another_change_is_refused(annotation: RecordingAnnotation, given: dict[str, object]) -> None:
    with pytest.raises(InputError, match="a change of a step must have"):
        change_step(annotation, 0, given)
    with pytest.raises(InputError, match="a step must be one of"):
        change_step(annotation, 99, {})


def test_two_steps_become_one(annotation: RecordingAnnotation) -> None:
    one = merge_step(change_step(annotation, 1, {"deleted": True}), 0)
    assert one.steps[0].actions == f"{annotation.steps[0].actions}\n\n{annotation.steps[2].actions}"
    assert [step.id for step in one.kept] == [0, *range(3, len(annotation.steps))]
    with pytest.raises(InputError, match="must have a step behind it"):
        merge_step(annotation, annotation.steps[-1].id)


def test_it_is_kept_and_read_back(annotation: RecordingAnnotation, tmp_path: Path) -> None:
    file = tmp_path / "annotation.json"
    save_annotation(file, annotation)
    assert load_annotation(file) == annotation
    for content in (b"", b"{}", b"[" * 10_000, msgspec.json.encode(msgspec.structs.replace(annotation, version=9))):
        file.write_bytes(content)
        with pytest.raises(InputError, match=str(file)):
            load_annotation(file)


def test_nothing_to_write_is_said(annotation: RecordingAnnotation, folder: Path) -> None:
    nothing = msgspec.structs.replace(annotation, steps=())
    with pytest.raises(InputError, match="must have a step that an action says"):
        trajectory_of(nothing, lambda name: frames(folder, name))
    with pytest.raises(InputError, match="must say what was to be done"):
        trajectory_of(change_about(annotation, {"task": " "}), lambda name: frames(folder, name))


def test_a_recording_that_was_cut_off_says_so_and_has_no_end(tmp_path: Path) -> None:
    write(session(5, steps=4), tmp_path, 5)
    events = (tmp_path / "events.jsonl").read_bytes()
    (tmp_path / "events.jsonl").write_bytes(events[: len(events) // 2])
    made = read_annotation(tmp_path, None)
    assert made.notes == ("The recording was cut off: its last seconds may be missing.",)
    assert made.kept and made.steps[-1].actions != "finished()"
