"""Log-probabilities that the learner computes anew with those recorded while agent frameworks of others played.

    ./launch/harnesses.sh
    PYTHONPATH=. python tests/benchmarks/recorded_harnesses.py [--episodes=50] [--programs openai_agents_pictures ...]

Each program of tars_jax/envs/examples/harness plays so many episodes, two at once, against a policy server of a nano
policy with random weights, in fp32. Of five episodes of openai_agents_pictures one asks by responses, and in one each
turn has to begin with a call of a tool. Printed are, for each program, what was played, the seconds that an episode
took, and how far the learner's log-probabilities are from those recorded, at most and in the median, with experts
chosen anew and with those of the record. It ends with 1 where a difference is 1e-4 or more.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from tars_jax.model.presets import preset
from tests.harness_episodes import (
    FRAMEWORKS,
    TOKENIZER,
    differences,
    play_all,
    policy_server,
    trajectories_of,
)
from tests.training.test_same_log_probs import decided_parameters

CLOSE = 1e-4


def tasks_of(program: str, episodes: int) -> list[dict[str, Any]]:
    kinds: dict[int, dict[str, Any]] = {}
    if program == "openai_agents_pictures":
        kinds = {3: {"api": "responses"}, 4: {"tool_choice": "required"}}
    return [{"seed": seed, **kinds.get(seed % 5, {})} for seed in range(episodes)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--programs", nargs="*", default=list(FRAMEWORKS), choices=list(FRAMEWORKS))
    asked = parser.parse_args()
    model = preset("nano", TOKENIZER.vocabulary)
    parameters = decided_parameters(model)
    worst = 0.0
    with policy_server(model, parameters) as address:
        for program in asked.programs:
            begun = time.perf_counter()
            episodes = play_all(address, program, tasks_of(program, asked.episodes))
            seconds = 2 * (time.perf_counter() - begun) / asked.episodes
            trajectories = trajectories_of(episodes)
            turns = [turn for each in episodes for window in each.windows for turn in window]
            failed = sum(each.status != 0 for each in episodes)
            print(
                f"{program}: {len(episodes)} episodes, {failed} ended with an error, "
                f"{sum(len(each.windows) for each in episodes)} windows, {len(turns)} answers "
                f"({sum(not turn['free'] for turn in turns)} under a constraint), "
                f"{sum(len(turn['images']) for turn in turns)} pictures, "
                f"{max(len(turn['read']) for turn in turns)} tokens read at most, {seconds:.1f} s an episode"
            )
            for experts, found in zip(("anew", "recorded"), differences(model, parameters, trajectories), strict=True):
                print(
                    f"  experts {experts}: {len(found)} tokens, differences at most {found.max():.2g}, "
                    f"median {np.median(found):.2g}",
                    flush=True,
                )
                worst = max(worst, float(found.max()))
    return int(worst >= CLOSE)


if __name__ == "__main__":
    sys.exit(main())
