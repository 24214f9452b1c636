"""The microphone, by a program that is there: 16-bit samples at 16 kHz from PipeWire, PulseAudio or ALSA."""

from __future__ import annotations

import queue
import shutil
import subprocess
import threading
from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.annotation.in_situ.sources import RecordingClock, SourceLost
from tars_jax.annotation.in_situ.spool import RATE, SAMPLE_BYTES

PART_S = 0.1
PROGRAMS = {
    "pw-record": ("--rate=16000", "--channels=1", "--format=s16", "-"),
    "parecord": ("--raw", "--rate=16000", "--channels=1", "--format=s16le", "--latency-msec=50"),
    "arecord": ("-q", "-t", "raw", "-f", "S16_LE", "-r", "16000", "-c", "1"),
}


def find_program() -> list[str]:
    """The first that is installed. Raises InputError where none is."""
    for name, flags in PROGRAMS.items():
        if shutil.which(name) is not None:
            return [name, *flags]
    names = " or ".join(PROGRAMS)
    raise InputError(
        f"config.microphone must be False where none of {names} is installed; got True. The packages pipewire-bin, "
        "pulseaudio-utils and alsa-utils have them"
    )


class ProgramMicrophone:
    """Listens in a thread of its own from the beginning."""

    def __init__(self, clock: RecordingClock, command: Sequence[str]) -> None:
        """`command`: writes samples to its standard output until it is ended. Raises InputError."""
        self._clock, self._name = clock, command[0]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise InputError(f"the microphone's program must start; got {command[0]!r}: {error.strerror}") from error
        self._heard: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="microphone", daemon=True)
        self._thread.start()

    def take(self) -> Sequence[tuple[float, bytes]]:
        ended = self._ended.is_set()
        found = []
        while not self._heard.empty():
            found.append(self._heard.get())
        if ended and not found:
            raise SourceLost(f"{self._name} ended with status {self._process.wait()}{self._said()}")
        return found

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._thread.join(5)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        part = round(PART_S * RATE) * SAMPLE_BYTES
        samples = bytearray()
        while content := self._process.stdout.read(part - len(samples)):
            samples += content
            if len(samples) == part:
                self._heard.put((self._clock.now() - PART_S, bytes(samples)))
                samples.clear()
        self._ended.set()

    def _said(self) -> str:
        assert self._process.stderr is not None
        words = self._process.stderr.read(400).decode("utf-8", "replace").strip()
        return f": {words}" if words else ""
