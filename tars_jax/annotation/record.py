"""A recording from its beginning to its end on this computer: the parts are put together and turned."""

from __future__ import annotations

import contextlib
import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from tars_jax.annotation.in_situ.consent import TypedLines, why_not_command
from tars_jax.annotation.in_situ.privacy import AllowedWindows
from tars_jax.annotation.in_situ.recorder import Command, Recorder
from tars_jax.annotation.in_situ.recording import VERSION, Head
from tars_jax.annotation.in_situ.recording_writer import RecordingWriter
from tars_jax.annotation.in_situ.secret_input import Accessible, SecretWatchers
from tars_jax.annotation.in_situ.sources import Hands, Microphone, RecordingClock, ScreenSource

TURN_S = 0.05


@contextlib.contextmanager
def sources(
    system: str, display: str, clock: RecordingClock, keys: Mapping[str, str]
) -> Iterator[tuple[ScreenSource, Hands]]:
    """Screen and hands of a system, x11 or pynput, until the end. Raises InputError where they cannot be had."""
    with contextlib.ExitStack() as stack:
        if system == "x11":
            from tars_jax.annotation.in_situ.x11.connecting import connect

            connect(display).close()  # says what is missing
            from tars_jax.annotation.in_situ.x11.hands import XHands
            from tars_jax.annotation.in_situ.x11.screen import XScreen

            screen = XScreen(display, keys)
            stack.callback(screen.close)
            hands = XHands(display, clock, screen)
            stack.callback(hands.close)
            yield screen, hands
        else:
            from tars_jax.annotation.in_situ.pynput_source import PynputHands, PynputScreen

            other = PynputScreen()
            stack.callback(other.close)
            others = PynputHands(clock, other)
            stack.callback(others.close)
            yield other, others


def new_folder(below: Path) -> Path:
    return below / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def new_head(path: Path, clock: RecordingClock, size: tuple[int, int], consent: str, allowed: Sequence[str],
             source: str, task: str = "", annotator: str = "", track: str = "") -> Head:  # fmt: skip
    return Head(
        version=VERSION, id=path.name, began=clock.wall, screen=size, consent=consent, allowed=tuple(allowed),
        source=source, task=task, annotator=annotator, track=track,
    )  # fmt: skip


def record(
    path: Path, head: Head, limit: int, clock: RecordingClock, screen: ScreenSource, hands: Hands,
    allowed: AllowedWindows,
    microphone: Microphone | None, lines: TypedLines, *, minutes: float, with_accessibility: bool,
) -> str:  # fmt: skip
    """Records until the person stops it, or what ends it; why it ended. Raises what `Recorder.turn` does.

    Args:
      limit: bytes that it may take.
      minutes: that the combination of keys for it takes back.
    """
    accessible = Accessible() if with_accessibility else None
    watchers = SecretWatchers(accessible)
    recorder = Recorder(
        RecordingWriter(path, head, limit), clock, hands, screen, allowed, microphone=microphone, focus=watchers
    )
    try:
        while not recorder.ended:
            for command, argument in lines.take():
                if wrong := why_not_command(command, argument):
                    print(wrong, file=sys.stderr, flush=True)
                else:
                    recorder.command(cast(Command, command), argument)
            for wish in screen.wishes():
                recorder.command(*_wished(wish, recorder.is_paused, minutes))
            began = time.monotonic()
            recorder.turn()
            time.sleep(max(0.0, TURN_S - (time.monotonic() - began)))
    except KeyboardInterrupt:
        recorder.command("stop")
    finally:
        watchers.close()
    return recorder.ended


def _wished(wish: str, is_paused: bool, minutes: float) -> tuple[Command, str]:
    """The command of a combination of keys."""
    if wish == "pause":
        return ("resume" if is_paused else "pause"), ""
    return cast(Command, wish), f"{minutes:g}" if wish == "discard" else ""
