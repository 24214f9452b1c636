"""Browsers of a run that come with the pages that it plays on, and go when nobody asks for these."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.sections import run_browsers
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.sampling import sample_task
from tests.waiting import wait_until

GAMES = ("maze_path_of_light", "infinity_loop")


def browsers(*flags: str) -> BrowserConfig:
    return run_browsers(load_config("quickstart", [f"--config.browser.{flag}" for flag in flags], root=ROOT))


def fewer_than(most: int, count: Callable[[], int]) -> bool:
    return count() < most


@pytest.mark.browser
@pytest.mark.multiprocess
def test_browsers_come_with_the_pages_and_go_when_all_rest(
    tmp_path: Path, descendants: Callable[[int], dict[int, bytes]]
) -> None:
    """Four seats at two games, two pages a browser. When nothing is played, one browser without a page stays; the next
    episodes bring the others back."""
    config = browsers("browsers=1", "max_browsers=4", "pages=4", "idle_browser_seconds=0.5")
    writer = PromptWriter(load_tokenizer(), image_tokens=9)
    player = reference_player(writer, "text", 1.0)
    tasks = [sample_task(GAMES[number % 2], "train", number, 0, {"level": 1}, max_steps=6) for number in range(8)]

    def renderers() -> int:
        return sum(b"--type=renderer" in line for line in descendants(os.getpid()).values())

    with Rollouts(config, writer, AgentConfig(), workers=4) as rollouts:
        for turn in range(2):
            seen: list[tuple[int, int]] = []

            def on_finish(done: int, trajectory: object, seen: list[tuple[int, int]] = seen) -> None:
                seen.append((rollouts.infrastructure["browsers"], renderers()))

            assert len(rollouts.play(tasks, player, tmp_path / str(turn), on_finish)) == 8
            most_browsers, most_renderers = map(max, zip(*seen, strict=True))
            assert 1 < most_browsers <= 4
            wait_until(lambda: rollouts.infrastructure["browsers"] == 1 and not rollouts.infrastructure["pages_open"])
            wait_until(functools.partial(fewer_than, most_renderers, renderers))
        assert rollouts.infrastructure["failures"] == {} and rollouts.infrastructure["retired"] >= 2


@pytest.mark.browser
def test_without_the_option_browsers_and_their_pages_stay(tmp_path: Path) -> None:
    writer = PromptWriter(load_tokenizer(), image_tokens=9)
    tasks = [sample_task(GAMES[0], "train", number, 0, {"level": 1}, max_steps=6) for number in range(2)]
    with Rollouts(browsers("browsers=1", "pages=2"), writer, AgentConfig(), workers=2) as rollouts:
        rollouts.play(tasks, reference_player(writer, "text", 1.0), tmp_path)
        assert rollouts.infrastructure["pages_open"] == 2


@pytest.mark.parametrize(
    ("flags", "places"),
    [
        (("browsers=2", "pages=8"), (2, 0, 8)),
        (("browsers=1", "pages=8", "max_browsers=4"), (1, 4, 4)),
        (("browsers=1", "pages=3", "max_browsers=4"), (1, 4, 2)),
    ],
)
def test_all_that_play_have_places_and_as_many_between_two_episodes(
    flags: tuple[str, ...], places: tuple[int, int, int]
) -> None:
    config = browsers(*flags)
    assert (config.browsers, config.max_browsers, config.pages_per_browser) == places
    assert config.reserve_mb == 0  # an episode that waits for a place would hold up its batch


@pytest.mark.parametrize("flags", [("browsers=3", "max_browsers=2"), ("idle_browser_seconds=0",), ("max_browsers=-1",)])
def test_impossible_numbers_are_named(flags: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"browser\.(max_browsers|idle_browser_seconds) must be"):
        browsers(*flags)
