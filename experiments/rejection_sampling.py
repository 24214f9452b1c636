"""Rejection-sampling fine-tuning (RFT): the policy attempts each task several times and imitates its best attempts."""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax import InputError
from tars_jax.data.rejection_sampling import KeepRule, by_task, count_attempts, select_successes
from tars_jax.evaluation import supervised_curves
from tars_jax.pipelines.run_context import RunContext
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.single_stage import end_stage, run_stage
from tars_jax.pipelines.stages import supervise
from tars_jax.pipelines.starting_weights import start_from
from tars_jax.pipelines.task_provider import TaskProvider
from tars_jax.training.run_directory import RunDirectory

PROCESSES = "many"


def run(config: Any, run_directory: RunDirectory) -> None:
    found = run_stage(config, run_directory, sample_and_tune)
    if run_directory.is_main_process:
        title = "Rejection-sampling fine-tuning"
        curves = supervised_curves("tuning", title)
        end_stage(run_directory.path, title, curves, found)


def sample_and_tune(context: RunContext, provider: TaskProvider) -> dict[str, Any]:
    config = context.config.sampling
    assert context.parent is not None  # the rule of model.preset
    context.sync_weights(start_from(context.parent, context.parameters), 0)
    player = context.policy_player()
    attempts = by_task(context.play("attempts", provider.practice(config.tasks), player, config.samples))
    kept = [each for group in attempts for each in select_successes(group, from_section(KeepRule, config))]
    solved = dataclasses.asdict(count_attempts(attempts))
    print(
        f"tasks solved by {', '.join(f'{kind}: {count}' for kind, count in solved.items())}; kept {len(kept)} attempts"
    )
    context.record("attempts", {"kept": len(kept), **solved})
    if not kept:
        raise InputError(f"None of {config.tasks} tasks was solved; more sampling.samples or a better policy may.")
    supervise(
        context,
        "tuning",
        kept,
        context.config.tuning,
        epochs=context.config.tuning.epochs,
        output=context.path / "policy",
    )
    return {"kept": len(kept), "tasks_solved_by": solved}
