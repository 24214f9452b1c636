"""Questions over an encyclopedia: the reference player answers by clicks in Chromium, from screens that are byte-equal
by seed, by calls without any browser, and by both."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.agent import Response, action_from_call, parse_response
from tars_jax.agent.actions import Click, Finished, Point, ToolCall
from tars_jax.agent.platform_prompt import platform_prompt
from tars_jax.environment import ActionSpace, Task, Verification
from tars_jax.envs.browsing import CALLS, BrowsingEnvironment
from tars_jax.envs.browsing_players import random_move
from tars_jax.envs.examples.small_encyclopedia import SmallEncyclopedia
from tars_jax.envs.registry import EnvironmentResources, load_environment
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.tasks.browsing import calls
from tars_jax.tasks.browsing.catalog import load_encyclopedia

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


async def played(options: dict[str, Any], seeds: Sequence[int]) -> list[list[Any]]:
    settings = BrowserConfig(width=320, height=240, browsers=1, pages_per_browser=2)
    async with contextlib.AsyncExitStack() as stack:
        spec, resources = load_environment("browsing", options), EnvironmentResources()
        if spec.needs_browser:
            resources = page_resources(await stack.enter_async_context(BrowserManager(settings)), settings, 1)
        environment = spec.checked(resources)
        found: list[list[Any]] = []
        for seed in seeds:
            rng = random.Random(0)
            seen: list[Any] = []
            observation = await environment.reset(Task("t", "browsing", seed, options, 30))
            for _ in range(20):
                move = BrowsingEnvironment.reference_player(observation.info["state"], rng)
                written = ", ".join(f"{name}={value!r}" for name, value in move.parameters.items())
                action = read(f"{move.function}({written})", environment.action_space)
                seen.append((observation.screenshot, move.function))
                if isinstance(action, Finished):
                    seen.append(action.content)
                    break
                observation = (await environment.step([action])).observation
            found.append(seen)
        await environment.close()
        return found


def read(call: str, space: ActionSpace = BrowsingEnvironment.action_space) -> Any:
    parsed = parse_response(f"Action: {call}", space=space)
    assert isinstance(parsed, Response), parsed
    return parsed.actions[0]


@pytest.mark.browser
def test_the_reference_player_answers_and_screens_are_equal(tmp_path: Path) -> None:
    options = {"questions": questions(tmp_path), "size": [320, 240]}
    first, again = asyncio.run(played(options, (7, 7)))
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


@pytest.mark.full
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


def test_the_reference_player_answers_by_calls_without_a_browser(tmp_path: Path) -> None:
    (episode,) = asyncio.run(played({"questions": questions(tmp_path), "interface": "sdk"}, (7,)))
    assert [kind for _, kind in episode[:-1]] == ["LinkReader", "LinkReader", "finished"] and episode[-1] == "nine"
    assert not any(screenshot for screenshot, _ in episode[:-1])
    asked = questions(tmp_path, plan=["Tall ship", "Ship"])  # a page to which none that was seen leads
    (episode,) = asyncio.run(played({"questions": asked, "interface": "sdk"}, (7,)))
    assert [kind for _, kind in episode[:-1]] == ["LinkReader", "Search", "LinkReader", "finished"]


@pytest.mark.browser
def test_the_reference_player_takes_either_where_there_are_both(tmp_path: Path) -> None:
    episodes = asyncio.run(
        played({"questions": questions(tmp_path), "size": [320, 240], "interface": "both"}, range(6))
    )
    assert {episode[-1] for episode in episodes} == {"nine"} and all(shot for each in episodes for shot, _ in each[:-1])
    kinds = [{kind for _, kind in episode[:-1]} for episode in episodes]
    called = ["LinkReader" in each for each in kinds]
    clicked = ["click" in each for each in kinds]
    assert any(called) and any(clicked) and all(map(max, called, clicked))
    assert any(map(min, called, clicked))  # in one episode


def test_calls_read_the_same_encyclopedia(tmp_path: Path) -> None:
    async def said() -> list[str]:
        environment = BrowsingEnvironment(EnvironmentResources(), questions(tmp_path), interface="sdk")
        first = await environment.reset(Task("t", "browsing", 0, {}, 9))
        turns: list[list[Any]] = [
            [ToolCall("Search", {"query": "masts"})],
            [ToolCall("Search", {"query": "ship"})],
            [ToolCall("LinkReader", {"url": "/wiki/Tall%20ship"}), ToolCall("LinkReader", {"url": "ship"})],
            [ToolCall("LinkReader", {"url": "Harbor", "description": "what line 17 says"})],
            [ToolCall("LinkReader", {"url": "/wiki/Nowhere"}), Click(Point(1, 1))],
            [Finished("nine")],
        ]
        found = [(await environment.step(turn)).observation for turn in turns]
        assert first.pixels is None and not any(each.screenshot for each in found)
        await environment.close()
        return [first.text, *(each.text for each in found)]

    home, masts, ships, pages, part, missing, ended = asyncio.run(said())
    assert home == "3 articles. Some of them: Harbor, Tall ship, Ship"
    assert masts == "1 result\n/wiki/Tall%20ship Tall ship (article)"  # and not how many masts
    assert ships.startswith("3 results\n/wiki/Ship Ship (article)\n") and "nine" not in ships
    assert pages == "Tall ship\nA ship with nine masts.\nShip\nFloats."
    assert part == "Harbor (41 further lines)\nLine 17 of many."
    assert missing == "LinkReader: there is no page '/wiki/Nowhere'\nclick: there is no screen"
    assert ended == "finished"


def test_a_link_by_other_words_can_be_read(tmp_path: Path) -> None:
    page = PAGE.format("Port", "Has [[Tall ship|many vessels]], [[Ship]]s and [[Nothing|no thing]].")
    (tmp_path / "port.xml").write_text(
        DUMP.format(page + PAGE.format("Tall ship", "Sails.") + PAGE.format("Ship", "Floats."))
    )
    said = calls.read(load_encyclopedia(str(tmp_path / "port.xml")), "Port")
    assert said.text == "Port\nHas many vessels (/wiki/Tall%20ship), Ships and no thing."
    assert (said.page, said.titles) == ("Port", ("Tall ship", "Ship"))


def test_an_interface_says_what_can_be_done(tmp_path: Path) -> None:
    def space(interface: str) -> ActionSpace:
        def no_page() -> Any:
            return None

        options = {"questions": questions(tmp_path), "interface": interface}
        return load_environment("browsing", options).make(EnvironmentResources(no_page)).action_space

    gui, sdk, both = map(space, ("gui", "sdk", "both"))
    assert not gui.functions and {"click", "type", "navigate", "finished"} <= {*gui.actions}
    assert sdk.actions == ("finished",) and [each.name for each in sdk.functions] == ["Search", "LinkReader"]
    assert (both.actions, both.functions) == (gui.actions, sdk.functions)
    told = {name: platform_prompt("text", each) for name, each in (("gui", gui), ("sdk", sdk), ("both", both))}
    assert [name for name, words in told.items() if "Search(query=" in words] == ["sdk", "both"]
    assert [name for name, words in told.items() if "click(point=" in words] == ["gui", "both"]
    assert "also call functions" in told["both"] and "screenshot" not in told["sdk"]


@pytest.mark.parametrize("interface", ["GUI", "", None, True])
def test_an_interface_is_one_of_three(interface: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"interface must be one of gui, sdk, both; got {interface!r}"):
        load_environment("browsing", {"questions": questions(tmp_path), "interface": interface})


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(InputError, match="an option must be one of questions, question, interface, size; got 'tools'"):
        load_environment("browsing", {"tools": True})


def test_small_pages_are_answered_in_two_calls() -> None:
    async def play(seed: int) -> str:
        environment = SmallEncyclopedia(EnvironmentResources(), interface="sdk")
        task = Task("t", "small", seed, {}, 4)
        first = await environment.reset(task)
        assert first.text == "4 articles. Some of them: Bee, Fox, Owl, Yak"
        move = environment.reference_player(first.info["state"], random.Random(0))
        turn = await environment.step([ToolCall(move.function, move.parameters)])
        move = environment.reference_player(turn.observation.info["state"], random.Random(0))
        assert turn.observation.text.splitlines()[:2] == [environment.instruction[:-1], " ".join([move.thought] * 4)]
        assert f"{move.parameters['content']} ||" == environment.verification(task).reference
        return move.thought

    assert len({asyncio.run(play(seed)) for seed in range(4)}) > 1


def test_chance_calls_what_was_said_and_ends() -> None:
    space = ActionSpace("tools", ("finished",), CALLS)
    rng = random.Random(0)
    state = {"by": "sdk", "named": ["/wiki/Harbor"], "heard": ["Harbor", "nine"], "asked": "How many masts?"}
    moves = [random_move(state, rng) for _ in range(200)]
    assert all(action_from_call(move.function, move.parameters, space=space) for move in moves)
    assert {move.function for move in moves} == {"finished", "LinkReader", "Search"}
    searched = {move.parameters["query"] for move in moves if move.function == "Search"}
    assert {"Harbor", "nine", "masts?", "How many"} <= searched
    bare = {"by": "sdk", "named": [], "heard": [], "asked": "Who?"}
    assert {random_move(bare, rng).function for _ in range(50)} == {"finished", "Search"}


def test_chance_acts_on_what_is_there_and_ends() -> None:
    space = BrowsingEnvironment.action_space
    rng = random.Random(0)
    state = {
        "by": "gui",
        "said": ["Harbor"],
        "top": 0,
        "view": [320, 240],
        "links": [["/wiki/a", [20, 60]], ["/wiki/b", [20, 900]]],
    }
    moves = [random_move({**state, "box": [9, 9], "typed": None}, rng) for _ in range(200)]
    kinds = {move.function for move in moves}
    assert kinds == {"finished", "click", "scroll"}
    assert {move.parameters["content"] for move in moves if move.function == "finished"} == {"Harbor"}
    clicked = {move.parameters["point"] for move in moves if move.function == "click"}
    assert clicked == {(62, 250), (28, 38)}  # the link in view, the search box
    scrolled = {**state, "top": 900, "box": [9, -891], "typed": None, "links": []}
    assert {random_move(scrolled, rng).function for _ in range(50)} == {"finished", "scroll", "hotkey"}
    bare = {"by": "gui", "said": [], "top": 0, "view": [320, 240], "links": [], "box": None, "typed": None}
    for _ in range(50):
        move = random_move(bare, rng)
        assert action_from_call(move.function, move.parameters, space=space)


@pytest.mark.browser
@pytest.mark.parametrize("interface", [pytest.param("gui", marks=pytest.mark.full), "sdk"])
def test_players_of_a_file_of_questions(interface: str, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in questions(tmp_path)))
    flags = [f"--config.questions={file}", "--config.reference_episodes=1", "--config.random_episodes=1"]
    flags.append(f"--config.interface={interface}")
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
