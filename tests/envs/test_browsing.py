"""Questions over an encyclopedia in Chromium: the reference player answers by clicks and the search, from screens that
are byte-equal by seed."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.agent import Response, action_from_call, parse_response
from tars_jax.agent.actions import Finished, ToolCall
from tars_jax.environment import Task, Verification
from tars_jax.envs.browsing import BrowsingEnvironment
from tars_jax.envs.browsing_players import random_move
from tars_jax.envs.examples.small_encyclopedia import SmallEncyclopedia
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager

DUMP = "<mediawiki>{}</mediawiki>"
PAGE = "<page><title>{}</title><ns>0</ns><revision><text>{}</text></revision></page>"


def questions(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    filler = "\n".join(f"Line {number} of many." for number in range(40))
    pages = {
        "Harbor": f"A harbor.\n{filler}\nSee [[Tall ship]].",
        "Tall ship": "A ship with nine masts.",
        "Ship": "Floats.",
    }
    (folder / "dump.xml").write_text(DUMP.format("".join(PAGE.format(*each) for each in pages.items())))
    asked = {
        "id": "q", "text": "How many masts?", "answers": ["nine"], "source": str(folder / "dump.xml"),
        "plan": ["Harbor", "Tall ship"], **changes,
    }  # fmt: skip
    return [asked]


async def played(options: dict[str, Any], episodes: int = 1) -> list[list[Any]]:
    settings = BrowserConfig(width=320, height=240, browsers=1, pages_per_browser=2)
    async with BrowserManager(settings) as manager:
        spec = load_environment("browsing", options)
        environment = spec.checked(page_resources(manager, settings, 1))
        found: list[list[Any]] = []
        for _ in range(episodes):
            rng = random.Random(0)
            seen: list[Any] = []
            observation = await environment.reset(Task("t", "browsing", 7, options, 30))
            for _ in range(20):
                move = BrowsingEnvironment.reference_player(observation.info["state"], rng)
                written = ", ".join(f"{name}={value!r}" for name, value in move.parameters.items())
                action = read(f"{move.function}({written})")
                seen.append((observation.screenshot, move.function))
                if isinstance(action, Finished):
                    seen.append(action.content)
                    break
                observation = (await environment.step([action])).observation
            found.append(seen)
        await environment.close()
        return found


def read(call: str) -> Any:
    parsed = parse_response(f"Action: {call}", space=BrowsingEnvironment.action_space)
    assert isinstance(parsed, Response), parsed
    return parsed.actions[0]


@pytest.mark.browser
def test_the_reference_player_answers_and_screens_are_equal(tmp_path: Path) -> None:
    options = {"questions": questions(tmp_path), "size": [320, 240]}
    first, again = asyncio.run(played(options, 2))
    assert first[-1] == "nine" and first == again
    assert {"click", "type"} <= {kind for _, kind in first[:-1]}
    verification = load_environment("browsing", options).verification(Task("t", "browsing", 7, options, 30))
    assert (verification.by, verification.reference) == ("judge", "nine ||")


def test_questions_have_to_be_given() -> None:
    spec = load_environment("browsing", {})
    for asked in (
        lambda: spec.verification(Task("t", "browsing", 7, {}, 30)),
        lambda: spec.make(EnvironmentResources()),
    ):
        with pytest.raises(InputError, match="option questions must be a file of questions, such as .*; got ''"):
            asked()


@pytest.mark.browser
def test_small_pages_are_answered_in_two_steps() -> None:
    """What a nano policy learns from (configs/browsing_small.py): the color stands on the animal's page alone."""

    async def play() -> list[Any]:
        settings = BrowserConfig(width=224, height=160, browsers=1, pages_per_browser=2)
        async with BrowserManager(settings) as manager:
            environment = SmallEncyclopedia(page_resources(manager, settings, 1))
            found: list[Any] = []
            for seed in range(4):
                task = Task("t", "small", seed, {}, 4)
                observation = await environment.reset(task)
                assert observation.pixels is not None and observation.pixels.shape == (160, 224, 3)
                move = environment.reference_player(observation.info["state"], random.Random(0))
                x, y = move.parameters["point"]
                assert move.thought == environment.instruction[:-1] and 0 < x < 1000 and 200 < y < 1000
                turn = await environment.step([read(f"click(point='<point>{x} {y}</point>')")])
                move = environment.reference_player(turn.observation.info["state"], random.Random(0))
                said = Verification("judge", move.parameters["content"] + " ||")
                assert environment.verification(task) == said and not turn.terminated
                found.append((environment.instruction, said.reference))
            await environment.close()
            return found

    assert len(set(asyncio.run(play()))) > 1


