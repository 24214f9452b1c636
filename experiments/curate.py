"""Recorded trajectories become a curated data set: RUN/curated, which `demonstrations.datasets` takes, and a page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.curation.augmentation import EndpointParaphraser, Paraphraser, RuleParaphraser
from tars_jax.annotation.curation.config import CurationConfig, Similarity
from tars_jax.annotation.curation.curate import curate, needs_execution
from tars_jax.annotation.curation.executability import ReplayedExecution, executed
from tars_jax.annotation.curation.reviews import read_reviews
from tars_jax.annotation.curation.thoughts import EndpointRefiner, Refiner, RuleRefiner
from tars_jax.data.datasets import read_dataset
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.evaluation.curation_page import render_curation
from tars_jax.files import write_atomic
from tars_jax.judges.endpoint import EndpointModel
from tars_jax.pipelines.command_fields import NEW_FOLDER, is_new_folder
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.sections import browser_config, sandbox_of
from tars_jax.pipelines.serving import read_key
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser.service import browsers
from tars_jax.training.progress import QUIET, Progress
from tars_jax.training.run_directory import RunDirectory, write_json
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import save_trajectory

POSITIONAL = ("datasets",)
PAGE = "report.html"


def run(config: Any, run_directory: RunDirectory) -> None:
    output = Path(config.output) if config.output else run_directory.path / "curated"
    if not is_new_folder(str(output)):
        raise InputError(f"config.output must be {NEW_FOLDER.allowed}; got {str(output)!r}")
    refiner, paraphraser = helpers(config)
    with naming("config.reviews", "reviews"):
        reviews = read_reviews(Path(config.reviews)) if config.reviews else ()
    trajectories = [each for name in config.datasets for each in read_dataset(name, "config.datasets")]
    if not trajectories:
        raise InputError(f"config.datasets must hold trajectories; got {', '.join(config.datasets)}, which hold none")
    known = {each.id for each in trajectories}
    if unknown := list(dict.fromkeys(each.trajectory for each in reviews if each.trajectory not in known)):
        print(f"reviews: {len(unknown)} trajectories of theirs are not here, such as {unknown[0]!r:.80}")
    executions = {} if config.execute == "none" else asyncio.run(executed_again(config, trajectories))
    curated = curate(
        trajectories,
        from_section(CurationConfig, config, similar=Similarity(**config.similar)),
        executions=executions,
        reviews=reviews,
        refiner=refiner,
        paraphraser=paraphraser,
    )
    output.mkdir(parents=True, exist_ok=True)
    progress = Progress("write", len(curated.trajectories), "trajectories", quiet=QUIET)
    for number, trajectory in enumerate(progress.each(curated.trajectories)):
        save_trajectory(output / f"{number:06d}.trajectory", trajectory)
    write_json(run_directory.path / "result.json", curated.to_json())
    of = f"From {', '.join(config.datasets)}."
    write_atomic(run_directory.path / PAGE, render_curation(curated, of).encode(errors="replace"))
    for reason, count in curated.reasons.items():
        print(f"left out: {count:6d}  {reason}")
    print(f"{output}: {len(curated.trajectories)} trajectories of {curated.read} read")
    print(f"report: {run_directory.path / PAGE}")


def helpers(config: Any) -> tuple[Refiner | None, Paraphraser | None]:
    """Who refines thoughts, and who says instructions in other words: the model where there is one."""
    read_key(config.api_key_file)
    model = EndpointModel(
        config.helper, config.model, config.api_key_file, patience=config.answer_seconds, max_tokens=config.max_tokens,
        seed=config.seed,
    )  # fmt: skip
    refiner = {"none": None, "rule": RuleRefiner(), "model": EndpointRefiner(model)}[config.thoughts]
    return refiner, EndpointParaphraser(model) if config.helper else RuleParaphraser()


async def executed_again(config: Any, trajectories: Sequence[Trajectory]) -> dict[str, ReplayedExecution]:
    """Those of a known environment, one after the other, by id."""
    chosen = [each for each in trajectories if needs_execution(each, config.environments)]
    found: dict[str, ReplayedExecution] = {}
    async with contextlib.AsyncExitStack() as stack:
        resources = await _resources(config, chosen, stack)
        progress = Progress("execute", len(chosen), "trajectories", quiet=QUIET)
        for number, trajectory in enumerate(chosen, 1):
            found.setdefault(trajectory.id, await executed(trajectory, resources))
            progress.update(number)
    return found


async def _resources(
    config: Any, trajectories: Sequence[Trajectory], stack: contextlib.AsyncExitStack
) -> EnvironmentResources:
    sandbox = sandbox_of(config)
    if not any(map(_needs_browser, trajectories)):
        return EnvironmentResources(sandbox=sandbox)
    settings = browser_config(config, 1, 1)
    browser = browsers(settings, sandbox)
    stack.push_async_callback(browser.close)
    await browser.start()
    return page_resources(browser, settings, 1, sandbox)


def _needs_browser(trajectory: Trajectory) -> bool:
    try:
        return load_environment(trajectory.task["environment"], trajectory.task.get("options", {})).needs_browser
    except InputError:  # `executed` says so of it
        return False
