"""Our PPO update against Tunix's: tokens/s of the whole update of actor and critic, and the memory that it takes.

    PYTHONPATH=. python tests/benchmarks/update_tokens.py [--batches equal ragged gae] [--pairs=7] [--threads=2]
                                                          [--peer_python=FILE]

The first call makes the environment of google-tunix 0.1.7 (peers/tunix.txt, 1.6 GB) below .cache/; the same jax is in
both. Each side is a process of its own with the same threads; they take turns, and the ratio of each pair is taken, so
that a machine that others use too slows both. Printed are medians and quartiles, of time on the wall and of processor
time.

Both compute one iteration of PPO on the same episodes with the same weights (peers/setting.py): old log-probabilities
and values of the episodes, GAE, then one AdamW step of the actor on the clipped loss and one of the critic on the
clipped value loss, in float32 without remat. "update" is the two steps alone, "iteration" is all of it. The first turn
of both must agree on log-probabilities, values, value loss and the norm of the policy's gradient. Tokens are real ones,
read and sampled; padding counts for nobody.

Ours (peers/tars_update.py) packs whole episodes into rows as long as the longest, and computes the vocabulary only
where a token was sampled. Tunix (peers/tunix_update.py) pads prompts on the left and the rest on the right, here only
to the longest of the batch and not to the budget of a config, and computes the vocabulary everywhere after the prompt.
It runs with the batch whole and in four micro-batches, and the faster of the two counts. Its own packing
(`max_seq_token_per_tpu`) is for splash attention on TPU: without that kernel, tokens would see all that is packed
beside and after them (log-probabilities were off by 2.7); and it cuts episodes off where the mask has holes, as that of
several turns has.

"gae" is the advantages alone, 64 rows of 4096: ours with two lambdas, theirs with one.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.peers.processes import Command, peer_python, take_turns
from tests.benchmarks.peers.turns import WARM_UP

TOLERANCE = 2e-3  # relative: advantages are divided by slightly different deviations
OURS, WHOLE, QUARTERS = "ours", "Tunix", "Tunix, 4 micro-batches"


def measure(batch: str, pairs: int, python: Path) -> dict[str, list[dict[str, Any]]]:
    """The answers of each side, turn by turn; warm-up first."""
    sides: dict[str, Command] = {
        OURS: (sys.executable, "tars_update", [batch]),
        WHOLE: (python, "tunix_update", [batch]),
    }
    if batch != "gae":
        sides[QUARTERS] = (python, "tunix_update", [batch, "--micro_batches=4"])
    return take_turns(batch, sides, pairs)


def agreement(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """One line for each number that both must find; raises RuntimeError where they differ or are not finite."""
    for name, mine in ours.items():
        if not (np.isfinite(mine) and abs(mine - theirs[name]) <= TOLERANCE * abs(mine)):
            raise RuntimeError(f"{name}: ours {mine}, Tunix {theirs[name]}: the two do not compute the same")
    return ", ".join(f"{name} {mine:.6g} and {theirs[name]:.6g}" for name, mine in ours.items())


def seconds(answers: list[dict[str, Any]], parts: tuple[str, ...]) -> np.ndarray:
    """[turns after the warm-up, 2]: on the wall, of the processor."""
    return np.array([sum(np.array(answer[part]) for part in parts) for answer in answers[WARM_UP:]])


def report(batch: str, answers: dict[str, list[dict[str, Any]]]) -> None:
    """The table of one batch."""
    first = {side: turns[0] for side, turns in answers.items()}
    tokens = first[OURS]["tokens"]
    if any(each["tokens"] != tokens for each in first.values()):
        raise RuntimeError(f"{batch}: the sides count different numbers of tokens")
    print(f"\n{batch}: {tokens} tokens")
    print(f"  ours and Tunix find {agreement(first[OURS]['checks'], first[WHOLE]['checks'])}")
    for side, turns in answers.items():
        peak = max(turn["peak_mb"] for turn in turns[WARM_UP:])
        loaded = turns[0]["loaded_mb"]
        print(
            f"  {side}: {tokens / first[side]['computed']:.0%} of what it computes is real; peak memory {peak:.0f} MB, "
            f"{peak - loaded:.0f} above what it had loaded"
        )
    measures: dict[str, tuple[str, ...]] = {"update": ("update",), "iteration": ("prepare", "update")}
    if batch == "gae":
        measures = {"advantages": ("update",)}
    for name, parts in measures.items():
        times = {side: seconds(turns, parts) for side, turns in answers.items()}
        for column, kind in enumerate(("wall", "processor")):
            rates = {side: tokens / np.median(each[:, column]) for side, each in times.items()}
            best = max((side for side in times if side != OURS), key=rates.__getitem__)
            low, median, high = np.percentile(times[best][:, column] / times[OURS][:, column], [25, 50, 75])
            print(
                f"  {name}, tokens/s of {kind} time: "
                + ", ".join(f"{side} {rate:.0f}" for side, rate in rates.items())
                + f"; ratio {median:.2f} (quartiles {low:.2f} to {high:.2f})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", nargs="+", choices=("equal", "ragged", "gae"), default=["equal", "ragged", "gae"])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2, help="processors that each side may use")
    parser.add_argument("--peer_python", type=Path, help="of an environment that has Tunix; else one is made")
    arguments = parser.parse_args()
    python = arguments.peer_python or peer_python("tunix")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    for batch in arguments.batches:
        report(batch, measure(batch, arguments.pairs, python))


if __name__ == "__main__":
    main()