@pytest.mark.browser
def test_tools_read_the_same_encyclopedia(tmp_path: Path) -> None:
    async def said() -> list[str]:
        options = {"questions": questions(tmp_path), "tools": True}
        async with BrowserManager(BrowserConfig(width=320, height=240, browsers=1, pages_per_browser=1)) as manager:
            environment = BrowsingEnvironment(page_resources(manager, BrowserConfig(), 1), **options)  # type: ignore[arg-type]
            await environment.reset(Task("t", "browsing", 0, options, 9))
            calls = [ToolCall("Search", {"query": "masts"}), ToolCall("LinkReader", {"url": "/wiki/Tall%20ship"})]
            calls.append(ToolCall("LinkReader", {"url": "/wiki/Nowhere"}))
            texts = [(await environment.step([call])).observation.text for call in calls]
            await environment.close()
            return texts

    search, page, missing = asyncio.run(said())
    assert search.startswith("1 results\n/wiki/Tall%20ship Tall ship: ") and "nine masts" in page
    assert "there is no page" in missing


def test_chance_acts_on_what_is_there_and_ends() -> None:
    space = BrowsingEnvironment.action_space
    rng = random.Random(0)
    state = {"said": ["Harbor"], "top": 0, "view": [320, 240], "links": [["/wiki/a", [20, 60]], ["/wiki/b", [20, 900]]]}
    moves = [random_move({**state, "box": [9, 9], "typed": None}, rng) for _ in range(200)]
    kinds = {move.function for move in moves}
    assert kinds == {"finished", "click", "scroll"}
    assert {move.parameters["content"] for move in moves if move.function == "finished"} == {"Harbor"}
    clicked = {move.parameters["point"] for move in moves if move.function == "click"}
    assert clicked == {(62, 250), (28, 38)}  # the link in view, the search box
    scrolled = {**state, "top": 900, "box": [9, -891], "typed": None, "links": []}
    assert {random_move(scrolled, rng).function for _ in range(50)} == {"finished", "scroll", "hotkey"}
    bare = {"said": [], "top": 0, "view": [320, 240], "links": [], "box": None, "typed": None}
    for _ in range(50):
        move = random_move(bare, rng)
        assert action_from_call(move.function, move.parameters, space=space)


@pytest.mark.browser
def test_players_of_a_file_of_questions(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in questions(tmp_path)))
    flags = [f"--config.questions={file}", "--config.reference_episodes=1", "--config.random_episodes=1"]
    assert main(["play_questions", *flags, "--config.max_steps=12", f"--config.run={tmp_path / 'run'}"]) == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["reference"]["solved"] == 1 == result["reference"]["episodes"]
    random = result["random"]
    assert (random["solved"], random["episodes"] + random["cannot_say"]) == (0, 1)


def test_bad_questions_are_named(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "q"}\n')
    for options, said in (
        ({"questions": questions(tmp_path), "question": "other"}, "question must be the id of one of 1 questions"),
        ({"questions": str(tmp_path / "none")}, "questions must be a file of questions"),
        ({"questions": str(tmp_path / "q.jsonl")}, "q.jsonl:1: a question must have text"),
    ):
        spec = load_environment("browsing", options)
        with pytest.raises(InputError, match=said):
            spec.verification(Task("t", "browsing", 0, options, 1))
