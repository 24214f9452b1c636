"""Rejection-sampling fine-tuning (RFT): the policy attempts each task several times and imitates its best attempts."""

from __future__ import annotations

import dataclasses
from typing import Any

from experiments.config import at_least, one_of
from experiments.job_config import imitation_rules
from experiments.lab import Lab
from experiments.stage_job import WEIGHTS, rules_of, run_stage
from experiments.stages import supervise
from experiments.starts import start_from
from experiments.work import Work
from tars_jax import InputError
from tars_jax.data.rejection_sampling import PREFERENCES, KeepRule, by_task, count_attempts, keep
from tars_jax.evaluation import supervised_curves
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"
RULES = rules_of() | {
    "model.preset": WEIGHTS,
    "sampling.tasks": at_least(1),
    "sampling.samples": at_least(1),
    "sampling.at_most": at_least(1),
    "sampling.prefer": one_of(*PREFERENCES),
    "tuning.epochs": at_least(1),
    **imitation_rules("tuning"),
}


def run(config: Any, run_directory: RunDirectory) -> None:
    title = "Rejection-sampling fine-tuning"
    run_stage(config, run_directory, title, supervised_curves("tuning", title), sample_and_tune)


def sample_and_tune(lab: Lab, work: Work) -> dict[str, Any]:
    config = lab.config.sampling
    assert lab.parent is not None  # RULES
    lab.hand_over(start_from(lab.parent, lab.parameters), 0)
    player = lab.policy_player()
    attempts = by_task(lab.play("attempts", work.practice(config.tasks), player, config.samples))
    kept = [each for group in attempts for each in keep(group, KeepRule(config.at_most, config.prefer))]
    solved = dataclasses.asdict(count_attempts(attempts))
    print(
        f"tasks solved by {', '.join(f'{kind}: {count}' for kind, count in solved.items())}; kept {len(kept)} attempts"
    )
    lab.record("attempts", {"kept": len(kept), **solved})
    if not kept:
        raise InputError(f"sampling.samples: none of {config.tasks} tasks was solved; more samples or a better policy.")
    supervise(lab, "tuning", kept, lab.config.tuning, epochs=lab.config.tuning.epochs, output=lab.path / "policy")
    return {"kept": len(kept), "tasks_solved_by": solved}
