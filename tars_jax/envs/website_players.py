"""Reference players of website tasks: by the recorded calls, or by the form as it is and as it has to be."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from tars_jax.environment import SDK
from tars_jax.tasks.games.moves import Move

# The controls that are in view and have a name, with their centers on the 0..1000 grid. No policy sees it.
CONTROLS = """[...document.querySelectorAll('input, button')].map((e) => {
  const r = e.getBoundingClientRect();
  const at = [r.x + r.width / 2, r.y + r.height / 2];
  const seen = r.width > 0 && at[0] > 0 && at[0] < innerWidth && at[1] > 0 && at[1] < innerHeight;
  const point = [Math.round(1000 * at[0] / innerWidth), Math.round(1000 * at[1] / innerHeight)];
  return seen && e.name ? { name: e.name, checked: Boolean(e.checked), point } : null;
}).filter(Boolean)"""
LONG_THOUGHTS = 0.5  # the share that names all boxes which are not as they should be, not the next control alone


def reference_move(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """The reference player's move: of a task with a form, its form's, through the interface that `state["by"]` names;
    else the next call of its recorded solution, and without one it gives up.

    A careless player waits between the calls of a recorded solution.
    """
    if state.get("form"):
        return form_request(state, rng, skill) if state["by"] == SDK else form_move(state, rng, skill)
    if not state["solution"]:
        return Move("There is no more to do.", "finished", {"content": ""})
    if rng.random() >= skill:
        return Move("I wait and see.", "wait", {})
    function, parameters = state["solution"][0]
    return Move("The next step.", function, parameters)


def form_move(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """The first box that is not as it should be, then the button; where it errs, any box or the button.

    `state["form"]` is {"boxes": [[name, word, ticked], ...], "button": [name, word]}: controls by their names in the
    page, the word that a thought has for each, and how they have to be when the button is pressed.
    """
    form = state["form"]
    at = {control["name"]: control for control in reversed(state["controls"])}  # of two alike the first
    words = {name: word for name, word, *_ in (*form["boxes"], form["button"])}
    if not words.keys() <= at.keys():
        return Move("form", "navigate", {"content": state["start"]})
    wrong = [name for name, _, ticked in form["boxes"] if at[name]["checked"] != ticked]
    chosen = (wrong or [form["button"][0]])[0] if rng.random() < skill else rng.choice(list(words))
    thought = words[chosen]
    if wrong and rng.random() < LONG_THOUGHTS:
        thought = f"{', '.join(words[name] for name in wrong)} to {thought}"
    return Move(thought, "click", {"point": tuple(at[chosen]["point"])})


def form_request(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """The whole form in one request; where it errs, with any of the boxes ticked. `state["form"]` has `hidden`, too:
    what else the form sends, as it is for everybody."""
    form = state["form"]
    errs = rng.random() >= skill
    ticked = [name for name, _, asked in form["boxes"] if (rng.random() < 0.5 if errs else asked)]
    words = [word for name, word, _ in form["boxes"] if name in ticked]
    fields = {**form["hidden"], form["button"][0]: "1", **dict.fromkeys(ticked, "1")}
    sent = {"method": "POST", "path": state["start"], "body": urlencode(fields)}
    return Move(", ".join(words) or "none", "request", {**sent, "content_type": "application/x-www-form-urlencoded"})
