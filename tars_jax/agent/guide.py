"""What a policy that was not trained on our grammars is told: how to act on a screen, and how to write it."""

from __future__ import annotations

from tars_jax.agent.actions import (
    Action,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    Point,
    RightSingle,
    Scroll,
    Type,
    Wait,
)
from tars_jax.agent.grammar import format_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.response import Response

_EXAMPLES: tuple[tuple[Action, str], ...] = (
    (Click(Point(500, 120)), "a left click"),
    (LeftDouble(Point(500, 120)), "a double click"),
    (RightSingle(Point(500, 120)), "a right click"),
    (Drag(Point(200, 300), Point(700, 300)), "press, move, release"),
    (Hotkey(("up",)), "one key, or up to three held together"),
    (Type("some text\n"), "types; a line break at the end submits"),
    (Scroll(Point(500, 500), "down"), "up, down, left or right"),
    (Wait(), "lets time pass"),
    (Finished(), "when the task is done"),
)


def action_guide(grammar: str, *, pixels: bool = False) -> str:
    """The actions of a web page with an example of each, and a whole answer in `grammar`; points are given on the grid
    of 0..1000, or in `pixels` of the screenshot.

    Raises:
      InputError: there is no such grammar.
    """
    answer = format_response(Response("what you see and what you do next", (Click(Point(500, 120)),)), grammar=grammar)
    calls = "\n".join(f"{format_call(action)}  # {meaning}" for action, meaning in _EXAMPLES)
    scale = "in pixels" if pixels else "on a grid from 0 to 1000 over the width and the height"
    return (
        f"You act on a screen that you see as a screenshot after every action. Points are x y {scale} of the "
        "screenshot. While you think, time stands still. Answer with one action, "
        f"in exactly this form:\n\n{answer}\n\nActions:\n{calls}"
    )
