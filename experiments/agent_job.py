"""An agent from nothing to reinforcement learning, whatever it is to learn.

1. demonstrations: scripted reference players, their thoughts kept;
2. supervised: the policy from scratch on these;
3. before: the supervised policy on held-out levels;
4. value: the value model on Monte-Carlo returns of the fixed policy; not where advantages come from groups (GRPO);
5. ppo: asynchronous rollouts, multi-turn PPO or GRPO, tasks picked by recent success;
6. after: the same held-out levels.

Every stage goes on where a killed run stopped.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from experiments.job_config import ppo_config
from experiments.lab import Lab
from experiments.stages import collect, evaluate, improve, pretrain, supervise
from experiments.work import Work
from tars_jax.trajectory import Trajectory

STAGES = ("demonstrations", "supervised", "before", "value", "ppo", "after")


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """The same held-out levels, played before and after PPO."""

    before: list[Trajectory]
    after: list[Trajectory]


def train_agent(lab: Lab, work: Work) -> Evaluated:
    """All stages, into the lab's run directory: RUN/supervised, RUN/value and RUN/policy hold the weights."""
    start, value = lab.path / "supervised", lab.path / "value"
    supervise(lab, "supervised", collect(lab, work), lab.config.supervised)
    before = evaluate(lab, work, "before", start)
    if ppo_config(lab.config.ppo).uses_values:
        pretrain(lab, work, start)
    improve(lab, work, start, value)
    return Evaluated(before, evaluate(lab, work, "after", lab.path / "policy"))


def summary(lab: Lab, evaluated: Evaluated) -> dict[str, Any]:
    """What every job's result.json holds."""
    stages = {name: found for name in STAGES if (found := lab.run.finished(name)) is not None}
    valued = ("explained_variance", "simulator_explained_variance") if "value" in stages else ()
    return {
        "score_before": stages["before"]["success"],
        "score_after": stages["after"]["success"],
        "episodes": min(len(evaluated.before), len(evaluated.after)),
        "minutes": sum(stage["seconds"] for stage in stages.values()) / 60,
        "seed": lab.config.seed,
        "training_episodes": stages["ppo"]["consumed"],
        **{name: stages["value"][name] for name in valued},
        "infrastructure": lab.rollouts.infrastructure,
    }
