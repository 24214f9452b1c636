"""Tokens/s of our decode engine against those of transformers' generate and of Tunix's sampler, on processors.

    PYTHONPATH=. python tests/benchmarks/decode_tokens.py [--turns=7] [--threads=2] [--peers transformers tunix]
        [--transformers_python=FILE] [--tunix_python=FILE] [--chunk=16]

The first call makes the peers' environments (peers/transformers.txt, peers/tunix.txt) below .cache/. Each side is a
process of its own with the same threads; they take turns, and the ratio of each turn is taken, so that a machine that
others use too slows all. Printed are medians and quartiles, of time on the wall and of processor time. Threads that
wait for each other in a busy loop count as processor time; with `--threads=1` nobody does.

All have the 4.2 million parameters of peers/setting.py in float32, 8 prompts of 64 tokens at once, and 128 new tokens
for each at temperature 1; nobody stops early. Ours also returns the log-probability of each token, the others do not.
"whole answers" is from prompts to tokens on the host; "decoding alone" is that without an answer of one token, timed in
the same turn. The others look at nothing until the last token; our engine looks at its queue every `--chunk` steps
(EngineConfig has 8). The first turn of all is greedy, and must agree: on each token with its log-probability up to
where two tokens are equally likely, after which texts may differ.

Goals (whole answers): 2 times transformers, 1.5 times Tunix.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.peers.processes import Command, peer_python, take_turns
from tests.benchmarks.peers.setting import Decoding
from tests.benchmarks.peers.turns import WARM_UP

OURS = "ours"
PEERS = ("transformers", "tunix")
TOLERANCE = 1e-3  # of log-probabilities


def agreement(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What both wrote greedily, in a line; raises RuntimeError unless it is what one model writes.

    Each has `written` and `log_probs`, [B, T]. Rows may part where the two tokens are equally likely.
    """
    mine, others = np.array(ours["written"]), np.array(theirs["written"])
    differences = np.abs(np.array(ours["log_probs"]) - np.array(theirs["log_probs"]))
    same = np.cumprod(mine == others, axis=1).astype(bool)
    # The token at which a row parts is compared, too; what follows it has another past.
    compared = np.concatenate([np.ones_like(same[:, :1]), same[:, :-1]], axis=1)
    largest = differences[compared].max()
    if not largest <= TOLERANCE:
        raise RuntimeError(f"log-probabilities differ by up to {largest}: the two do not compute the same")
    return f"{same.sum()} of {same.size} greedy tokens alike, log-probabilities to {largest:.1e}"


def seconds(answers: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """[turns after the warm-up, 2] of each measure: on the wall, of the processor."""
    first, whole = (np.array([answer[part] for answer in answers[WARM_UP:]]) for part in ("first", "whole"))
    return {"whole answers": whole, "decoding alone": whole - first}


def report(answers: dict[str, list[dict[str, Any]]]) -> None:
    given = Decoding()
    tokens = {"whole answers": given.batch * given.answer, "decoding alone": given.batch * (given.answer - 1)}
    for side in answers:
        if side != OURS:
            print(f"ours and {side}: {agreement(answers[OURS][0], answers[side][0])}")
    times = {side: seconds(turns) for side, turns in answers.items()}
    for name, count in tokens.items():
        for column, kind in enumerate(("wall", "processor")):
            rates = {side: count / np.median(each[name][:, column]) for side, each in times.items()}
            print(
                f"{name}, tokens/s of {kind} time: " + ", ".join(f"{side} {rate:.0f}" for side, rate in rates.items())
            )
            for side in answers:
                if side != OURS:
                    ratios = times[side][name][:, column] / times[OURS][name][:, column]
                    low, median, high = np.percentile(ratios, [25, 50, 75])
                    print(f"  {median:.2f} times {side} (quartiles {low:.2f} to {high:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2, help="processors that each side may use")
    parser.add_argument("--chunk", type=int, default=16, help="decode steps of our engine between looks at its queue")
    for peer in PEERS:
        parser.add_argument(f"--{peer}_python", type=Path, help="of an environment that has it; else one is made")
    arguments = parser.parse_args()
    sides: dict[str, Command] = {OURS: (sys.executable, "tars_decode", [f"--chunk={arguments.chunk}"])}
    for peer in arguments.peers:
        python = getattr(arguments, f"{peer}_python") or peer_python(peer)
        sides[peer] = (python, f"{peer}_decode", [])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    report(take_turns("decode", sides, arguments.turns))


if __name__ == "__main__":
    main()
