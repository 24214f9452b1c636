"""The figures of LMGame-Bench: what it reports of an episode, beside the game's own count.

Source: lmgame-org/GamingAgent. An episode ends where an observation has not changed for so many steps
(`gamingagent/envs/gym_env_adapter.py`, `verify_termination`), and 2048 is shown as 10 log2 of its count
(`eval/configs/game_eval_config.yaml`), run by run: the means that its `eval/lmgame_Bench_Evaluation_Pipeline.ipynb`
tabulates are those of the logarithms of the runs in `eval/perf/model_perf_rank.json`, where a run without a merge is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax.evaluation.scoring import score_within
from tars_jax.tasks.lmgame.catalog import ROM_GAMES, load_lmgame
from tars_jax.trajectory import Trajectory


def reported_score(trajectory: Trajectory, budget: int) -> float:
    """What the benchmark would report of an episode's first `budget` steps.

    Raises `InputError` for an episode of another collection.
    """
    name = trajectory.task["environment"]
    if name in ROM_GAMES:
        return score_within(trajectory, min(budget, stalled_after(trajectory, ROM_GAMES[name].patience)))
    game = load_lmgame(name)
    return game.reported(score_within(trajectory, min(budget, stalled_after(trajectory, game.patience))))


def stalled_after(trajectory: Trajectory, patience: int) -> int:
    """The steps after which the benchmark would have ended the episode for want of change, or all of them.

    It compares what each step shows with what the step before showed, so the first step has nothing to be like.
    """
    states: list[Mapping[str, Any]] = [step.info["state"] for step in trajectory.steps[1:]]
    states.append(trajectory.metadata["final"]["state"])
    unchanged = 0
    for steps in range(2, len(states) + 1):
        unchanged = unchanged + 1 if states[steps - 1] == states[steps - 2] else 0
        if unchanged >= patience:
            return steps
    return len(trajectory.steps)
