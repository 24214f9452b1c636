"""Prerequisites: functions on an object are merged with the one that makes it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tars_jax.data.website_synthesis.composition import Hidden, TaskCandidate, dependent_candidate, draw_part
from tars_jax.data.website_synthesis.driver import open_driver
from tars_jax.data.website_synthesis.exploration import (
    Explored,
    kind_of,
    leads_on,
    page_behind_button,
    sends_what_is_written,
)
from tars_jax.data.website_synthesis.functions import SiteFunction, functions_of
from tars_jax.data.website_synthesis.moves import move_to
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.view import name_of
from tars_jax.sandbox.browser import BrowserManager

MOST_LINKS = 4  # of the page that an object's making ends on


async def dependent(
    manager: BrowserManager, site: LiveSite, first: TaskCandidate, known: Sequence[SiteFunction], seed: str,
    hidden: Hidden = (),
) -> list[TaskCandidate]:  # fmt: skip
    """Tasks that make an object and then do something to it.

    Raises what `execute` raises.
    """
    await site.reset()
    async with open_driver(manager, site) as driver:
        for move in first.plan:
            await driver.make(move)
        view = await driver.view()
        explored = [Explored(view, first.plan, ())]
        for button in sends_what_is_written(view)[:1]:
            asked = await page_behind_button(driver, explored[0], button)
            explored += [asked] if asked is not None else []
            view = asked.view if asked is not None else await driver.view()
        kinds = {each.page for each in known if each.category in ("edit", "delete")}
        texts = [move.value for move in first.inputs if move.kind == "fill" and len(move.value) > 2]
        links = [
            each for each in view.controls
            if each.kind == "link" and each.label and each.around == "content" and each.hit is not False
            and leads_on(view.url, each) and (kind_of(each.href) in kinds or any(text in each.label for text in texts))
        ]  # fmt: skip
        for link in links[:MOST_LINKS]:
            await driver.open(link.href)
            explored.append(Explored(await driver.view(), (*first.plan, move_to(view, link)), (name_of(view, link),)))
    made = first.parts[-1].function
    functions, _ = functions_of(explored)
    actions = {each.action for each in known}
    found = []
    for number, function in enumerate(functions):
        is_new = function.action not in actions or function.category == "delete"
        if function.key == made.key or function.category not in ("edit", "delete", "create") or not is_new:
            continue
        for variant in range(1 if function.category == "delete" else 2):
            rng = random.Random(f"{seed}:{number}:{variant}")
            part = draw_part(function, rng, rng.randint(1, 3), hidden)
            if part is not None and (part.inputs or function.category == "delete"):
                found.append(dependent_candidate(first, part, rng))
    return found
