"""The person's voice on its way to the disk: raw samples that a kill does not lose, then a FLAC file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile

from tars_jax.annotation.in_situ.events import Voice
from tars_jax.files import write_atomic

RATE, SAMPLE_BYTES = 16_000, 2
LONGEST_S = 20.0  # of a piece
APART_S = 0.25  # between two parts, beyond which they are two pieces: a microphone's clock is not ours
_RAW = ".pcm"


class Spool:
    """The piece that is being spoken. Its raw file is named by when it began, in microseconds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        self._path, self._began, self._bytes = Path(), 0.0, 0

    def add(self, time: float, samples: bytes) -> list[Voice]:
        """Samples that were heard from `time` on; the pieces that are whole thereby. Raises OSError."""
        whole = []
        began: float | None = None
        if self._file is not None and abs(time - self._end()) > APART_S:
            whole += self.end()
        elif self._file is not None and self._bytes >= LONGEST_S * RATE * SAMPLE_BYTES:
            began = self._end()  # to the sample
            whole += self.end()
        if self._file is None:
            self._began, self._bytes = time if began is None else began, 0
            self._path = self._folder / f"{round(self._began * 1e6):015d}{_RAW}"
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        while samples:
            written = os.write(self._file, samples)
            self._bytes += written
            samples = samples[written:]
        return whole

    def end(self) -> list[Voice]:
        """The piece so far, if there is one."""
        if self._file is None:
            return []
        os.close(self._file)
        self._file = None
        return [piece] if (piece := _compressed(self._path)) else []

    def drop(self) -> None:
        """The piece so far is taken back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._path.unlink(missing_ok=True)

    @property
    def began(self) -> float | None:
        return self._began if self._file is not None else None

    def _end(self) -> float:
        return self._began + self._bytes / (RATE * SAMPLE_BYTES)


def left_over(folder: Path) -> Iterator[Voice]:
    """Pieces that were being spoken when a recorder was killed."""
    for path in sorted(folder.glob(f"*{_RAW}")):
        if piece := _compressed(path):
            yield piece


def _compressed(path: Path) -> Voice | None:
    """The raw file becomes a FLAC file; None for one of no samples. Raises OSError and keeps it on a full disk."""
    raw = path.read_bytes()
    samples = np.frombuffer(raw[: len(raw) // SAMPLE_BYTES * SAMPLE_BYTES], "<i2")
    if len(samples):
        write_atomic(path.with_suffix(".flac"), flac(samples))
    path.unlink()
    if not len(samples):
        return None
    return Voice(time=int(path.stem) / 1e6, file=f"{path.stem}.flac", seconds=len(samples) / RATE)


def flac(samples: np.ndarray) -> bytes:
    """np.int16 [samples] at 16 kHz."""
    import io

    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format="FLAC", subtype="PCM_16")
    return file.getvalue()
