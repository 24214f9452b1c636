"""Figures as files: whole or not at all, and the same bytes for the same figure."""

from __future__ import annotations

import io
import os
import pathlib
from typing import TYPE_CHECKING

from tars_jax import InputError
from tars_jax.files import write_atomic

if TYPE_CHECKING:  # whoever draws has imported it
    from matplotlib.figure import Figure

_UNDATED = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}  # formats, and what would differ between machines


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes `figure` in the format that the file's name ends with.

    Raises InputError for another format than svg, pdf and png, and where the file cannot be written.
    """
    file = pathlib.Path(path)
    kind = file.suffix.removeprefix(".")
    if kind not in _UNDATED:
        raise InputError(f"a figure's name must end in .{', .'.join(_UNDATED)}; got {file}")
    import matplotlib

    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tars_jax"}):  # of the ids in it
        figure.savefig(picture, format=kind, dpi=110, metadata={_UNDATED[kind]: None})
    try:
        write_atomic(file, picture.getvalue())
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}.") from error
