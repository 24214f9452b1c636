"""A folder of web pages as an environment: what a policy does in a browser, opening addresses and going back included.

    train --config.environment=tars_jax.envs.website:WebsiteEnvironment \\
        --config.environment_options='{"folder": "shop", "success": "location.pathname == \\"/paid.html\\""}'
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urljoin

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, Navigate, NavigateBack
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.gui import PAGE_ACTIONS, Position, mouse_after, to_events
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox import browser
from tars_jax.sandbox.browser import ActsOnPage, Site

SETTLE_MS = 100  # virtual milliseconds after an action
_STAYS = "new Promise(() => {})"  # until the document goes


@dataclasses.dataclass
class _Episode:
    page: ActsOnPage
    shown: browser.PageObservation
    begun_at: int  # the place in the history behind which nobody goes back
    mouse: Position | None = None


class WebsiteEnvironment:
    """Pages below one folder, in a browser without network. Success is what the task's script says, once it does.

    An address is relative to the page that is shown; where there is no such file, and where there is nothing to go back
    to, the page stays and the next observation says so.

    Args:
      folder: of the files; index: the page that an episode begins with.
      success: a JavaScript expression, evaluated in the page after every action.
      instruction: what to do; empty: the task's.
      size: (width, height) of the page in pixels; None: as the browsers are configured.

    Raises InputError where there is no such page.
    """

    needs_browser = True
    action_space = ActionSpace("browser", (*PAGE_ACTIONS.actions, Navigate.name, NavigateBack.name))

    def __init__(
        self,
        resources: EnvironmentResources,
        folder: str,
        index: str = "index.html",
        success: str = "false",
        instruction: str = "",
        size: Sequence[int] | None = None,
    ) -> None:
        self._site = Site(Path(folder).resolve(), index)
        if self._site.find(self._site.url) is None:
            raise InputError(f"folder of a website must hold {index}; got {folder!r}")
        self.instruction = instruction
        self._size = None if size is None else (size[0], size[1])
        self._opens = resources.pages("a website")
        self._read = f"({{url: location.href, at: navigation.currentEntry.index, success: Boolean({success})}})"
        self._episode: _Episode | None = None

    async def reset(self, task: Task) -> Observation:
        await self.close()
        page = await self._opens.open_page(self._site, size=self._size)
        # A page may have been kept from an earlier episode: nothing of that is left.
        anew = (
            f"(localStorage.clear(), sessionStorage.clear(), location.replace({json.dumps(self._site.url)}), {_STAYS})"
        )
        try:
            shown = await page.start(anew, seed=task.seed, read=self._read)
        except BaseException:
            await page.close()
            raise
        self._episode = _Episode(page, shown, shown.data["at"])
        return _observed(shown)

    async def step(self, actions: Sequence[Action]) -> Transition:
        episode = self._episode
        assert episode is not None  # the guard resets before it steps
        terminated, said = False, ""
        for action in actions:
            if terminated := isinstance(action, Finished | CallUser):
                break
            said = await self._do(episode, action)
            if terminated := episode.shown.data["success"]:
                break
        success = bool(episode.shown.data["success"])
        return Transition(_observed(episode.shown, said), float(success), terminated, success=success)

    async def close(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            await episode.page.close()

    async def _do(self, episode: _Episode, action: Action) -> str:
        """Carries out one action; what is to be said of it."""
        page, now = episode.page, episode.shown.data
        height, width, _ = episode.shown.pixels.shape
        match action:
            case Navigate(address):
                url = urljoin(now["url"], address)
                if self._site.find(url) is None:
                    return f"navigate: there is no page {address[:200]!r}"
                await _soon(page, f"location.assign({json.dumps(url)})")
            case NavigateBack() if now["at"] <= episode.begun_at:
                return "navigate_back: there is no page to go back to"
            case NavigateBack():
                await _soon(page, "history.back()")
        events, own_ms = to_events(action, width, height, episode.mouse)
        episode.shown = await page.act(events, advance_ms=max(SETTLE_MS, own_ms), read=self._read)
        episode.mouse = mouse_after(events, episode.mouse)
        return ""


async def _soon(page: ActsOnPage, statement: str) -> None:
    """Runs a statement once time goes on, so that whoever lets it go on sees the document that follows."""
    await page.evaluate(f"setTimeout(() => {{ {statement} }}, 0), 0")


def _observed(shown: browser.PageObservation, text: str = "") -> Observation:
    return Observation.decoded(shown.png, shown.pixels, text, {"state": dict(shown.data)})
