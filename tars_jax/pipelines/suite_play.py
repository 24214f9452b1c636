"""A benchmark suite, played: tasks by page size."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from tars_jax.environment import Task
from tars_jax.pipelines.contestants import Contestant
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.library import load_playable
from tars_jax.training.progress import Progress
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.folders import mark_evaluation

Tasks = Mapping[str, Sequence[Task]]  # name -> its tasks


def play_suite(
    folder: Path, stage: str, contestant: Contestant, tasks: Tasks, browser: BrowserConfig, pages: int
) -> dict[str, list[Trajectory]]:
    """All episodes by one contestant, page size by page size, into folders of `folder`; those that are there are read.

    `browser`: whose sizes and pages are not asked for; `pages`: episodes at a time.
    """
    sizes: dict[tuple[int, int], list[Task]] = {}
    for name, some in tasks.items():
        own = load_playable(name).page_size
        sizes.setdefault(own or (contestant.screen, contestant.screen), []).extend(some)
    progress = Progress(stage, sum(map(len, sizes.values())), "episodes", compiles=contestant.compiles)
    played: dict[str, list[Trajectory]] = {name: [] for name in tasks}
    earlier = 0
    for (width, height), some in sizes.items():
        workers = min(pages, len(some))
        browsers = min(browser.browsers, workers)
        sized = dataclasses.replace(
            browser, browsers=browsers, pages_per_browser=-(-2 * workers // browsers), width=width, height=height
        )
        into = folder / f"{stage}-{width}x{height}"
        mark_evaluation(into)

        def on_finish(done: int, trajectory: Trajectory, before: int = earlier) -> None:
            if not trajectory.outcome.carries_reward:
                reason = trajectory.cannot_say or trajectory.metadata["infrastructure_failures"][-1]
                print(f"{stage}: episode {trajectory.id} is lost: {reason:.500}", flush=True)
            progress.update(before + done)

        with Rollouts(sized, contestant.writer, contestant.agent, workers=workers) as rollouts:
            for trajectory in rollouts.play(some, contestant.player, into, on_finish):
                played[trajectory.task["environment"]].append(trajectory)
        earlier += len(some)
    return played
