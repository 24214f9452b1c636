"""Speech with known words and times: espeak-ng, which the package espeakng-loader brings, by ctypes."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import math
import re

import espeakng_loader
import numpy as np
import scipy.signal

RATE = 16_000
_RETRIEVAL, _DO_NOT_EXIT, _UTF8, _OF_CHARACTERS = 1, 0x8000, 1, 1
_WORD, _END_OF_LIST = 1, 0
_SPEED, _PITCH = 1, 3


class _Event(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int), ("id", ctypes.c_uint), ("text_position", ctypes.c_int), ("length", ctypes.c_int),
        ("milliseconds", ctypes.c_int), ("sample", ctypes.c_int), ("user", ctypes.c_void_p),
        ("name", ctypes.c_char * 8),
    )  # fmt: skip


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


@dataclasses.dataclass(frozen=True)
class Said:
    samples: np.ndarray  # float32 at 16 kHz
    words: tuple[tuple[str, float], ...]  # each with the second at which it begins

    @property
    def seconds(self) -> float:
        return len(self.samples) / RATE


def say(text: str, *, voice: str = "en-us", words_per_minute: int = 165, pitch: int = 50) -> Said:
    library, rate = _library()
    library.espeak_SetVoiceByName(voice.encode())
    library.espeak_SetParameter(_SPEED, words_per_minute, 0)
    library.espeak_SetParameter(_PITCH, pitch, 0)
    pieces: list[np.ndarray] = []
    found: list[tuple[str, float]] = []

    def hear(samples: object, count: int, events: object) -> int:
        if samples and count:
            pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        for number in range(1 << 16):
            event = events[number]  # type: ignore[index]
            if event.type == _END_OF_LIST:
                break
            if event.type == _WORD:
                place = event.text_position - 1
                found.append((text[place : place + event.length], event.milliseconds / 1000))
        return 0

    callback = _CALLBACK(hear)
    library.espeak_SetSynthCallback(callback)
    spoken = text.encode() + b"\0"
    library.espeak_Synth(spoken, len(spoken), 0, _OF_CHARACTERS, 0, _UTF8, None, None)
    library.espeak_Synchronize()
    whole = np.concatenate(pieces).astype(np.float32) / 32768
    divisor = math.gcd(rate, RATE)
    heard = scipy.signal.resample_poly(whole, RATE // divisor, rate // divisor).astype(np.float32)
    loud = np.flatnonzero(np.abs(heard) > 0.01)
    words = tuple((word, time) for word, time in found if re.search(r"\w", word))
    return Said(heard[: loud[-1] + 800] if loud.size else heard, words)


@functools.cache
def _library() -> tuple[ctypes.CDLL, int]:
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    rate = library.espeak_Initialize(_RETRIEVAL, 500, espeakng_loader.get_data_path().encode(), _DO_NOT_EXIT)
    assert rate > 0, "espeak-ng did not start"
    return library, rate
