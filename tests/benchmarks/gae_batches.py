"""Advantages and value targets of masked batches: ours with two lambdas against Tunix's and verl's with one.

    PYTHONPATH=. python tests/benchmarks/gae_batches.py [--pairs=5] [--threads=2] [--sides ours Tunix verl]

The first call makes the environments of google-tunix 0.1.7 (1.6 GB) and of verl 0.9.1 (1.5 GB, on torch for
processors) below .cache/. Each side is a process of its own with the same threads; they take turns, and the ratio of
each pair is taken.

Given are 16 x 512, 64 x 4096 and 32 x 32768 tokens of ragged trajectories, once with all tokens sampled and once in
turns, between which tokens are read. All whiten the advantages over the sampled tokens. First all must find the same
numbers at one lambda; where a side does not, as it takes what is read for part of the answer, it says so and its time
still stands beside ours. A call takes numpy arrays and gives them: ours and Tunix's copy to jax, verl's wraps.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import numpy as np

from tests.benchmarks.peers.masked_batches import MASKS, SIZES
from tests.benchmarks.peers.processes import Command, peer_python, take_turns
from tests.benchmarks.peers.turns import WARM_UP

OURS = "ours"
PEERS = {"Tunix": ("tunix", "tunix_gae"), "verl": ("verl", "verl_gae")}
TOLERANCE = 1e-3  # absolute, of whitened advantages: the sides divide by slightly different deviations


def apart(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> float:
    """The largest difference of an advantage or a target."""
    return max(float(np.abs(np.array(mine) - np.array(theirs[name])).max()) for name, mine in ours.items())


def report(answers: dict[str, list[dict[str, Any]]]) -> None:
    for name in (f"{size}, {mask}" for size in SIZES for mask in MASKS):
        times = {side: np.array([turn["seconds"][name] for turn in turns[WARM_UP:]]) for side, turns in answers.items()}
        print(f"{name}: ours {1e3 * np.median(times[OURS]):.3g} ms")
        for side in (each for each in answers if each != OURS):
            distance = apart(answers[OURS][0]["checks"][name], answers[side][0]["checks"][name])
            verdict = "finds the same" if distance <= TOLERANCE else f"finds OTHER numbers, by up to {distance:.2g}"
            low, median, high = np.percentile(times[side] / times[OURS], [25, 50, 75])
            milliseconds = 1e3 * np.median(times[side])
            print(
                f"  {side} {verdict}: {milliseconds:.3g} ms, {median:.3g} times ours "
                f"(quartiles {low:.3g} to {high:.3g})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", nargs="+", choices=tuple(PEERS), default=list(PEERS))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="processors that each side may use")
    arguments = parser.parse_args()
    sides: dict[str, Command] = {OURS: (sys.executable, "tars_gae", [])}
    sides |= {side: (peer_python(PEERS[side][0]), PEERS[side][1], []) for side in arguments.sides}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    report(take_turns("gae_batches", sides, arguments.pairs))


if __name__ == "__main__":
    main()
