"""Addresses are opened and left again where an environment is a browser, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import Action, ParseError, Response, Type, parse_response
from tars_jax.agent.actions import Click, Navigate, NavigateBack, Point
from tars_jax.environment import Observation, Task, Transition
from tars_jax.envs.gui import PAGE_ACTIONS
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.envs.website import WebsiteEnvironment
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager

NAME = "tars_jax.envs.website:WebsiteEnvironment"


@pytest.mark.parametrize("call", ["navigate(content='https://example.com')", "navigate_back()"])
def test_only_a_browser_takes_addresses(call: str) -> None:
    refused = parse_response(f"Action: {call}", space=PAGE_ACTIONS)
    assert isinstance(refused, ParseError) and f"; got '{call.partition('(')[0]}'" in refused.message
    assert isinstance(parse_response(f"Action: {call}", space=WebsiteEnvironment.action_space), Response)


def site(folder: Path) -> Path:
    (folder / "index.html").write_text(
        "<body style='margin:0;background:#fff'><a href='a.html' style='display:block;height:60px'>a</a>"
        "<input id='name' onchange=\"localStorage.name = this.value\"></body>"
    )
    (folder / "a.html").write_text("<body style='background:#080'>here</body>")
    (folder / "b.html").write_text("<body style='background:#008'>there</body>")
    return folder


def play(folder: Path, episodes: Sequence[Sequence[Action]], **options: Any) -> list[list[Observation | Transition]]:
    """What is seen in one episode after another, of one environment, whose pages are kept."""

    async def played() -> list[list[Observation | Transition]]:
        settings = BrowserConfig(width=120, height=80, browsers=1, pages_per_browser=2)
        async with BrowserManager(settings) as manager:
            spec = load_environment(NAME, {"folder": str(folder), **options})
            environment = spec.checked(page_resources(manager, settings, 1))
            found: list[list[Observation | Transition]] = []
            for seed, actions in enumerate(episodes):
                found.append([await environment.reset(Task("t", NAME, seed, {}, 9))])
                found[-1] += [await environment.step([action]) for action in actions]
            await environment.close()
            return found

    return asyncio.run(played())


def place(seen: Observation | Transition) -> str:
    observation = seen.observation if isinstance(seen, Transition) else seen
    return str(observation.info["state"]["url"]).rpartition("/")[2]


@pytest.mark.browser
def test_a_browser_opens_addresses_and_goes_back(tmp_path: Path) -> None:
    ways: list[list[Action]] = [
        [Navigate("b.html"), NavigateBack(), NavigateBack(), Navigate("c.html"), Navigate("https://example.com/")],
        [Navigate("b.html"), NavigateBack(), Click(Point(100, 900)), Type("me\n")],
        [NavigateBack(), Click(Point(100, 200))],
    ]
    first, second, third = play(site(tmp_path), ways, success="location.pathname == '/a.html' && !localStorage.name")
    assert [place(seen) for seen in first] == ["index.html", "b.html", *["index.html"] * 4]
    said = [seen.observation.text for seen in first[1:] if isinstance(seen, Transition)]
    assert said[:2] == ["", ""] and said[2] == "navigate_back: there is no page to go back to"
    assert said[3] == "navigate: there is no page 'c.html'" and "example.com" in said[4]
    assert [place(seen) for seen in second[1:3]] == ["b.html", "index.html"]
    opened, clicked = first[1], third[2]
    assert isinstance(opened, Transition) and isinstance(clicked, Transition)
    assert opened.observation.pixels is not None and tuple(opened.observation.pixels[-1, -1]) == (0, 0, 0x88)
    assert place(clicked) == "a.html" and clicked.success and clicked.terminated and clicked.reward == 1
    assert [place(seen) for seen in third] == ["index.html", "index.html", "a.html"]  # nothing of earlier episodes


def test_a_folder_without_a_page_is_refused(tmp_path: Path) -> None:
    made = load_environment(NAME, {"folder": str(tmp_path)})
    with pytest.raises(InputError, match="folder of a website must hold index.html; got"):
        made.make(EnvironmentResources())
