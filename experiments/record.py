"""A person's work on their own computer is recorded, or what was recorded is listed or deleted."""

from __future__ import annotations

import contextlib
import datetime
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.in_situ.keeping import delete, home, listed
from tars_jax.annotation.in_situ.microphone import ProgramMicrophone, find_program
from tars_jax.annotation.in_situ.person import HELP, TypedLines, agree, choose
from tars_jax.annotation.in_situ.sources import RecordingClock
from tars_jax.annotation.in_situ.windows import AllowedWindows
from tars_jax.annotation.record import new_folder, new_head, record, sources

POSITIONAL = ("action", "recording")


def run(config: Any) -> None:
    below = Path(config.folder) if config.folder else home()
    if config.action == "list":
        _list(below)
    elif config.action == "delete":
        if not config.recording:
            raise InputError("config.recording must be a recording, such as `record list` names; got nothing")
        print(f"{config.recording}: deleted, {delete(Path(config.recording)) / 1e6:.1f} MB")
    else:
        _record(config, below)


def _record(config: Any, below: Path) -> None:
    listed(below)  # what a kill has left there is made whole
    clock = RecordingClock()
    with contextlib.ExitStack() as stack:
        screen, hands = stack.enter_context(sources(config.system, config.display, clock, config.hotkeys.to_dict()))
        command = find_program() if config.microphone else []
        consent = agree()
        open_now = (each.application for each in screen.windows().shown if each.application)
        names = tuple(config.allow) or choose(open_now)
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
    kept = listed(below)
    for each in kept:
        began = datetime.datetime.fromtimestamp(each.path.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
        minutes, size = each.seconds / 60, each.bytes / 1e6
        print(f"{each.path}  {began}  {minutes:.1f} min  {size:.1f} MB  {each.state}  {each.task}".rstrip())
    print(f"{len(kept)} recordings in {below}")
