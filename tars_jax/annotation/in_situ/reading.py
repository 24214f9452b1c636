"""From a recording to steps with thoughts, before anybody has looked."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.annotation.in_situ.alignment import align
from tars_jax.annotation.in_situ.annotated import Annotation, annotate
from tars_jax.annotation.in_situ.events import Accessibility, Ended, Frame, Lost, Voice, Window
from tars_jax.annotation.in_situ.recording import Recording, read_recording
from tars_jax.annotation.in_situ.speech import Transcriber, Word, transcribe
from tars_jax.annotation.in_situ.steps import recorded_steps
from tars_jax.annotation.in_situ.voice import cut, read_voice
from tars_jax.pictures import pixels_of

_SMALL = 8  # pixels a side that are looked at as one
_CHANGED = 0.01  # of them, by more than _SHADES: a cursor that blinks is less
_SHADES = 12
_MOST_NAMES = 4000  # of things on the screen
Heard = Callable[[int, float], None]  # words so far, and the second up to which was listened


def read_annotation(path: Path, by: Transcriber | None, heard: Heard | None = None) -> Annotation:
    """`by`: None: nobody listens, there are no thoughts. Raises InputError for what is no recording."""
    recording = read_recording(path)
    steps = list(recorded_steps(recording.events, recording.head.screen, _changed(recording)))
    notes = _missing(recording)
    words: list[Word] = []
    if by is not None:
        for word in transcribe(cut(read_voice(recording, notes)), by):
            words.append(word)
            if heard is not None:
                heard(len(words), word.ends)
    sentences = align(words, steps, list(_known(recording)))
    frames = [event.file for event in recording.events if isinstance(event, Frame)]
    ended = any(isinstance(event, Ended) for event in recording.events[-1:])
    return annotate(
        recording.head, steps, sentences, last_frame=frames[-1] if frames else "", ended=ended, notes=notes
    )  # fmt: skip


def voice_seconds(recording: Recording) -> float:
    return sum(event.seconds for event in recording.events if isinstance(event, Voice))


def _missing(recording: Recording) -> list[str]:
    found = ["The recording was cut off: its last seconds may be missing."] if recording.cut_off else []
    for event in recording.events:
        if isinstance(event, Lost):
            found.append(f"At {event.time:.0f} s the {event.source} went away: {event.message}")
    return found


def _changed(recording: Recording) -> Callable[[str, str], bool]:
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


def _known(recording: Recording) -> Iterator[str]:
    """What the task and the screen speak of."""
    yield recording.head.task
    yield from recording.head.allowed
    seen = 0
    for event in recording.events:
        if isinstance(event, Window):
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
