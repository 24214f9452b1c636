"""A redacted copy of a recording for a folder from which it may be uploaded, without voice unless asked for."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from PIL import Image

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Accessibility, RecordedEvent, ScreenFrame, Voice
from tars_jax.annotation.in_situ.export_redaction import (
    BlackRectangle,
    Searched,
    boxes_of,
    covers,
    matches,
    without_texts,
)
from tars_jax.annotation.in_situ.privacy import Box
from tars_jax.annotation.in_situ.recording import EVENTS, FOLDERS, HEAD, PersonRecording
from tars_jax.files import write_atomic


@dataclasses.dataclass(frozen=True)
class Exported:
    path: Path
    matches: int  # typed texts that were taken out
    pictures: int
    blackened: int  # pictures of these
    damaged: int  # pictures that cannot be read, and are left out


def export(
    recording: PersonRecording, output: Path, searched: Searched, *, rectangles: Sequence[BlackRectangle] = (),
    cover_typed: bool = True, voice: bool = False, accessibility: bool = False,
    shown: Callable[[int, int], None] = lambda done, of: None,
) -> Exported:  # fmt: skip
    """Writes it whole or not at all; the recording stays as it is.

    Args:
      output: a folder that is not there yet.
      cover_typed: blackens the windows that a text which matched was typed into, from then on.
      accessibility: trees go along, with what matches in them replaced.
      shown: hears how many pictures are done, of how many.

    Raises InputError for a folder that is there or lies in the recording, and a damaged tree of it; OSError.
    """
    if output.exists():
        raise InputError(f"config.output must be a folder that is not there yet; got {output}")
    if recording.path.resolve() in output.absolute().resolve().parents:
        raise InputError(f"config.output must be outside of the recording, which stays as it is; got {output}")
    events = recording.events
    found = matches(events, searched)
    black = [*rectangles, *(covers(events, found) if cover_typed else ())]
    kept = [
        event for event in without_texts(events, found, searched)
        if not (isinstance(event, Voice) and not voice) and not (isinstance(event, Accessibility) and not accessibility)
    ]  # fmt: skip
    partial = output.with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True, mode=0o700)  # its owner's alone, as a recording is
        for folder in FOLDERS:
            (partial / folder).mkdir()
        pictures, screen, damaged = _boxes(kept, black), recording.head.screen, set[str]()
        for done, (name, boxes) in enumerate(sorted(pictures.items()), 1):
            if not _picture(recording.file("frames", name), partial / "frames" / name, boxes, screen):
                damaged.add(name)
            shown(done, len(pictures))
        kept = [event for event in kept if not (isinstance(event, ScreenFrame) and event.file in damaged)]
        for event in kept:
            if isinstance(event, Voice):
                shutil.copyfile(recording.file("voice", event.file), partial / "voice" / event.file)
            elif isinstance(event, Accessibility):
                _tree(recording, event, partial, searched)
        (partial / EVENTS).write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in kept))
        blackened = sum(bool(boxes) for name, boxes in pictures.items() if name not in damaged)
        head = msgspec.structs.replace(
            recording.head, task=searched.without(recording.head.task),
            annotator=searched.without(recording.head.annotator),
            redaction=f"{len(found)} typed texts, {blackened} of {len(pictures)} pictures"
            + ("" if voice else ", voice") + ("" if accessibility else ", accessibility"),
        )  # fmt: skip
        write_atomic(partial / HEAD, msgspec.json.encode(head))
        partial.rename(output)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Exported(output, len(found), len(pictures), blackened, len(damaged))


def _boxes(events: Sequence[RecordedEvent], black: Sequence[BlackRectangle]) -> dict[str, set[Box]]:
    """Of each picture's file what is black in it: all that is so at any of the times that it stands for."""
    found: dict[str, set[Box]] = {}
    for event in events:
        if isinstance(event, ScreenFrame):
            found.setdefault(event.file, set()).update(boxes_of(event, black))
    return found


def _picture(source: Path, target: Path, boxes: set[Box], screen: tuple[int, int]) -> bool:
    """The pixels alone, written anew: a file may hold other things behind them. False: it cannot be read, or it is a
    link to somewhere else. `boxes` are in pixels of the `screen`, and so in other ones of a picture of another size."""
    if source.is_symlink():
        return False
    try:
        with Image.open(source) as opened:
            image = opened.convert("RGB")
    except Exception:  # Pillow's decoders raise what they like
        return False
    across, down = (size / of if of > 0 else 1.0 for size, of in zip(image.size, screen, strict=True))
    for x, y, width, height in boxes:
        begin = math.floor(x * across), math.floor(y * down)
        image.paste((0, 0, 0), (*begin, math.ceil((x + width) * across), math.ceil((y + height) * down)))
    png = io.BytesIO()
    image.save(png, "PNG", compress_level=1)
    target.write_bytes(png.getvalue())
    return True


def _tree(recording: PersonRecording, event: Accessibility, partial: Path, searched: Searched) -> None:
    source = recording.file("accessibility", event.file)
    try:
        tree = json.loads(source.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} must be JSON; got {error}") from error
    clean = json.dumps(searched.without_in(tree), ensure_ascii=False)
    (partial / "accessibility" / event.file).write_text(clean, "utf-8")
