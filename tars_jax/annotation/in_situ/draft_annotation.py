"""Drafts of annotations: a recording as steps with thoughts, before anybody has reviewed it."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.annotation.in_situ.alignment import SpokenSentence, align
from tars_jax.annotation.in_situ.annotated import RecordingAnnotation, annotate
from tars_jax.annotation.in_situ.events import (
    Accessibility,
    Ended,
    FocusedWindow,
    ScreenFrame,
    Slept,
    SourceGone,
    Voice,
)
from tars_jax.annotation.in_situ.recording import PersonRecording, read_recording
from tars_jax.annotation.in_situ.speech import SpokenWord, Transcriber, transcribe
from tars_jax.annotation.in_situ.steps import RecordedStep, recorded_steps
from tars_jax.annotation.in_situ.voice import cut, read_voice
from tars_jax.pictures import pixels_of

_SMALL = 8  # pixels a side that are looked at as one
_CHANGED = 0.01  # of them, by more than _SHADES: a cursor that blinks is less
_SHADES = 12
_MOST_NAMES = 4000  # of things on the screen
_MOST_HINTS, _LONGEST_NAME = 30, 30  # names, characters of one
Heard = Callable[[int, float], None]  # words so far, and the second up to which was listened


def read_annotation(path: Path, by: Transcriber | None, heard: Heard | None = None) -> RecordingAnnotation:
    """`by`: None: nobody listens, there are no thoughts. Raises InputError for what is no recording."""
    recording = read_recording(path)
    notes = _missing(recording)
    steps, _, sentences = read_words(recording, by, heard, notes)
    frames = [event.file for event in recording.events if isinstance(event, ScreenFrame)]
    ended = any(isinstance(event, Ended) for event in recording.events[-1:])
    return annotate(
        recording.head, steps, sentences, last_frame=frames[-1] if frames else "", ended=ended, notes=notes,
        slept=[event.time for event in recording.events if isinstance(event, Slept)],
    )  # fmt: skip


def read_words(
    recording: PersonRecording, by: Transcriber | None, heard: Heard | None = None, damaged: list[str] | None = None
) -> tuple[list[RecordedStep], list[SpokenWord], list[SpokenSentence]]:
    """The steps of a recording, the words that were said, and these as sentences, each with its step. `damaged` hears
    of what of the voice could not be read."""
    steps = list(recorded_steps(recording.events, recording.head.screen, _changed(recording)))
    words: list[SpokenWord] = []
    if by is not None:
        for word in transcribe(cut(read_voice(recording, damaged)), by, _Hints(recording).at):
            words.append(word)
            if heard is not None:
                heard(len(words), word.ends)
    return steps, words, align(words, steps, list(_known(recording)))


class _Hints:
    """Words that may be said at a time: the names of the window's things."""

    def __init__(self, recording: PersonRecording) -> None:
        self._recording = recording
        self._trees = [event for event in recording.events if isinstance(event, Accessibility)]

    def at(self, time: float) -> str:
        trees = [event for event in self._trees if event.time <= time][-1:]
        return hint_of([name for event in trees for name in _names(self._recording.file("accessibility", event.file))])


def hint_of(names: Sequence[str]) -> str:
    """A hint for transcription, of the names on a screen, in whole sentences: the model writes on in the manner of what
    it is told came before.

    Texts that are typed are not told: more words of real sessions went wrong by them (docs/think_aloud.md).
    """
    short = list(dict.fromkeys(name.strip() for name in names if 2 < len(name.strip()) <= _LONGEST_NAME))[:_MOST_HINTS]
    seen = f"On the screen I see {', '.join(short)}. " if short else ""
    return f"{seen}I click the button, open the menu, and type the text. Okay, there we go."


def voice_seconds(recording: PersonRecording) -> float:
    return sum(event.seconds for event in recording.events if isinstance(event, Voice))


def _missing(recording: PersonRecording) -> list[str]:
    found = ["The recording was cut off: its last seconds may be missing."] if recording.cut_off else []
    for event in recording.events:
        if isinstance(event, SourceGone):
            found.append(f"At {event.time:.0f} s the {event.source} went away: {event.message}")
    return found


def _changed(recording: PersonRecording) -> Callable[[str, str], bool]:
    """Whether two pictures of it show another screen; one that cannot be read shows none."""

    @functools.lru_cache(maxsize=4)
    def seen(file: str) -> np.ndarray | None:
        try:
            whole = pixels_of(recording.file("frames", file).read_bytes(), file)
        except (OSError, InputError):
            return None
        gray = whole.astype(np.float32).mean(axis=2)
        height, width = (side // _SMALL * _SMALL for side in gray.shape)
        tiles = gray[:height, :width].reshape(height // _SMALL, _SMALL, width // _SMALL, _SMALL)
        return tiles.mean(axis=(1, 3))

    def changed(one: str, other: str) -> bool:
        if one == other:
            return False
        before, after = seen(one), seen(other)
        if before is None or after is None:
            return False
        return before.shape != after.shape or float((abs(before - after) > _SHADES).mean()) > _CHANGED

    return changed


def _known(recording: PersonRecording) -> Iterator[str]:
    """Words of the task and of the screen."""
    yield recording.head.task
    yield from recording.head.allowed
    seen = 0
    for event in recording.events:
        if isinstance(event, FocusedWindow):
            yield event.application
            yield event.title
        elif isinstance(event, Accessibility) and seen < _MOST_NAMES:
            for name in _names(recording.file("accessibility", event.file)):
                seen += 1
                yield name


def _names(file: Path) -> Iterator[str]:
    try:
        tree = json.load(io.BytesIO(file.read_bytes()))
    except (OSError, ValueError, RecursionError):  # cut off with the computer: what it says is a help, no more
        return
    nodes: list[Any] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if isinstance(node.get("name"), str):
                yield node["name"]
            children = node.get("children")
            nodes.extend(children if isinstance(children, list) else [])
