"""A game or another task in a browser page, one episode after another: what the agent loop drives.

One step is one round trip to the page per action: the input events go in, virtual time passes until the game has
settled, and the screenshot comes back with the game's state and its verifier's verdict.

Where a task asks for it, the next level begins in the same page once one is solved (`tasks/games/succession.py`); the
verdict is then on the whole episode. What a policy wanted to do after that in the same turn it meant for the old level,
and is not done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished
from tars_jax.agent.grammar_text import format_call
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.gui import PAGE_ACTIONS, Position, acts_on_page, held_after, mouse_after, to_events
from tars_jax.sandbox import browser
from tars_jax.sandbox.browser import ActsOnPage, InputEvent, OpensPages, PageError, Site
from tars_jax.tasks.games.succession import Succession
from tars_jax.tasks.library import Playable, load_playable
from tars_jax.tasks.lmgame.board_text import BoardText

_REFUSED = re.compile(r": RangeError: option \w+ takes ")  # a game's words for a value that no level has
_STACK = "\n    at "
_READ = "({state: game.state(), verdict: window.verify(), begun: game.begun?.() ?? null})"


@dataclasses.dataclass(frozen=True)
class BrowserGameSettings:
    settle_ms: float | None = None  # virtual time after an action; None: what the game asks for


@dataclasses.dataclass
class _Episode:
    """State of the running episode."""

    task: Task  # the level that is played
    observation: Observation
    begun: Any  # how the page names the level
    succession: Succession | None
    board: BoardText | None
    terminated: bool = False
    mouse: Position | None = None
    held: dict[str, InputEvent] = dataclasses.field(default_factory=dict)


class BrowserGame:
    """Plays tasks in one page of a browser.

    The page is kept over episodes. A `SandboxFailure` passes through to the caller, who counts the episode as an
    infrastructure failure and never as a reward; the next `reset` opens a new page.
    """

    def __init__(self, manager: OpensPages, settings: BrowserGameSettings | None = None) -> None:
        self._manager = manager
        self._settings = settings or BrowserGameSettings()
        self._page: ActsOnPage | None = None
        self._game: Playable | None = None
        self._episode: _Episode | None = None

    @property
    def action_space(self) -> ActionSpace:
        return PAGE_ACTIONS

    @property
    def page(self) -> ActsOnPage | None:
        """The game's page; None before the first episode, and after a failure or `close`."""
        return self._page

    @property
    def instruction(self) -> str:
        """Instruction of the running episode; empty before the first."""
        if self._game is None or self._episode is None:
            return ""
        return self._game.instruction_for(self._episode.observation.info)

    async def reset(self, task: Task) -> Observation:
        """Starts the task's episode.

        Raises:
          InputError: the task's game or options do not exist, or the game takes others.
          PageError: the game cannot start: it found no such level, its page raised, or what it shows is no verdict.
          SandboxFailure: the browser failed; reset again.
        """
        game = load_playable(task.environment)
        game.check_options(task.options)
        if self._game is not game:
            await self.close()
        held = self._episode.held if self._episode else {}
        self._episode = None
        if self._page is not None and held:
            with contextlib.suppress(PageError):  # the episode begins in another page
                async with self._whole_or_closed():
                    await self._page.act(list(held.values()), advance_ms=0)
        if self._page is None:
            self._page = await self._manager.open_page(
                Site(game.site_root, game.index, game.mounts), single_canvas=game.single_canvas, size=game.page_size
            )
            self._game = game
        try:
            self._episode = await self._begun(game, self._page, task, game.succession(task))
        except PageError as error:
            if _REFUSED.search(str(error)):  # whoever asked for it needs no stack of ours
                raise InputError(str(error).partition(_STACK)[0]) from None
            raise
        return self._episode.observation

    async def _begun(self, game: Playable, page: ActsOnPage, task: Task, succession: Succession | None) -> _Episode:
        """Raises `PageError` where the game cannot start, or what it shows is no verdict."""
        try:
            async with self._whole_or_closed():
                shown = await page.start(game.start_expression(task), seed=task.seed, read=_READ)
                board = game.board_text(task)
                observation = _observed(shown, succession, board)
        except PageError as error:
            raise PageError(f"task {task.id}: {game.name} cannot start with {task.options}: {error}") from None
        return _Episode(task, observation, shown.data.get("begun"), succession, board)

    async def step(self, actions: Sequence[Action]) -> Transition:
        """Carries out the actions of one turn in order, and stops where the episode ends.

        Raises:
          InputError: there is no episode.
          PageError: the game's page raised, its verdict is none, it began an episode that nobody asked for, or the
            next level did not begin.
          SandboxFailure: the browser failed; the episode is lost, reset again.
        """
        episode = self._episode
        if episode is None or self._page is None or self._game is None:
            raise InputError("reset must be called before step")
        settle_ms = self._game.settle_ms if self._settings.settle_ms is None else self._settings.settle_ms
        reward, executed, ignored = 0.0, 0, []
        for action in actions:
            if episode.terminated:
                break
            executed += 1
            if isinstance(action, Finished | CallUser):
                episode.terminated = True
                break
            if not acts_on_page(action):
                ignored.append(action.name)
                continue
            assert episode.observation.pixels is not None
            height, width, _ = episode.observation.pixels.shape
            events, own_ms = to_events(action, width, height, episode.mouse)
            async with self._whole_or_closed():
                shown = await self._page.act(events, advance_ms=max(settle_ms, own_ms), read=_READ)
                if (begun := shown.data.get("begun")) != episode.begun:
                    raise PageError(f"{self._game.name} began an episode that nobody asked for: {begun}")
                before = episode.observation.info
                if episode.board is not None:
                    episode.board.remember(format_call(action), before, shown.data)
                episode.observation = _observed(shown, episode.succession, episode.board)
            episode.mouse = mouse_after(events, episode.mouse)
            episode.held = held_after(events, episode.held)
            level, goes_on = shown.data["verdict"], False
            if succession := episode.succession:
                if goes_on := succession.is_solved(level):
                    following = succession.next_task(episode.task)
                    episode = await self._begun(self._game, self._page, following, succession.after(level))
                    self._episode = episode
                reward += succession.reward(before["verdict"], episode.observation.info["verdict"])
            else:
                reward += self._game.reward(before["verdict"], level)
            if goes_on:
                break
            episode.terminated = bool(level["done"])
        success = bool(episode.observation.info["verdict"]["success"])
        info = {"executed": executed, "ignored": tuple(ignored)}
        return Transition(episode.observation, reward, episode.terminated, success=success, info=info)

    async def close(self) -> None:
        """Closes the page. May be called at any time, and again; a later `reset` opens a new one."""
        page, self._page, self._game, self._episode = self._page, None, None, None
        if page is not None:
            await page.close()

    @contextlib.asynccontextmanager
    async def _whole_or_closed(self) -> AsyncIterator[None]:
        """A page whose call does not come back whole, or not with what a game shows, is used by nobody again."""
        try:
            yield
        except BaseException:
            await self.close()
            raise


def _observed(shown: browser.PageObservation, succession: Succession | None, board: BoardText | None) -> Observation:
    """Raises `PageError` for what is no verdict: a page may be of anybody's making (data/game_synthesis)."""
    verdict = shown.data.get("verdict")
    if not isinstance(verdict, dict) or not all(type(verdict.get(field)) is bool for field in ("done", "success")):
        raise PageError(f"verify() must give a verdict; got {str(verdict)[:200]}")
    info = {name: shown.data[name] for name in ("state", "verdict")}
    if succession is not None:
        info["verdict"] = succession.verdict(info)
    text = "" if board is None else board.text(info)
    return Observation.decoded(shown.png, shown.pixels, text, info)
