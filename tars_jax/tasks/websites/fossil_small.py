"""A family of tasks small enough for a nano policy: four boxes of one page of Fossil, ticked as asked, and applied.

    train --config.environment=website_app --config.environment_options='{"size": [800, 560], "shown": [160, 112],
      "tasks": "tars_jax.tasks.websites.fossil_small:tasks"}'

How the boxes are at first, and how they are to be, differs from task to task; both are settings in the site's database.
"""

from __future__ import annotations

import functools
import itertools

from tars_jax.tasks.websites.effect import Change, Effect
from tars_jax.tasks.websites.task import WebsiteTask

PAGE = "/setup_timeline"
# Of each box its name in the form, the setting that it is, and a word for it. The page has them in this order.
BOXES = (
    ("tbm", "timeline-block-markup", "block"),
    ("tpt", "timeline-plaintext", "plain"),
    ("ttb", "timeline-truncate-at-blank", "first"),
    ("thnl", "timeline-hard-newlines", "break"),
)
# What else the form sends: a key, the same for every visitor from the site's own machine, and a box that stays ticked.
HIDDEN = {"csrf": "localhost", "utc": "1"}
MAX_STEPS = 6  # four boxes and the button take five at most


@functools.cache
def tasks() -> tuple[WebsiteTask, ...]:
    """All 240: each way in which the boxes may be at first, with every other way in which they are to be."""
    ways = list(itertools.product((False, True), repeat=len(BOXES)))
    return tuple(_task(first, last) for first in ways for last in ways if first != last)


def _task(first: tuple[bool, ...], last: tuple[bool, ...]) -> WebsiteTask:
    on = [word for *_, word in itertools.compress(BOXES, last)]
    boxes = [[name, word, ticked] for (name, _, word), ticked in zip(BOXES, last, strict=True)]
    changes = [
        Change("settings", {"name": key}, is_={"value": str(int(ticked))})
        for (_, key, _), was, ticked in zip(BOXES, first, last, strict=True)
        if was != ticked
    ]
    return WebsiteTask(
        f"boxes-{_digits(first)}-{_digits(last)}",
        "fossil",
        f"Tick only {', '.join(on)}" if on else "Tick none",
        Effect(tuple(changes)),
        seed=1,
        start=PAGE,
        max_steps=MAX_STEPS,
        sent_first=(_sent((True,) * len(BOXES), "0"), _sent(first, "1")),  # a box that was never changed is no row
        about={"by": "family", "form": {"boxes": boxes, "button": ["submit", "apply"], "hidden": HIDDEN}},
    )


def _sent(way: tuple[bool, ...], utc: str) -> tuple[str, dict[str, str]]:
    return PAGE, {**{name: str(int(ticked)) for (name, *_), ticked in zip(BOXES, way, strict=True)}, "utc": utc}


def _digits(way: tuple[bool, ...]) -> str:
    return "".join(str(int(ticked)) for ticked in way)
