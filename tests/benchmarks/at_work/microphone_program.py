"""A microphone without a room, by the name and the flags of pw-record: it hears clips that are laid into a folder.

    SPOKEN=FOLDER NOISE=0.004 pw-record ...

A clip is a file START.npy, float32 at 16 kHz, heard from that second of the monotonic clock on. Samples go out as they
do from a sound card: a tenth of a second once it is over.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

RATE, PART = 16_000, 1_600


def main() -> None:
    folder, noise = Path(os.environ["SPOKEN"]), float(os.environ["NOISE"])
    draw = np.random.default_rng(int(os.environ.get("SEED", "0")))
    clips: dict[str, tuple[int, np.ndarray]] = {}
    begins = round(time.monotonic() * RATE)
    hum = 0.0
    while True:
        time.sleep(max(0.0, (begins + PART) / RATE - time.monotonic()))
        for each in folder.glob("*.npy"):
            if each.name not in clips:
                clips[each.name] = (round(float(each.stem) * RATE), np.load(each))
        white = draw.normal(0, noise, PART)
        heard = np.empty(PART)
        for number in range(PART):  # a fan: deeper than white noise
            hum = 0.7 * hum + 0.7 * white[number]
            heard[number] = hum
        for start, samples in clips.values():
            first, last = max(start, begins), min(start + len(samples), begins + PART)
            if first < last:
                heard[first - begins : last - begins] += samples[first - start : last - start]
        whole = (np.clip(heard, -1, 1) * 32767).astype("<i2").tobytes()
        try:
            os.write(sys.stdout.fileno(), whole)
        except BrokenPipeError:
            return
        begins += PART


if __name__ == "__main__":
    main()
