"""Actions in OSWorld's own words: lines of PyAutoGUI, WAIT, DONE and FAIL."""

from __future__ import annotations

from tars_jax.agent.grammar_text import parse_text
from tars_jax.agent.pyautogui_lines import pyautogui_line
from tars_jax.agent.response import ParseError


def pyautogui_of(written: str, width: int, height: int, last: str = "") -> list[str]:
    """The actions of a step as the trajectory has them written, on a screen of so many pixels; what is none of ours as
    it is.

    `last`: how the agent ended the episode with it, DONE or FAIL.
    """
    parsed = parse_text(f"Action: {written}")
    if not written or isinstance(parsed, ParseError):
        return [written] if written else []
    return [pyautogui_line(action, width, height, last) for action in parsed.actions]
