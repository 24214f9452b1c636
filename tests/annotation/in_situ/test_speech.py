"""Speech to words with times: a voice that speaks by rule, the model that the extra brings, an endpoint."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("faster_whisper")
pytest.importorskip("espeakng_loader")

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tars_jax import InputError
from tars_jax.annotation.in_situ.draft_annotation import hint_of
from tars_jax.annotation.in_situ.recording import read_recording
from tars_jax.annotation.in_situ.speech import Endpoint, SpokenWord, transcribe, transcriber
from tars_jax.annotation.in_situ.voice import RATE, Spoken, cut, read_voice, read_voice_between, require_speech
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.annotation.in_situ.espeak import say
from tests.annotation.in_situ.measuring import word_errors
from tests.annotation.in_situ.scripted import Session, Thought, write

FIRST, SECOND = "I will click the export button.", "Now I need to open documents."
QUIET_S = 5.0  # between the two


@pytest.fixture(scope="module")
def spoken() -> Session:
    """Two sentences with a long pause."""
    made, now = Session(), 1.0
    for text in (FIRST, SECOND):
        sentence = say(text, words_per_minute=145)
        made.sounds.append((now, sentence.samples))
        times = tuple((word, now + time) for word, time in sentence.words)
        made.thoughts.append(Thought("announce", text, now, now + sentence.seconds, times, None))
        now += sentence.seconds + QUIET_S
    made.ends = now
    return made


@pytest.fixture(scope="module")
def folder(spoken: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(spoken, tmp_path_factory.mktemp("recording"), 0)


def test_words_and_their_times_are_heard(spoken: Session, folder: Path) -> None:
    pieces = list(cut(read_voice(read_recording(folder))))
    off = [abs(piece.begins - thought.begins) for piece, thought in zip(pieces, spoken.thoughts, strict=True)]
    assert max(off) <= 0.1
    words = list(transcribe(pieces, transcriber("embedded"), lambda time: hint_of(())))
    errors, late = word_errors(words, spoken)
    assert errors.share <= 0.25  # "export" is heard as "next part"
    assert statistics.median(late) <= 0.3
    assert [word.begins for word in words] == sorted(word.begins for word in words)


def test_a_file_of_voice_that_is_gone_or_damaged_is_named(spoken: Session, tmp_path: Path) -> None:
    recording = read_recording(write(spoken, tmp_path, 0))
    (file,) = (tmp_path / "voice").iterdir()
    whole = file.read_bytes()
    for content in (b"", whole[:40], b"not FLAC"):
        file.write_bytes(content)
        damaged: list[str] = []
        assert list(read_voice(recording, damaged)) == []
        assert len(damaged) == 1 and str(file) in damaged[0]


def test_what_was_heard_between_two_times(folder: Path) -> None:
    recording = read_recording(folder)
    whole = np.concatenate([samples for _, samples in read_voice(recording)])
    part = read_voice_between(recording, 2.0, 3.5)
    assert np.array_equal(part, whole[2 * RATE : round(3.5 * RATE)])
    assert not read_voice_between(recording, 1000.0, 1001.0).any()


def test_a_stretch_that_never_ends_is_cut_in_bounded_pieces() -> None:
    sentence = say(FIRST).samples
    minute = [(number * len(sentence) / RATE, sentence) for number in range(40)]
    pieces = list(cut(iter(minute)))
    assert all(len(piece.samples) <= 31 * RATE for piece in pieces)
    covered = sum(piece.ends - piece.begins for piece in pieces)
    assert covered > 0.6 * 40 * len(sentence) / RATE
    assert [piece.begins for piece in pieces] == sorted(piece.begins for piece in pieces)


def test_noise_alone_is_no_speech() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, 10 * RATE).astype(np.float32)
    assert list(cut(iter([(0.0, noise)]))) == []


PIECE = Spoken(3.0, 4.0, 2.9, np.zeros(RATE, np.float32))


def answered(status: int, content: object) -> list[SpokenWord]:
    """What becomes of an endpoint's answer; the form is looked at as it comes."""
    asked: dict[str, object] = {}

    async def answer(request: Request) -> JSONResponse:
        form = await request.form()
        upload = form["file"]
        assert not isinstance(upload, str)
        asked.update(form, size=len(await upload.read()), key=request.headers.get("authorization"))
        return JSONResponse(content, status)

    app = Starlette(routes=[Route("/v1/audio/transcriptions", answer, methods=["POST"])])
    with serving(app, ListenAddress(stop_seconds=1)) as address:
        words = list(transcribe([PIECE], Endpoint(f"{address}/v1", "whisper-large", "secret"), lambda time: "A hint."))
    assert (asked["model"], asked["response_format"]) == ("whisper-large", "verbose_json")
    assert asked["timestamp_granularities[]"] == "word" and asked["key"] == "Bearer secret"
    assert asked["prompt"] == "A hint." and asked["size"] == 44 + 2 * RATE
    return words


def test_an_endpoint_of_the_openai_api_serves_instead() -> None:
    said = {
        "text": "Click it",
        "words": [{"word": "Click", "start": 0.2, "end": 0.5}, {"word": "it", "start": 0.6, "end": 0.8}],
    }
    assert answered(200, said) == [SpokenWord("Click", 3.0, 3.4), SpokenWord("it", 3.5, 4.0)]
    assert answered(200, {"text": ""}) == []


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (500, {}, "must transcribe speech"),
        (200, {"text": "Click it"}, "must answer with words"),
        (200, {"text": "a", "words": [{"word": "a", "start": None, "end": 1}]}, "must answer with words"),
        (200, [1], "must answer with words"),
    ],
)
def test_an_endpoint_without_word_times_is_refused(status: int, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        answered(status, json.loads(json.dumps(content)))


def test_nobody_at_the_address() -> None:
    with pytest.raises(InputError, match="must transcribe speech"):
        Endpoint("http://127.0.0.1:9/v1", "m").words(PIECE.samples, "")


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"extra speech brings: pip install 'tars_jax\[speech\]'"):
        require_speech()


def test_another_name_is_refused() -> None:
    with pytest.raises(InputError, match="speech must be embedded or the address"):
        transcriber("whisper")
