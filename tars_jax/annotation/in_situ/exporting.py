"""A redacted copy of a recording for a folder from which it may be uploaded, without voice unless asked for."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Accessibility, Event, Frame, Voice
from tars_jax.annotation.in_situ.recording import EVENTS, FOLDERS, HEAD, Recording
from tars_jax.annotation.in_situ.redaction import (
    BLOCK,
    Rectangle,
    boxes_of,
    covers,
    matches,
    without_texts,
)
from tars_jax.annotation.in_situ.windows import Box
from tars_jax.files import write_atomic


@dataclasses.dataclass(frozen=True)
class Exported:
    path: Path
    matches: int  # typed texts that were taken out
    pictures: int
    blackened: int  # pictures of these


def export(
    recording: Recording, output: Path, searched: re.Pattern[str], *, rectangles: Sequence[Rectangle] = (),
    cover_typed: bool = True, voice: bool = False, accessibility: bool = False,
    shown: Callable[[int, int], None] = lambda done, of: None,
) -> Exported:  # fmt: skip
    """Writes it whole or not at all; the recording stays as it is.

    Args:
      output: a folder that is not there yet.
      cover_typed: blackens the windows that a text which matched was typed into, from then on.
      accessibility: trees go along, with what matches in them replaced.
      shown: hears how many pictures are done, of how many.

    Raises InputError for a folder that is there or a damaged file of the recording, OSError.
    """
    if output.exists():
        raise InputError(f"config.output must be a folder that is not there yet; got {output}")
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
        for folder in FOLDERS:
            (partial / folder).mkdir(parents=True)
        pictures = _boxes(kept, black)
        for done, (name, boxes) in enumerate(sorted(pictures.items()), 1):
            _picture(recording.file("frames", name), partial / "frames" / name, boxes)
            shown(done, len(pictures))
        for event in kept:
            if isinstance(event, Voice):
                shutil.copyfile(recording.file("voice", event.file), partial / "voice" / event.file)
            elif isinstance(event, Accessibility):
                _tree(recording, event, partial, searched)
        (partial / EVENTS).write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in kept))
        blackened = sum(bool(boxes) for boxes in pictures.values())
        head = msgspec.structs.replace(
            recording.head, task=searched.sub(BLOCK, recording.head.task),
            redaction=f"{len(found)} typed texts, {blackened} of {len(pictures)} pictures"
            + ("" if voice else ", voice") + ("" if accessibility else ", accessibility"),
        )  # fmt: skip
        write_atomic(partial / HEAD, msgspec.json.encode(head))
        partial.rename(output)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Exported(output, len(found), len(pictures), blackened)


def _boxes(events: Sequence[Event], black: Sequence[Rectangle]) -> dict[str, set[Box]]:
    """Of each picture's file what is black in it: all that is so at any of the times that it stands for."""
    found: dict[str, set[Box]] = {}
    for event in events:
        if isinstance(event, Frame):
            found.setdefault(event.file, set()).update(boxes_of(event, black))
    return found


def _picture(source: Path, target: Path, boxes: set[Box]) -> None:
    if not boxes:
        shutil.copyfile(source, target)
        return
    try:
        with Image.open(source) as opened:
            image = opened.convert("RGB")
    except Exception as error:  # Pillow's decoders raise what they like
        raise InputError(f"{source} must be a picture; got {error}") from error
    for x, y, width, height in boxes:
        image.paste((0, 0, 0), (x, y, x + width, y + height))
    png = io.BytesIO()
    image.save(png, "PNG", compress_level=1)
    target.write_bytes(png.getvalue())


def _tree(recording: Recording, event: Accessibility, partial: Path, searched: re.Pattern[str]) -> None:
    source = recording.file("accessibility", event.file)
    try:
        tree = json.loads(source.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} must be JSON; got {error}") from error
    clean = json.dumps(_replaced(tree, searched), ensure_ascii=False)
    (partial / "accessibility" / event.file).write_text(clean, "utf-8")


def _replaced(tree: Any, searched: re.Pattern[str]) -> Any:
    if isinstance(tree, str):
        return searched.sub(BLOCK, tree)
    if isinstance(tree, list):
        return [_replaced(each, searched) for each in tree]
    if isinstance(tree, dict):
        return {name: _replaced(each, searched) for name, each in tree.items()}
    return tree
