"""Online-Mind2Web's tasks on a website of this machine, in Chromium."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Click, Finished, Navigate, Point, ToolCall, Type, Wait
from tars_jax.environment import Task
from tars_jax.envs.benchmarks.online_mind2web import OnlineMind2WebEnvironment
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks
from tars_jax.tasks.benchmarks.online_mind2web import ONLINE_MIND2WEB
from tests.envs.benchmarks.local_website import browsers, website

SHOP = {
    "/": "<title>Shop</title><body style='margin:0;font-size:40px'><form action=/found>"
    "<input name=q style='font-size:40px;width:400px;height:60px'></form>",
    "/found": "<title>Found</title><body style='margin:0'><p id=q style='font-size:40px'></p>"
    "<script>q.innerText = 'results for ' + new URLSearchParams(location.search).get('q')</script>",
}


def tasks_of(folder: Path, website: str, **changes: Any) -> BenchmarkTasks:
    file = folder / "tasks.json"
    record = {"task_id": "a1", "confirmed_task": "Search the shop for pens.", "website": website, "level": "easy"}
    file.write_text(json.dumps([{**record, **changes}]))
    return BenchmarkTasks(ONLINE_MIND2WEB, file)


@pytest.mark.browser
def test_a_task_is_played_on_its_website(tmp_path: Path) -> None:
    asked: list[str] = []

    async def play(host: str) -> None:
        async with browsers() as resources:
            tasks = tasks_of(tmp_path, f"http://{host}/")
            environment = OnlineMind2WebEnvironment(tasks, hosts=[host], size=(640, 480), resources=resources)
            assert not environment.action_space.functions
            first = await environment.reset(Task("t", "online_mind2web", 0, {}, 6))
            assert environment.instruction == "Search the shop for pens." and first.text == ""
            assert first.pixels is not None and first.pixels.shape == (480, 640, 3)
            await environment.step([Click(Point(100, 60))])
            found = await environment.step([Type("pens 😀\n"), Wait()])
            assert not found.terminated and found.success is None
            said = (await environment.step([Navigate("https://example.org/")])).observation.text
            assert said.startswith("navigate: 'https://example.org/' is none of the sites")
            assert "no such action" in (await environment.step([ToolCall("search", {})])).observation.text
            last = await environment.step([Finished("They have pens.")])
            about = last.observation.info["benchmark"]
            assert last.terminated and about["ended_by"] == "agent"
            assert about["details"]["title"] == "Found" and about["details"]["answer"] == "They have pens."
            assert about["details"]["url"].startswith(f"http://{host}/found?q=pens")
            await environment.close()

    with website(SHOP, asked) as host:
        asyncio.run(play(host))
    assert [path for path in asked if "favicon" not in path] == ["/", "/found?q=pens+%F0%9F%98%80"]


@pytest.mark.browser
def test_a_website_that_does_not_answer_is_seen(tmp_path: Path) -> None:
    async def play(host: str) -> None:
        async with browsers() as resources:
            tasks = tasks_of(tmp_path, f"http://{host}/")
            environment = OnlineMind2WebEnvironment(tasks, hosts=[host], size=(640, 480), resources=resources)
            first = await environment.reset(Task("t", "online_mind2web", 0, {}, 2))
            assert first.pixels is not None
            assert (await environment.step([Wait()])).observation.pixels is not None
            await environment.close()

    with website(SHOP, []) as host:
        pass  # nobody listens there from now on
    asyncio.run(play(host))


HANGING = {
    "/": "<title>Shop</title><body style='margin:0'><a href=/never style='font-size:60px'>never</a>",
    "/broken": "<title>Broken</title><script>document.querySelectorAll = () => { throw 1 }</script>broken"
    "<img src=/never.png><script src=/never.js></script>",
}


@pytest.mark.browser
def test_what_a_host_never_sends_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.sandbox.browser.page.LONGEST_LOAD_S", 1.5)

    async def play(host: str) -> None:
        async with browsers() as resources:
            tasks = tasks_of(tmp_path, f"http://{host}/")
            environment = OnlineMind2WebEnvironment(tasks, hosts=[host], size=(640, 480), resources=resources)
            await environment.reset(Task("t", "online_mind2web", 0, {}, 4))
            page = environment._page
            assert page is not None
            await environment.step([Click(Point(60, 60))])
            assert page.data["title"] == "Shop"
            await environment.step([Navigate("broken")])
            assert page.data["title"] == "Broken"
            assert "broken" in await page.page.evaluate("document.body.innerText")
            await environment.step([Navigate("/")])
            assert page.data["title"] == "Shop"
            await environment.close()

    with website(HANGING, []) as host:
        asyncio.run(play(host))


def test_options_that_it_cannot_have(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, "www.example.org/start")
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "option hosts must name the hosts that pages may reach"),
        ({"hosts": ["example.org"]}, "'https://www.example.org/start' of a1, the first of 1"),
        ({"hosts": ["*.example.org/"]}, r"network\[0\] must be a host"),
        ({"hosts": ["*"], "interface": "sdk"}, "interface of online_mind2web must be gui"),
    ]
    for options, wanted in refused:
        with pytest.raises(InputError, match=wanted):
            OnlineMind2WebEnvironment(tasks, **options)
    for hosts in (["*"], ["*.example.org"], ["www.example.org"]):
        OnlineMind2WebEnvironment(tasks, hosts=hosts)
    local = tasks_of(tmp_path, "http://127.0.0.1:22/")  # a task file from elsewhere names no port of this machine
    with pytest.raises(InputError, match="must have the website of every task"):
        OnlineMind2WebEnvironment(local, hosts=["*"])
