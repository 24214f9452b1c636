"""Scripted players of questions over an encyclopedia: one who knows the proof, and one who knows nothing.

Both act through the interface that `state["by"]` names: the page, or the calls. Where there are both, it may be another
for each page of the proof.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tars_jax.environment import SDK
from tars_jax.tasks.browsing.pages import article_url
from tars_jax.tasks.games.moves import Move


def reference_move(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """Goes through the pages of the question's proof, by links and the search, and gives the answer."""
    if not state["target"]:
        answer = state["answer"] if rng.random() < skill else "unknown"
        return Move("All of the proof has been seen.", "finished", {"content": answer})
    return _next_call(state) if state["by"] == SDK else _next_act(state)


def random_move(state: Mapping[str, Any], rng: random.Random, skill: float = 0.0) -> Move:
    """Follows links and searches at random, and answers with something that was shown or said."""
    return _any_call(state, rng) if state["by"] == SDK else _any_act(state, rng)


def _next_call(state: Mapping[str, Any]) -> Move:
    target = state["target"]
    if (path := article_url(target)) in state["named"]:
        about = {"description": state["wanted"]} if state["wanted"] else {}
        return Move(f"I read {target}.", "LinkReader", {"url": path, **about})
    return Move(f"I look for {target}.", "Search", {"query": target})


def _next_act(state: Mapping[str, Any]) -> Move:
    target = state["target"]
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


def _any_call(state: Mapping[str, Any], rng: random.Random) -> Move:
    """A search is for something that was said, or for a few words of the question that follow each other."""
    heard = [" ".join(each.split())[:200] for each in state["heard"]] or ["unknown"]
    what = rng.choices(("answer", "read", "search"), (1, 5, 4))[0]
    if what == "answer":
        return Move("Why not this?", "finished", {"content": rng.choice(heard)})
    if what == "read" and state["named"]:
        return Move("Somewhere.", "LinkReader", {"url": rng.choice(state["named"])})
    words = state["asked"].split()
    first = rng.randrange(len(words))
    part = " ".join(words[first : first + rng.randint(1, 4)])
    return Move("Something.", "Search", {"query": rng.choice((part, rng.choice(heard)))})


def _any_act(state: Mapping[str, Any], rng: random.Random) -> Move:
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
