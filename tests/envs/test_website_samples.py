"""The sample tasks are tasks of the declared sites, and their recorded solutions solve them."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Drag, Point, Type
from tars_jax.agent.calls import action_from_call
from tars_jax.agent.grammar_text import format_call
from tars_jax.environment import Task
from tars_jax.envs.website_app import WebsiteAppEnvironment, on_grid, select_tasks, solution_of
from tars_jax.tasks.websites.catalog import OURS, load_website
from tars_jax.tasks.websites.installation import FOLDER_VARIABLE, is_installed
from tars_jax.tasks.websites.samples import FILE
from tars_jax.tasks.websites.task import WebsiteTask, read_website_tasks

TASKS = read_website_tasks(FILE)
IN_CI = ("fossil-title", "trac-milestone")


def test_samples_are_tasks_of_the_declared_sites() -> None:
    assert len(TASKS) >= 10 and len({task.site for task in TASKS}) >= 6
    for task in TASKS:
        site, solution = load_website(task.site), solution_of(task)
        assert task.site in OURS and task.version == site.version
        assert {*task.effect.readers} <= {*site.readers}
        assert 0 < len(solution) <= task.max_steps
        assert len(solution_of(task, "sdk")) <= task.max_steps
        # What is asked for is in the words of the task; how it is done is not.
        assert not any(sign in task.instruction for sign in ("/", "navigate", "http"))


def test_samples_are_those_of_the_sites_that_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=r"one of fossil, .* be installed by ./launch/websites.sh; got neither"):
        select_tasks("")
    (tmp_path / "fossil").mkdir()
    (tmp_path / "fossil/version").write_text("1:2.21-1")
    assert (
        {task.site for task in select_tasks("")}
        == {"fossil"}
        == {task.site for task in select_tasks("", sites=["fossil"])}
    )
    with pytest.raises(InputError, match="sites must be some of fossil, of which there are tasks; got trac"):
        select_tasks("", sites=["trac"])


def test_a_careless_player_waits_and_one_without_a_solution_gives_up() -> None:
    player = WebsiteAppEnvironment.reference_player
    state = {"solution": [("type", {"content": "a"}), ("finished", {"content": "b"})]}
    assert player(state, random.Random(0)).function == "type"
    assert player(state, random.Random(0), 0.0).function == "wait"
    assert player({"solution": []}, random.Random(0)).function == "finished"
    broken = WebsiteTask.from_json({**TASKS[0].to_json(), "about": {"solution": ["fly(to='moon')"]}})
    with pytest.raises(InputError, match=r"solution of task .* must be actions or requests; got \"fly"):
        solution_of(broken)


def test_a_recorded_solution_is_shown_in_whole_numbers() -> None:
    """Of 1280x720 pixels a thousandth is 1.3 and .7, so that no point moves by a pixel."""
    drag = Drag(Point(678.607177734375, 0.4), Point(1000.0, 166.55815972222223))
    assert format_call(on_grid(drag)) == (
        "drag(start_point='<point>679 0</point>', end_point='<point>1000 167</point>')"
    )
    assert on_grid(Type("5.5")) == Type("5.5")


@pytest.mark.browser
@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")
@pytest.mark.parametrize(
    ("task", "interface"),
    [
        pytest.param(each, interface, id=f"{each.id}-{interface}", marks=[] if each.id in IN_CI else pytest.mark.full)
        for each in TASKS
        for interface in ("gui", "sdk")
        if solution_of(each, interface)
    ],
)
def test_the_recorded_solution_solves_it(task: WebsiteTask, interface: str) -> None:
    if not is_installed(load_website(task.site)):
        pytest.skip(f"{task.site} is not installed: ./launch/websites.sh {task.site}")

    async def play() -> None:
        environment = WebsiteAppEnvironment(task=task.id, size=(640, 480), interface=interface)
        try:
            seen = await environment.reset(Task("x", "website_app", 1, {}, task.max_steps))
            for _ in range(task.max_steps):
                move = environment.reference_player(seen.info["state"], random.Random(0))
                call = action_from_call(move.function, move.parameters, space=environment.action_space)
                turn = await environment.step([call])
                shown, seen = seen.text, turn.observation
                if turn.terminated:
                    break
            assert turn.success and turn.reward == 1, seen.info["state"]
            assert interface == "gui" or (task.answer or "") in shown, shown
        finally:
            await environment.close()

    asyncio.run(play())
