"""A recording is written: events at once, files beside and renamed, all of it on the disk once a second.

What a kill -9 loses is what was still in memory. A power cut loses what came since the last `keep`: files are synced
before the events that name them. A full disk, or more bytes than the person allowed, is a `Full`; a reserve is kept for
the last words. What is taken back is taken from the disk, its lines, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections import OrderedDict
from pathlib import Path

import msgspec
import numpy as np

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Accessibility, Discarded, RecordedEvent, ScreenFrame, Voice
from tars_jax.annotation.in_situ.recording import EVENTS, FOLDERS, HEAD, LINE, Head, file_of
from tars_jax.annotation.in_situ.spool import Spool, left_over
from tars_jax.files import FULL_DISK, write_atomic
from tars_jax.sandbox.desktop.png import PngEncoder

RESERVE = 1 << 16  # bytes
KNOWN = 512  # frames that are looked for when the same picture comes again
_RESERVED = ".reserve"


class Full(Exception):
    """The recording is full: there is no room for more; the message says why."""


class RecordingWriter:
    """Belongs to one thread."""

    def __init__(self, path: Path, head: Head, limit: int) -> None:
        """Begins a recording in a folder that is not there yet, for nobody else to read.

        Args:
          limit: bytes that all of it may take.

        Raises InputError for a folder that is there, OSError for one that cannot be made.
        """
        try:
            path.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            raise InputError(f"a new recording must have a folder of its own; got {path}, which is there") from None
        for folder in FOLDERS:
            (path / folder).mkdir()
        self.path, self.head = path, head
        self._lock = os.open(path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        write_atomic(path / HEAD, msgspec.json.encode(head))
        write_atomic(path / _RESERVED, os.urandom(RESERVE))
        self._limit, self._bytes = limit, RESERVE
        self._open()
        self._encoder, self._frames = PngEncoder(), 0
        self._known: OrderedDict[bytes, str] = OrderedDict()  # digest of pixels -> file
        self._spool = Spool(path / "voice")
        self._unsynced: list[Path] = []
        self._is_kept = True

    def allow(self, application: str) -> None:
        """The person allows another one while it runs."""
        self.head = msgspec.structs.replace(self.head, allowed=(*self.head.allowed, application))
        write_atomic(self.path / HEAD, msgspec.json.encode(self.head))

    def event(self, event: RecordedEvent) -> None:
        """Raises Full, with the line left out."""
        self._count(len(line := msgspec.json.encode(event) + b"\n"))
        try:
            if os.write(self._file, line) != len(line):
                raise Full("the disk is full")
        except (OSError, Full) as error:
            os.ftruncate(self._file, self._whole)
            raise _full(error) from error
        self._whole += len(line)
        self._is_kept = False

    def frame(self, time: float, pixels: np.ndarray) -> None:
        """np.uint8 [height, width, 4], BGRX, which is kept and may not change. Raises Full."""
        digest = hashlib.blake2b(pixels.data, digest_size=16, key=repr(pixels.shape).encode()).digest()
        name = self._known.get(digest)
        if name is None:
            self._frames += 1
            name = self._put("frames", f"{self._frames:07d}.png", self._encoder.encode(pixels))
            self._known[digest] = name
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(digest)
        self.event(ScreenFrame(time=time, file=name))

    def accessibility(self, time: float, tree: bytes) -> None:
        """Writes an accessibility tree, as JSON. Raises Full."""
        self.event(Accessibility(time=time, file=self._put("accessibility", f"{round(time * 1e6):015d}.json", tree)))

    def voice(self, time: float, samples: bytes) -> None:
        """16-bit samples at 16 kHz that were heard from `time` on. Raises Full."""
        self._count(len(samples))
        try:
            pieces = self._spool.add(time, samples)
        except OSError as error:
            raise _full(error) from error
        self._voices(pieces)

    def voice_ends(self) -> None:
        """Ends a piece of voice: what comes is another one. Raises Full."""
        try:
            pieces = self._spool.end()
        except OSError as error:
            raise _full(error) from error
        self._voices(pieces)

    def discard(self, since: float, until: float) -> None:
        """Takes back what lies between, as if it had not been recorded, and says so. Raises Full."""
        if self._spool.began is not None and self._spool.began >= since:
            self._spool.drop()
        self.voice_ends()
        lines = (self.path / EVENTS).read_bytes().split(b"\n")[:-1]
        events = [LINE.decode(line) for line in lines]
        gone = [_overlaps(event, since, until) for event in events]
        kept = [event for event, is_gone in zip(events, gone, strict=True) if not is_gone]
        files = {file_of(event) for event, is_gone in zip(events, gone, strict=True) if is_gone}
        for each in files - {file_of(event) for event in kept} - {None}:
            assert each is not None
            with contextlib.suppress(FileNotFoundError):
                self._bytes -= (self.path / each).stat().st_size
                (self.path / each).unlink()
        self._known.clear()
        rest = [line for line, is_gone in zip(lines, gone, strict=True) if not is_gone]
        os.close(self._file)
        try:
            write_atomic(self.path / EVENTS, b"".join(line + b"\n" for line in rest))
        except OSError as error:
            raise _full(error) from error
        finally:
            self._open()
        self.event(Discarded(time=until, since=since))
        self.keep()

    def keep(self) -> None:
        """Syncs what was written, so that it outlives a power cut."""
        if self._is_kept:
            return
        self._is_kept = True
        for path in (*self._unsynced, *dict.fromkeys(path.parent for path in self._unsynced)):
            _sync(path)
        self._unsynced.clear()
        with contextlib.suppress(OSError):  # a file system that cannot
            os.fsync(self._file)

    def end(self, *last: RecordedEvent) -> None:
        """Writes the last words, for which there is room, and closes."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / _RESERVED).unlink()
        self._limit += RESERVE
        with contextlib.suppress(Full):  # its raw file is there still, for `recover`
            self.voice_ends()
        with contextlib.suppress(Full):
            for event in last:
                self.event(event)
        self.keep()
        os.close(self._file)
        os.close(self._lock)

    def _open(self) -> None:
        self._file = os.open(self.path / EVENTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._whole = os.fstat(self._file).st_size

    def _voices(self, pieces: list[Voice]) -> None:
        for piece in pieces:
            self._bytes -= round(piece.seconds * 32_000)  # of the raw file, which is gone
            self._bytes += (self.path / "voice" / piece.file).stat().st_size
            self.event(piece)

    def _put(self, folder: str, name: str, content: bytes) -> str:
        self._count(len(content))
        target = self.path / folder / name
        partial = target.with_name(f".{name}.partial")
        try:
            partial.write_bytes(content)
            os.replace(partial, target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise _full(error) from error
        self._unsynced.append(target)
        return name

    def _count(self, more: int) -> None:
        if self._bytes + more > self._limit:
            raise Full(f"the recording has reached its limit of {self._limit / 1e6:,.0f} MB")
        self._bytes += more


def recover(path: Path) -> int:
    """Voice that a kill left raw becomes pieces of the recording, what is half a line is cut off; how many pieces.

    Nothing is done to a recording that ended by itself or that is being written. Raises OSError.
    """
    has_ended = not (path / _RESERVED).exists() and not any((path / "voice").glob("*.pcm"))
    if has_ended or is_running(path):
        return 0
    for partial in path.glob("*/.*.partial"):
        partial.unlink()
    content = (path / EVENTS).read_bytes() if (path / EVENTS).exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    pieces = list(left_over(path / "voice"))
    if pieces or whole != content:
        lines = b"".join(msgspec.json.encode(piece) + b"\n" for piece in pieces)
        write_atomic(path / EVENTS, whole + lines)
    (path / _RESERVED).unlink(missing_ok=True)
    return len(pieces)


def is_running(path: Path) -> bool:
    """Whether a recorder writes it."""
    lock = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _overlaps(event: RecordedEvent, since: float, until: float) -> bool:
    end = event.time + event.seconds if isinstance(event, Voice) else event.time
    return end >= since and event.time <= until


def _full(error: BaseException) -> BaseException:
    if isinstance(error, OSError) and error.errno in FULL_DISK:
        return Full("the disk is full")
    return error


def _sync(path: Path) -> None:
    with contextlib.suppress(OSError):  # it was taken back, or the file system cannot
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
