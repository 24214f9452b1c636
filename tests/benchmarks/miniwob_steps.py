"""A step on the same MiniWoB++ pages in our environment and in browsergym-miniwob: a click, a picture, the reward.

    PYTHONPATH=. python tests/benchmarks/miniwob_steps.py [--tasks click-test enter-text] [--steps 20] [--turns 5]

Each side in its own process, in turns. Ours moves the clock by 100 ms of virtual time; browsergym waits in real time,
and gathers the page's tree, which its agents read, with each observation. The environment of its
pins is made when missing.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from tars_jax.sandbox.browser import find_executable
from tars_jax.tasks.miniwob.catalog import html_folder
from tests.benchmarks.peers.processes import Command, peer_python, take_turns
from tests.benchmarks.peers.turns import WARM_UP


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["click-test", "enter-text"])
    parser.add_argument("--steps", type=int, default=20, help="in a turn")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    theirs = ["--html", str(html_folder()), "--chromium", str(find_executable())]
    print(f"{'task':<16}{'side':<12}{'steps/s':>9}{'ratio':>7}{'ms/step':>9}{'ratio':>7}")
    for task in arguments.tasks:
        given = ["--task", task, "--steps", str(arguments.steps)]
        sides: dict[str, Command] = {
            "browsergym": (peer_python("browsergym"), "browsergym_miniwob", [*given, *theirs]),
            "ours": (sys.executable, "tars_miniwob", given),
        }
        answers = take_turns(f"miniwob-{task}", sides, arguments.turns)
        rates = {}
        for side, turns in answers.items():
            rate = statistics.median(arguments.steps / turn["seconds"] for turn in turns[WARM_UP:])
            cost = statistics.median(turn["processor_ms"] / arguments.steps for turn in turns[WARM_UP:])
            rates[side] = (rate, cost)
            base = rates["browsergym"]
            print(
                f"{task:<16}{side:<12}{rate:>9.1f}{rate / base[0]:>7.1f}{cost:>9.1f}{base[1] / cost:>7.1f}", flush=True
            )


if __name__ == "__main__":
    main()
