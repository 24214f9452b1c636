"""Moves of a scripted solution, which name what they act on by what is read there, so that they can be made again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.data.website_synthesis.view import Control, View

KINDS = ("follow", "press", "fill", "choose", "toggle", "mark", "home")


@dataclasses.dataclass(frozen=True)
class PageMove:
    """A move: one thing that a person does on a page."""

    kind: str  # one of KINDS: a link, a button, a text, an option of a select, a checkbox, a radio, the start
    label: str  # of the control
    name: str = ""  # of the field, which is never shown
    form: str = ""  # path of the form's action; empty: none
    nth: int = 0  # among the controls that are alike
    value: str = ""  # what is typed or chosen; "on" or "off" of a checkbox

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind of a move must be one of {', '.join(KINDS)}; got {self.kind!r}")

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> PageMove:
        return cls(**record)


HOME = PageMove("home", "")  # back to the page that the episode began with


def move_to(view: View, control: Control, value: str = "") -> PageMove:
    """The move that acts on this control of the view."""
    alike = [each for each in view.controls if _key(view, each) == _key(view, control)]
    kind, label, name, form = _key(view, control)
    return PageMove(kind, label, name, form, alike.index(control), value)


def find(view: View, move: PageMove) -> Control | None:
    """The control that the move acts on; None where the page has none."""
    wanted = (move.kind, move.label, move.name, move.form)
    alike = [each for each in view.controls if _key(view, each) == wanted]
    if not alike and move.form:  # an address with a number of its own: the fields are told by their names
        alike = [each for each in view.controls if _key(view, each)[:3] == wanted[:3]]
    return alike[move.nth] if move.nth < len(alike) else None


def _key(view: View, control: Control) -> tuple[str, str, str, str]:
    kinds = {"link": "follow", "button": "press", "select": "choose", "checkbox": "toggle", "radio": "mark"}
    kind = kinds.get(control.kind, "fill")
    form = ""
    if control.form >= 0 and kind != "follow":
        form = view.forms[control.form].action.partition("://")[2].partition("/")[2].partition("?")[0]
    return kind, control.label, control.name if kind != "follow" else "", form
