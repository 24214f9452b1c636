"""Think-aloud: how much of scripted sessions comes out as it was played and said.

    PYTHONPATH=. python tests/benchmarks/think_aloud.py [--sessions 5] [--hours 8] [--seed 200]

Sessions are written as recordings (voice as FLAC, pictures, events) and read as annotate_recording reads them. Scripts
are random by their seed; those that are held out have other sentences, names and texts than those that the rules of
alignment were developed with. The last line is a day's events through steps: its seconds and the memory that it took.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path

from tars_jax.annotation.in_situ.draft_annotation import read_words
from tars_jax.annotation.in_situ.recording import read_recording
from tars_jax.annotation.in_situ.speech import Embedded
from tars_jax.annotation.in_situ.steps import recorded_steps
from tests.annotation.in_situ.measuring import Counts, action_f1, thoughts, word_errors
from tests.annotation.in_situ.scripted import FAST, OTHER_VOICES, SCREEN, SPEEDS, VOICES, a_day, session, write

ROWS = {  # held out, words in a minute, voices, noise (of 1, against a voice of about .8 at its loudest)
    "developed with": (False, SPEEDS, VOICES, 0.004),
    "held out": (True, SPEEDS, VOICES, 0.004),
    "held out, fast": (True, FAST, VOICES, 0.004),
    "held out, noise": (True, SPEEDS, VOICES, 0.03),
    "held out, other voices": (True, SPEEDS, OTHER_VOICES, 0.004),
}


def measure(name: str, seeds: range) -> str:
    held_out, speeds, voices, noise = ROWS[name]
    actions, words, off, placed = Counts(0, 0), Counts(0, 0), list[float](), list[bool]()
    kinds: dict[str, list[bool]] = {}
    for seed in seeds:
        played = session(seed, held_out=held_out, speeds=speeds, voices=voices)
        with tempfile.TemporaryDirectory() as folder:
            recording = read_recording(write(played, Path(folder), seed, noise=noise))
            steps, heard, sentences = read_words(recording, Embedded())
        actions += action_f1(steps, played)
        errors, late = word_errors(heard, played)
        words += errors
        off += late
        for right, said in thoughts(sentences, steps, played):
            placed.append(right)
            kinds.setdefault(said.partition(":")[0], []).append(right)
    by_kind = ", ".join(f"{kind} {sum(each)}/{len(each)}" for kind, each in sorted(kinds.items()))
    share = f"{sum(placed)}/{len(placed)} = {sum(placed) / len(placed):.3f}"
    found = (name, len(seeds), f"{actions.share:.3f}", share, f"{words.share:.3f}", f"{statistics.median(off):.2f}")
    return f"| {' | '.join(map(str, found))} | {by_kind} |"


def measure_day(hours: float) -> str:
    piece = session(3, steps=8)
    events = sum(1 for _ in a_day(piece, hours))
    tracemalloc.start()
    began = time.perf_counter()
    steps = sum(1 for _ in recorded_steps(a_day(piece, hours), SCREEN, lambda one, other: False))
    seconds, peak = time.perf_counter() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"{hours:g} hours: {events} events, {steps} steps in {seconds:.0f} s (traced), {peak / 1e6:.2f} MB at most"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=5, help="of each row")
    parser.add_argument("--seed", type=int, default=200, help="the first one")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=list(ROWS))
    asked = parser.parse_args()
    print("| scripts | sessions | action F1 | thoughts placed | word error | median s off | by kind |", flush=True)
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in asked.rows:
        print(measure(name, range(asked.seed, asked.seed + asked.sessions)), flush=True)
    print(measure_day(asked.hours), flush=True)


if __name__ == "__main__":
    main()
