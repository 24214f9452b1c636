"""A redacted copy of a recording, for a folder from which it may be uploaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.in_situ.export_redaction import BlackRectangle, patterns
from tars_jax.annotation.in_situ.exporting import export
from tars_jax.annotation.in_situ.local_recordings import open_recording
from tars_jax.training.progress import QUIET, counting

POSITIONAL = ("recording", "output")


def run(config: Any) -> None:
    done = export(
        open_recording(Path(config.recording)), Path(config.output), patterns(config.pattern),
        rectangles=_rectangles(config.rectangles), cover_typed=config.cover_typed, voice=config.voice,
        accessibility=config.accessibility, shown=counting("export_recording", "pictures", quiet=QUIET),
    )  # fmt: skip
    print(
        f"{done.path}: {done.matches} typed texts taken out, {done.blackened} of {done.pictures} pictures blackened in "
        "part. Look at the pictures before you upload them"
        + (f". {done.damaged} pictures could not be read and are left out" if done.damaged else "")
    )


def _rectangles(given: Sequence[Any]) -> list[BlackRectangle]:
    """`x,y,width,height` or with `,since,until` in seconds."""
    found = []
    for each in given:
        parts = str(each).replace("/", ",").split(",")
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        possible = len(numbers) in (4, 6) and all(map(math.isfinite, numbers)) and min(numbers[2:4]) > 0
        if not possible or (len(numbers) == 6 and numbers[4] >= numbers[5]):
            raise InputError(
                "config.rectangles must be x/y/width/height in pixels each, or x/y/width/height/since/until with "
                f"seconds; got {each!r}"
            )
        x, y, width, height = (round(number) for number in numbers[:4])
        found.append(BlackRectangle((x, y, width, height), *numbers[4:]))
    return found
