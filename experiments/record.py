"""A person's work on their own computer is recorded, or what was recorded is listed or deleted."""

from __future__ import annotations

import contextlib
import datetime
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.in_situ.consent import HELP, TypedLines, ask_consent, choose_applications
from tars_jax.annotation.in_situ.local_recordings import delete_recording, list_recordings, recordings_folder
from tars_jax.annotation.in_situ.microphone import ProgramMicrophone, find_program
from tars_jax.annotation.in_situ.privacy import AllowedWindows
from tars_jax.annotation.in_situ.sources import RecordingClock
from tars_jax.annotation.record import new_folder, new_head, record, sources

POSITIONAL = ("action", "recording")


def run(config: Any) -> None:
    below = Path(config.folder) if config.folder else recordings_folder()
    if config.action == "list":
        _list(below)
    elif config.action == "delete":
        if not config.recording:
            raise InputError("config.recording must be a recording, such as `record list` names; got nothing")
        print(f"{config.recording}: deleted, {delete_recording(Path(config.recording)) / 1e6:.1f} MB")
    else:
        _record(config, below)


def _record(config: Any, below: Path) -> None:
    list_recordings(below)  # what a kill has left there is made whole
    clock = RecordingClock()
    with contextlib.ExitStack() as stack:
        screen, hands = stack.enter_context(sources(config.system, config.display, clock, config.hotkeys.to_dict()))
        command = find_program() if config.microphone else []
        consent = ask_consent()
        open_now = (each.application for each in screen.windows().shown if each.application)
        names = tuple(config.allow) or choose_applications(open_now)
        allowed = AllowedWindows(
            names, *([each] if each else [] for each in (config.secret_titles, config.secret_applications))
        )
        microphone = ProgramMicrophone(clock, command) if command else None
        if microphone is not None:
            stack.callback(microphone.close)
        path = new_folder(below)
        head = new_head(
            path, clock, screen.windows().size, consent, names, config.system, config.task, config.annotator,
            config.track,
        )  # fmt: skip
        print(f"Recording {', '.join(names)} to {path}\n{HELP}", flush=True)
        ended = record(
            path, head, round(config.limit_megabytes * 1e6), clock, screen, hands, allowed, microphone, TypedLines(),
            minutes=config.discard_minutes, with_accessibility=config.accessibility,
        )  # fmt: skip
    print(f"{path}: {ended}")


def _list(below: Path) -> None:
    kept = list_recordings(below)
    for each in kept:
        began = datetime.datetime.fromtimestamp(each.path.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
        minutes, size = each.seconds / 60, each.bytes / 1e6
        print(f"{each.path}  {began}  {minutes:.1f} min  {size:.1f} MB  {each.state}  {each.task}".rstrip())
    print(f"{len(kept)} recordings in {below}")
