"""Scripted players of questions over an encyclopedia: one who knows the proof, and one who knows nothing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tars_jax.tasks.browsing.pages import article_url
from tars_jax.tasks.games.moves import Move


def reference_move(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """Goes through the pages of the question's proof, by links and the search, and gives the answer."""
    target = state["target"]
    if not target:
        answer = state["answer"] if rng.random() < skill else "unknown"
        return Move("All of the proof has been seen.", "finished", {"content": answer})
    width, height = state["view"]
    path = article_url(target)
    for link, (x, y) in state["links"]:
        if link == path and 0 <= x < width and 40 <= y < height:
            return _click(f"This leads to {target}.", x, y, state)
    if urlsplit(state["url"]).path == "/search" and any(link == path for link, _ in state["links"]):
        point = (500, 500)
        return Move(f"{target} is further down.", "scroll", {"point": point, "direction": "down"})
    if state["typed"] == "":
        return Move(f"I look for {target}.", "type", {"content": f"{target}\n"})
    if state["typed"] is not None:
        return Move("The words in the box go.", "hotkey", {"key": "ctrl a backspace"})
    if state["top"]:
        return Move("The search is at the top.", "hotkey", {"key": "ctrl home"})
    x, y = state["box"]
    return _click("The search box.", x, y, state)


def random_move(state: Mapping[str, Any], rng: random.Random, skill: float = 0.0) -> Move:
    """Follows links, scrolls and searches at random, and answers with something that stands on the page."""
    said = [" ".join(each.split())[:200] for each in state["said"]] or ["unknown"]
    width, height = state["view"]
    seen = [(x, y) for _, (x, y) in state["links"] if 0 <= x < width and 40 <= y < height]
    what = rng.choices(("answer", "link", "scroll", "search"), (1, 5, 2, 2))[0]
    if what == "answer":
        return Move("Why not this?", "finished", {"content": rng.choice(said)})
    if what == "link" and seen:
        x, y = rng.choice(seen)
        return _click("Somewhere.", x, y, state)
    if what == "search" and state["box"]:
        if state["top"]:
            return Move("The search is at the top.", "hotkey", {"key": "ctrl home"})
        if state["typed"] is None:
            x, y = state["box"]
            return _click("The search box.", x, y, state)
        return Move("Something.", "type", {"content": f"{rng.choice(said)}\n"})
    return Move("Further.", "scroll", {"point": (500, 500), "direction": rng.choice(("down", "up"))})


def _click(thought: str, x: float, y: float, state: Mapping[str, Any]) -> Move:
    width, height = state["view"]
    return Move(thought, "click", {"point": (round(1000 * x / width), round(1000 * y / height))})
