"""PNGs of a screen: without loss, the same bytes for the same pixels whatever was shown before."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tars_jax.sandbox.desktop.png import PngEncoder
from tars_jax.sandbox.desktop.screen import HEADER, FrameBuffer
from tars_jax.sandbox.failures import Broken


def _decoded(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        image.verify()  # the checksums of all chunks
    return np.asarray(Image.open(io.BytesIO(png)))


@pytest.mark.parametrize("size", [(1, 1), (15, 7), (16, 64), (17, 3), (720, 1280)])
def test_a_picture_is_kept_without_loss(size: tuple[int, int]) -> None:
    random = np.random.default_rng(size[0])
    frame = random.integers(0, 256, (*size, 4), np.uint8)
    assert np.array_equal(_decoded(PngEncoder().encode(frame)), frame[..., 2::-1])


def test_bytes_depend_on_the_pixels_alone() -> None:
    random, encoder = np.random.default_rng(3), PngEncoder()
    frame = np.full((100, 50, 4), 7, np.uint8)
    for step in range(30):
        frame = frame.copy()
        top, left = random.integers(0, 100), random.integers(0, 50)
        frame[top : top + random.integers(1, 40), left : left + 9] = random.integers(0, 256, 4, np.uint8)
        png = encoder.encode(frame)
        assert png == PngEncoder().encode(frame.copy()), step
        assert np.array_equal(_decoded(png), frame[..., 2::-1]), step
    assert np.array_equal(_decoded(encoder.encode(frame[:40])), frame[:40, :, 2::-1])  # another size


def test_rows_that_stayed_are_not_compressed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_jax.sandbox.desktop import png

    done, encoder = [], PngEncoder()
    compressed = png._compressed

    def counted(band: np.ndarray) -> tuple[bytes, int, int]:
        done.append(len(band))
        return compressed(band)

    monkeypatch.setattr(png, "_compressed", counted)
    frame = np.zeros((720, 1280, 4), np.uint8)
    encoder.encode(frame)
    assert len(done) == 45
    changed = frame.copy()
    changed[100, 5] = 1
    encoder.encode(changed)
    encoder.encode(changed.copy())
    assert len(done) == 46


@pytest.mark.parametrize(
    "field", [{"height": 1 << 31}, {"width": 1 << 20}, {"row": 1 << 30}, {"colors": 1 << 31}, {"size": 1 << 31}]
)
def test_a_false_header_of_a_screen_is_refused_before_anything_is_read(tmp_path: Path, field: dict[str, int]) -> None:
    told = {"size": 100, "width": 64, "height": 48, "row": 256, "colors": 0} | field
    words = [told["size"], 7, 0, 0, told["width"], told["height"], 0, 0, 0, 0, 0, 32, told["row"], 0, 0xFF0000, 0, 0xFF]
    words += [0, 0, told["colors"]]
    file = tmp_path / "screen"
    file.write_bytes(HEADER.pack(*words))
    os.truncate(file, 1 << 32)  # a hole
    with pytest.raises(Broken, match="frame buffer must be of"):
        FrameBuffer(os.open(file, os.O_RDONLY), (64, 48))
