"""Episodes of several levels, in a real browser: what follows, what counts, what is earned, and what fails."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import Wait, action_from_call
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation, Task, Transition
from tars_jax.envs import BrowserGame
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.episode_runner import ATTEMPTS, Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, PageError
from tars_jax.sandbox.browser.sessions import PageSession, PageSessions
from tars_jax.tasks.games.catalog import game_names, load_game
from tars_jax.tasks.games.succession import COUNTS, FOLLOWS
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import Outcome, Trajectory

pytestmark = pytest.mark.browser
WRITER = PromptWriter(load_tokenizer(), image_tokens=36)


class Table:
    """A browser in a loop of its own, and the game that is played in it."""

    def __init__(self, runner: asyncio.Runner, manager: BrowserManager) -> None:
        self.run, self.game = runner.run, BrowserGame(manager)

    def reset(self, name: str, level: int = 1, seed: int = 3, **options: Any) -> Observation:
        given = {"level": level, "next_levels": True, **options}
        return self.run(self.game.reset(Task("t", name, seed, given, 100)))

    def step(self, name: str, shown: Observation, *after: Any) -> Transition:
        move = load_game(name).reference(shown.info["state"], random.Random(0), 1.0)
        return self.run(self.game.step([action_from_call(move.function, move.parameters), *after]))

    def play(self, name: str, steps: int, **options: Any) -> list[Transition]:
        """What the reference player's first steps lead to."""
        shown, played = self.reset(name, **options), []
        for _ in range(steps):
            played.append(self.step(name, shown))
            shown = played[-1].observation
        return played


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with asyncio.Runner() as runner:
        manager = BrowserManager(BrowserConfig(browsers=1))
        runner.run(manager.start())
        yield Table(runner, manager)
        runner.run(manager.close())


def test_the_next_level_follows_and_levels_count(table: Table) -> None:
    played = table.play("maze_path_of_light", 12)
    levels = [each.observation.info["verdict"]["level"] for each in played]
    solved = [each.observation.info["verdict"]["score"] for each in played]
    assert solved == [level - 1 for level in levels] and solved[-1] >= 2
    assert not any(each.terminated for each in played)
    assert [each.success for each in played] == [count > 0 for count in solved]
    new = next(each for each in played if each.success)
    state = new.observation.info["state"]
    assert (state["level"], state["moves"]) == (2, 0)  # the policy sees the next level at once
    assert table.game.instruction == f"{load_game('maze_path_of_light').instruction} {FOLLOWS}"


def test_rewards_are_of_the_first_level_or_of_each(table: Table) -> None:
    for each_level in (False, True):
        played = table.play("maze_path_of_light", 12, level_rewards=each_level)
        solved = played[-1].observation.info["verdict"]["solved"]
        assert solved >= 2 and sum(each.reward for each in played) == (solved if each_level else 1)


def test_points_are_those_of_all_levels(table: Table) -> None:
    shown, behind = table.reset("gem_11"), 0
    for _ in range(30):
        transition = table.step("gem_11", shown)
        verdict, state = transition.observation.info["verdict"], transition.observation.info["state"]
        if verdict["level"] > shown.info["verdict"]["level"]:
            assert state["score"] == 0
            behind = verdict["score"]
        assert verdict["score"] == behind + state["score"] >= shown.info["verdict"]["score"]
        shown = transition.observation
    assert behind > 0


def test_2048_is_one_board_without_an_end(table: Table) -> None:
    played = table.play("game_2048", 40, level_rewards=True)
    state, verdict = (played[-1].observation.info[name] for name in ("state", "verdict"))
    assert state["largest"] >= 32 and state["moves"] == 40 and not played[-1].terminated
    assert verdict["score"] == state["score"] and 2 ** (3 + verdict["solved"]) == state["largest"]
    assert sum(each.reward for each in played) == verdict["solved"]
    assert "ever larger" in table.game.instruction


def test_a_turn_ends_where_its_level_does(table: Table) -> None:
    shown = table.reset("maze_path_of_light")
    while not (transition := table.step("maze_path_of_light", shown, Wait())).success:
        assert transition.info["executed"] == 2
        shown = transition.observation
    assert transition.info["executed"] == 1


