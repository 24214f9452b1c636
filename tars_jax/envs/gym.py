"""Games and benchmarks as gymnasium environments: `gymnasium.make("TarsJax/MazePathOfLight-v0")`."""

from __future__ import annotations

import copy
import os
from collections import UserDict
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from tars_jax import InputError
from tars_jax.environment import Observation, Task
from tars_jax.envs.action_space import action_space, space_to_action
from tars_jax.envs.background import background
from tars_jax.envs.browser_game import BrowserGame
from tars_jax.sandbox.address import read_address
from tars_jax.sandbox.browser import BrowserConfig, SandboxFailure
from tars_jax.tasks.library import load_playable

TRAINING_SEEDS = 2**50
SIDE = 96  # pixels of a page, where the game leaves it open
_PAGES = 64  # environments of one size that a process may have open; a further one waits for a page
_LARGEST = 2**53 - 1  # what a page can count up to


def browser_config(width: int, height: int) -> BrowserConfig:
    """The browser that all environments of one size share."""
    return BrowserConfig(width=width, height=height, browsers=1, pages_per_browser=_PAGES)


class GameEnv(gymnasium.Env[np.ndarray, Mapping[str, Any]]):
    """One game, or one task of a benchmark, in a headless browser, synchronous.

    Observation: the screenshot, uint8 [height, width, 3]. Action: a sample of `action_space()`. Reward: in games 1 on
    the step that first succeeds, in benchmarks their own (tasks/README.md). An episode ends when the game is over or
    the agent says `finished`, and is truncated after `max_steps`. Levels are drawn from the environment's generator, so
    `reset(seed=...)` fixes the level, and the same seed and actions give the same screenshots, byte for byte; they are
    training levels, which no evaluation uses (tasks/sampling.py). info: "state" and "verdict" of the game (mappings;
    `Facts`), "instruction", "level_seed", "ignored".

    `reset(options={...})` overrides options of the game for one episode.

    Args:
      game: what `load_playable` takes, as maze_path_of_light, miniwob/click-button or the folder of a game.
      width, height: of the page, in pixels; 96 unless the game has a size of its own.
      level: the difficulty; options: further options of the game.
      level_seed: of every episode, instead of a drawn one.
      max_steps: the step budget; None takes the level's own.
      sandbox: where its pages are, as `config.sandbox` says it: {"address": "http://HOST:PORT", "key_file": FILE}.

    A `SandboxFailure` (the browser died) passes through `step`, and through `reset` after one further attempt. After a
    `step` or a `reset` that fails there is no episode, and `step` raises ResetNeeded; a refused action changes nothing.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - as gymnasium.Env has it

    def __init__(
        self,
        game: str | os.PathLike[str],
        *,
        width: int | None = None,
        height: int | None = None,
        level: int | None = None,
        options: Mapping[str, Any] | None = None,
        level_seed: int | None = None,
        max_steps: int | None = None,
        render_mode: str | None = None,
        sandbox: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = os.fspath(game)
        self._game = load_playable(self._name)
        own_width, own_height = self._game.page_size or (SIDE, SIDE)
        width = _whole("width", own_width if width is None else width, 1)
        height = _whole("height", own_height if height is None else height, 1)
        if self._game.page_size not in (None, (width, height)):
            raise InputError(
                f"width and height of {game} must be {own_width}x{own_height} pixels; got {width}x{height}"
            )
        self._options = {**(options or {}), **({} if level is None else {"level": level})}
        self._game.check_options(self._options)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f"render_mode must be rgb_array or None; got {render_mode!r}")
        self._max_steps = None if max_steps is None else _whole("max_steps", max_steps, 1)
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.action_space = action_space()
        self._browsers = browser_config(width, height), read_address(**(sandbox or {}))
        self._browser_game: BrowserGame | None = None
        self._observation: Observation | None = None
        self._given_seed = None if level_seed is None else _whole("level_seed", level_seed, 0)
        self._level_seed = 0
        self._instruction = ""
        self._steps = 0
        self._budget = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._observation = None  # whatever is refused below, the old episode is over
        drawn = 2 * int(self.np_random.integers(TRAINING_SEEDS))
        self._level_seed = drawn if self._given_seed is None else self._given_seed
        merged = {**self._options, **(options or {})}
        self._game.check_options(merged)
        self._budget = self._max_steps or self._game.steps_for(merged)
        task = Task(f"{self._game.name}-gym-{self._level_seed}", self._name, self._level_seed, merged, self._budget)
        if self._browser_game is None:
            self._browser_game = BrowserGame(background().acquire(*self._browsers))
        try:
            observation = background().run(self._browser_game.reset(task))
        except SandboxFailure:
            observation = background().run(self._browser_game.reset(task))
        self._observation = observation
        self._instruction = self._game.instruction_for(observation.info)
        self._steps = 0
        return _pixels(observation), self._info(observation)

    def step(self, action: Mapping[str, Any]) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._browser_game is None or self._observation is None:
            raise gymnasium.error.ResetNeeded("reset must be called before step")
        typed = space_to_action(action)
        try:
            transition = background().run(self._browser_game.step([typed]))
        except BaseException:
            self._observation = None  # the episode is lost
            raise
        self._observation = transition.observation
        self._steps += 1
        truncated = self._steps >= self._budget and not transition.terminated
        info = {**self._info(transition.observation), "ignored": transition.info["ignored"]}
        return _pixels(transition.observation), transition.reward, transition.terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """The last screenshot if `render_mode` is rgb_array."""
        if self.render_mode is None or self._observation is None:
            return None
        return _pixels(self._observation)

    def close(self) -> None:
        """Closes the page, and the browser if nobody else uses it. May be called again."""
        browser_game, self._browser_game, self._observation = self._browser_game, None, None
        if browser_game is not None:
            try:
                background().run(browser_game.close())
            finally:
                background().release(*self._browsers)

    def _info(self, observation: Observation) -> dict[str, Any]:
        return {
            **facts_of(observation),
            "instruction": self._instruction,
            "level_seed": self._level_seed,
        }


def _pixels(observation: Observation) -> np.ndarray:
    """A copy: whoever gets it may change it."""
    assert observation.pixels is not None  # a page always shows itself
    return observation.pixels.copy()


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= _LARGEST:
        raise InputError(f"{name} must be a whole number from {least} to {_LARGEST}; got {value!r}")
    return int(value)


class Facts(UserDict[str, Any]):
    """A state or verdict as a whole. Vectors of gymnasium take a dictionary apart into arrays, which fails where an
    entry is a number in one environment and null in another."""


def facts_of(observation: Observation) -> dict[str, Any]:
    """A copy of what an observation has for verification: whoever gets it may change it."""
    kept = copy.deepcopy(dict(observation.info))
    return {name: Facts(value) if isinstance(value, dict) else value for name, value in kept.items()}
