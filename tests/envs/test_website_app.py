"""Tasks over real sites as episodes: screens and actions go in, success comes from the site's state."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished, Hotkey, Navigate, Type
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.envs.website_app import WebsiteAppEnvironment
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tests.tasks.website_programs import send_signal

needs_trac = [
    pytest.mark.browser,
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
    pytest.mark.skipif(not is_installed(load_website("trac")), reason="trac is missing: ./launch/websites.sh trac"),
]
MILESTONE: dict[str, Any] = {
    "id": "new milestone", "site": "trac", "seed": 3, "instruction": "Make a milestone named Größe 1.",
    "effect": {"changes": [
        {"read": "milestones", "is": {"name": "Größe 1", "description": "", "completed": 0}, "open": ["due"]}]},
    "max_steps": 7,
}  # fmt: skip
QUESTION = {**MILESTONE, "id": "how many", "effect": None, "answer": "3", "start": "/roadmap"}


def environment(*tasks: dict[str, Any], **options: Any) -> WebsiteAppEnvironment:
    return WebsiteAppEnvironment(list(tasks), size=(640, 480), **options)


@pytest.mark.parametrize("mark", [pytest.param(0, marks=needs_trac)])
def test_an_episode_is_judged_by_the_state_and_the_next_begins_anew(mark: int) -> None:
    async def play() -> None:
        played = environment(MILESTONE)
        for _ in range(2):
            seen = await played.reset(Task("x", "website_app", 1, {}, 7))
            assert played.instruction == MILESTONE["instruction"] and seen.pixels is not None
            assert seen.pixels.shape == (480, 640, 3) and "no row is as" in seen.info["state"]["wrong"]
            turn = await played.step([Navigate("http://localhost:8003/")])
            assert "must be one of http://localhost:8002" in turn.observation.text and not turn.terminated
            turn = await played.step([Navigate("/milestone?action=new")])
            assert turn.observation.info["state"]["url"].endswith("/milestone?action=new")
            turn = await played.step([Type("Größe 1")])
            assert not turn.success and not turn.terminated
            turn = await played.step([Hotkey(("enter",))])
            assert turn.success and turn.terminated and turn.reward == 1
        await played.reset(Task("x", "website_app", 1, {}, 7))
        turn = await played.step([Finished("it is done")])
        assert turn.terminated and not turn.success and turn.reward == 0
        await played.close()

    asyncio.run(play())


@pytest.mark.parametrize("mark", [pytest.param(0, marks=needs_trac)])
def test_a_question_takes_the_answer_of_finished_and_a_dead_site_is_no_verdict(mark: int) -> None:
    async def play() -> None:
        spec = load_environment("website_app", {"tasks": [QUESTION], "size": [640, 480]})
        assert spec.default_max_steps({"tasks": [QUESTION]}) == 7
        played = spec.checked(EnvironmentResources())
        task = Task("x", "website_app", 2, {"tasks": [QUESTION], "size": [640, 480]}, 7)
        await played.reset(task)
        assert not (await played.step([Finished("4")])).success
        await played.reset(task)
        turn = await played.step([Finished(" 3. ")])
        assert turn.success and turn.terminated
        await played.close()

        broken = environment(MILESTONE)
        await broken.reset(task)
        session = broken._session
        assert session is not None
        await send_signal(session, "SIGTERM", "wsgi_serve|website_keeper")
        with pytest.raises(Exception, match="website") as failure:
            await broken.step([Navigate("/roadmap")])
        assert failure.type is not EnvironmentFailure and failure.type.__name__ == "SandboxFailure"
        await broken.reset(task)  # another one
        await broken.close()

    asyncio.run(play())


@pytest.mark.full
@pytest.mark.parametrize("mark", [pytest.param(0, marks=needs_trac)])
def test_a_task_about_a_row_that_is_not_there_is_refused(mark: int) -> None:
    async def play() -> None:
        where = {"name": "Sprint 99"}
        done = environment({**MILESTONE, "effect": {"changes": [{"read": "milestones", "where": where, "gone": True}]}})
        try:
            with pytest.raises(InputError, match="where of milestones must find one row of its own; got 0"):
                await done.reset(Task("x", "website_app", 1, {}, 7))
        finally:
            await done.close()

    asyncio.run(play())


def test_options_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for tasks, options, said in (
        ([{**MILESTONE, "site": "tracc"}], {}, "did you mean 'trac'"),
        ([{**MILESTONE, "version": "1.5"}], {}, "must be for trac 1.6; got 1.5"),
        ([{**QUESTION, "effect": {"changes": [], "open": {"users": ["*"]}}}], {}, "a reader of trac must be one of t"),
        ([MILESTONE], {"task": "another"}, "must be the id of one of 1 tasks"),
    ):
        with pytest.raises(InputError, match=said):
            environment(*tasks, **options)
    monkeypatch.setenv("TARS_JAX_WEBSITES", str(tmp_path))
    with pytest.raises(InputError, match=r"websites.sh trac"):
        environment(MILESTONE)