def test_the_same_actions_give_the_same_pictures(table: Table) -> None:
    first, again = ([each.observation.screenshot for each in table.play("infinity_loop", 14)] for _ in range(2))
    assert first == again and len(set(first)) > 10


def test_a_lost_level_ends_the_episode(table: Table) -> None:
    shown = table.reset("snake_solver", level=2)
    rng = random.Random(1)
    for _ in range(100):
        key = rng.choice(shown.info["state"]["legal"] or ["up"])
        transition = table.run(table.game.step([action_from_call("hotkey", {"key": key})]))
        shown = transition.observation
        if transition.terminated:
            break
    verdict = shown.info["verdict"]
    assert verdict["done"] and verdict["lives"] == 0 and verdict["score"] == verdict["solved"]


LAST: dict[str, Any] = {
    "level": 10**6,
    "size": 6,
    "distance": [1, 1],
    "next_levels": True,
}  # what follows it is no level


def test_a_next_level_that_does_not_load_is_a_failure(table: Table) -> None:
    shown = table.reset("maze_path_of_light", **LAST)
    with pytest.raises(PageError, match=r"maze_path_of_light cannot start with .*option level takes .*1000001"):
        table.step("maze_path_of_light", shown)
    with pytest.raises(InputError, match="reset must be called"):
        table.run(table.game.step([Wait()]))


def test_such_an_episode_is_masked_and_never_a_zero(tmp_path: Path) -> None:
    bad = sample_task("maze_path_of_light", "eval", 0, 0, LAST, 4)
    good = dataclasses.replace(bad, id="good", options={**LAST, "level": 1})
    with Rollouts(BrowserConfig(browsers=1), WRITER, AgentConfig(), workers=1) as rollouts:
        played: list[Trajectory] = []
        (kept,) = rollouts.play(
            [bad, good], reference_player(WRITER, "text", 1.0), tmp_path, lambda _, episode: played.append(episode)
        )
    lost = next(episode for episode in played if episode is not kept)
    assert lost.outcome is Outcome.FAILED and not lost.outcome.carries_reward
    assert [reason.partition(":")[0] for reason in lost.metadata["infrastructure_failures"]] == ["page"] * ATTEMPTS
    assert kept.outcome is Outcome.TRUNCATED and kept.succeeded
    assert kept.metadata["final"]["verdict"]["score"] == len(kept.steps) == 4  # a level with each step


def test_a_page_that_is_brought_back_stands_in_the_same_level() -> None:
    """A session whose page dies after a solved level plays the rest of the episode as if nothing had been."""
    task = sample_task("maze_path_of_light", "eval", 0, 0, {"distance": [1, 1], "next_levels": True}, 6)

    async def play(dies_after: int) -> list[tuple[int, bytes]]:
        seen = []
        async with BrowserManager(BrowserConfig(browsers=1)) as manager, PageSessions(manager) as sessions:
            game = BrowserGame(sessions)
            shown = await game.reset(task)
            for step in range(5):
                if step == dies_after:
                    assert isinstance(game.page, PageSession)
                    (await game.page.page()).fail("renderer", "for the test")
                move = load_game(task.environment).reference(shown.info["state"], random.Random(0), 1.0)
                shown = (await game.step([action_from_call(move.function, move.parameters)])).observation
                seen.append((shown.info["verdict"]["score"], shown.screenshot))
            await game.close()
        return seen

    whole = asyncio.run(play(dies_after=9))
    assert [score for score, _ in whole] == [1, 2, 3, 4, 5]
    assert asyncio.run(play(dies_after=3)) == whole


def test_the_table_names_every_game() -> None:
    """And the suite's document has the same one."""
    assert tuple(sorted(COUNTS)) == game_names()
    document = (Path(__file__).parents[2] / "docs" / "games.md").read_text()
    rows = [line.split("|")[1:3] for line in document.splitlines() if line.startswith("| `")]
    assert {name.strip(" `"): words.strip() for name, words in rows} == {
        name: counts.words for name, counts in COUNTS.items()
    }
    for name, counts in COUNTS.items():
        assert counts.words and counts.unit in ("levels", "points")
        load_game(name).check_options(counts.endless)
    with pytest.raises(InputError, match="option next_levels"):
        load_game("energy").check_options({"next_levels": 1})
