"""The tasks on websites that come with the package: each can be played, and a recorded solution earns its reward."""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict

import pytest

from tars_jax.agent.actions import Action, Finished
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import Response
from tars_jax.environment import Task
from tars_jax.envs.website_app import WebsiteAppEnvironment
from tars_jax.tasks.splits import SPLITS
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tars_jax.tasks.websites.task import SYNTHESIZED, WebsiteTask, read_website_tasks

TASKS = read_website_tasks(SYNTHESIZED)
SITES = sorted({task.site for task in TASKS})
ALL = (pytest.mark.full, pytest.mark.timeout(1800))  # fifty tasks of a site, a session each
SAMPLED = {"fossil": 1, "trac": 1}  # of the tasks, in every run of the tests


def solution(task: WebsiteTask) -> list[Action]:
    found: list[Action] = []
    for each in task.about["solution"]:
        said = parse_response(f"Action: {each}", space=WebsiteAppEnvironment.action_space)
        assert isinstance(said, Response) and len(said.actions) == 1
        found += said.actions
    return found


def test_each_is_a_task_of_a_declared_site_on_one_side_of_the_split() -> None:
    sides = defaultdict(set)
    for task in TASKS:
        site = load_website(task.site)
        assert task.version == site.version and {*task.effect.readers} <= {*site.readers}
        assert task.about["mutants"] > 0 and task.about["ways"] in (1, 2)
        sides[task.site].add(task.split)
        assert 1 <= task.about["steps"] <= 10 and len(solution(task)) <= task.max_steps
    assert all(len(each) == 1 for each in sides.values()) and set.union(*sides.values()) == set(SPLITS)
    counts = Counter(" ".join(task.instruction.lower().split()) for task in TASKS)
    assert len(counts) == len(TASKS), [each for each, count in counts.items() if count > 1]


@pytest.mark.browser
@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")
@pytest.mark.parametrize(
    ("site", "most"),
    [*SAMPLED.items(), *(pytest.param(site, 0, marks=ALL, id=f"{site}-all") for site in SITES)],
)
def test_a_recorded_solution_earns_the_reward_and_doing_nothing_none(site: str, most: int) -> None:
    if not is_installed(load_website(site)):
        pytest.skip(f"{site} is missing: ./launch/websites.sh {site}")
    tasks = [task for task in TASKS if task.site == site]
    tasks = sorted(tasks, key=lambda task: len(task.about["solution"]))[:most] if most else tasks
    assert tasks

    async def play(task: WebsiteTask) -> tuple[float, float]:
        """The rewards for doing nothing and for the solution."""
        played = WebsiteAppEnvironment([task.to_json()])
        try:
            await played.reset(Task("x", "website_app", 1, {}, 1))
            nothing = (await played.step([Finished("")])).reward
            await played.reset(Task("x", "website_app", 1, {}, 1))
            reward = 0.0
            for action in solution(task):
                turn = await played.step([action])
                reward += turn.reward
                if turn.terminated:
                    break
            return nothing, reward
        finally:
            await played.close()

    async def all_of_them() -> dict[str, tuple[float, float]]:
        return {task.id: await play(task) for task in tasks}

    rewards = asyncio.run(all_of_them())
    assert {name: each for name, each in rewards.items() if each != (0.0, 1.0)} == {}
