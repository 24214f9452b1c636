"""Small applications that are text alone: a shop, a wiki, mail, a tracker, settings. What counts is their state.

Their pages say what was done, show what was typed and not saved, refuse now and then, and quote other people: so that
what a page says and what is so come apart. No state of the application is in what the agent sees.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.tasks.games.moves import Move

KINDS = ("shop", "wiki", "mail", "tracker", "settings")
THINGS = ("blue pens", "red mugs", "green lamps")
NAMES = ("Recipes", "Travel plans", "Garden notes", "Ann Lee", "Bo Chen", "See you at noon")
PEOPLE = ("Anna", "Bob")
_TEXT = {"type": "string"}
_CALL = tuple[str, dict[str, str]]


class TextOffice:
    """Every kind is a box to type into, buttons, and entries that they make or take away."""

    max_steps = 6
    time_limit = 10.0

    def __init__(self, kind: str = "") -> None:
        """`kind`: one of KINDS; empty: any, drawn by the task's seed."""
        if kind not in ("", *KINDS):
            raise InputError(f"kind must be one of {', '.join(KINDS)}, or empty for any; got {kind!r}")
        self._any = kind
        self.instruction = ""

    @property
    def action_space(self) -> ActionSpace:
        def function(name: str, about: str, *parameters: str) -> Function:
            fields = {"type": "object", "properties": dict.fromkeys(parameters, _TEXT), "required": list(parameters)}
            return Function(name, about, fields)

        typed = function("type_text", "Types into the box.", "text")
        return ActionSpace("tools", ("finished",), (typed, function("push", "Pushes a button.", "button")))

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        """Errs by any other button, by other words, and by stopping too early or going on too long."""
        name, arguments = state["next"] if rng.random() < skill else rng.choice(state["others"])
        return Move("", name, dict(arguments))

    async def reset(self, task: Task) -> Observation:
        rng = random.Random(f"office {task.seed}")
        self._kind = self._any or rng.choice(KINDS)
        self._typed, self._message, self._refuses = "", "", rng.random() < 0.2
        self._entries: dict[str, str] = {}
        self._thing, self._name, self._person = rng.choice(THINGS), rng.choice(NAMES), rng.choice(PEOPLE)
        self._ticket = str(rng.randint(10, 40))
        self._gossip = rng.random() < 0.4
        if self._kind == "tracker":
            self._entries = {f"Ticket {number}": "open" for number in (self._ticket, str(int(self._ticket) + 1))}
        if self._kind == "settings":
            self._entries = {"Display name": "Guest"}
        self._start = dict(self._entries)
        self.instruction, self._goal, self._done = self._wanted()
        return self._shown()

    async def step(self, actions: Sequence[Any]) -> Transition:
        over = False
        for action in actions:
            match getattr(action, "name", "finished"):
                case "type_text":
                    self._typed, self._message = str(action.parameters["text"])[:80], ""
                case "push":
                    self._press(str(action.parameters["button"]))
                case _:
                    over = True
        return Transition(self._shown(), 0.0, over, success=self._entries == self._goal)

    async def close(self) -> None:
        pass

    def _wanted(self) -> tuple[str, dict[str, str], str]:
        """The instruction, the state that it asks for, and what somebody else says of it."""
        match self._kind:
            case "shop":
                asked = f"Put '{self._thing}' into the cart"
                return asked, {self._thing: "in the cart"}, f"I put the {self._thing} into the cart"
            case "wiki":
                return f"Create a page called '{self._name}'", {self._name: "page"}, f"{self._name} was created"
            case "mail":
                asked = f"Send the text '{self._name}' to {self._person}"
                return asked, {self._name: f"sent to {self._person}"}, f"{self._name} was sent to {self._person}"
            case "tracker":
                name = f"Ticket {self._ticket}"
                return f"Close ticket {self._ticket}", {**self._entries, name: "closed"}, f"{name} is closed"
            case _:
                return (
                    f"Set the display name to '{self._name}'",
                    {"Display name": self._name},
                    f"the display name is {self._name}",
                )

    def _buttons(self) -> list[str]:
        match self._kind:
            case "shop":
                return [f"{verb} {thing}" for verb in ("Add", "Remove") for thing in THINGS]
            case "wiki":
                return ["Save page", *(f"Delete {name}" for name in self._entries)]
            case "mail":
                return [*(f"Send to {person}" for person in PEOPLE), "Save draft"]
            case "tracker":
                return [f"{verb} {name.lower()}" for verb in ("Close", "Reopen") for name in self._entries]
            case _:
                return ["Save settings", "Reset settings"]

    def _press(self, button: str) -> None:
        """A refusal changes nothing, once."""
        if button not in self._buttons():
            self._message = f"There is no button {button}."
        elif self._refuses:
            self._refuses, self._message = False, f"{self._subject(button)} could not be saved. Try again."
        else:
            self._message = self._act(button)
            self._typed = ""

    def _subject(self, button: str) -> str:
        return self._typed or button.partition(" ")[2].capitalize()

    def _act(self, button: str) -> str:
        verb, _, rest = button.partition(" ")
        match self._kind, verb:
            case "shop", "Add":
                self._entries[rest] = "in the cart"
                return f"{rest} added to the cart."
            case ("shop", "Remove") | ("wiki", "Delete"):
                self._entries.pop(rest, None)
                return f"{rest} removed."
            case "wiki", _:
                self._entries[self._typed or "Untitled"] = "page"
                return f"The page {self._typed or 'Untitled'} has been created."
            case "mail", "Send":
                self._entries[self._typed or "(nothing)"] = f"sent {rest}"
                return f"Message sent {rest}: {self._typed or '(nothing)'}"
            case "mail", _:
                return "Draft saved."
            case "tracker", _:
                self._entries[rest.capitalize()] = "closed" if verb == "Close" else "open"
                return f"{rest.capitalize()} was {'closed' if verb == 'Close' else 'opened again'}."
            case _:
                self._entries["Display name"] = self._typed or "Guest" if verb == "Save" else "Guest"
                return "Settings saved." if verb == "Save" else "Settings reset."

    def _shown(self) -> Observation:
        lines = [self._kind.capitalize(), "", f"Box: {self._typed}", *filter(None, [self._message])]
        listed = [f"{name}: {state}" for name, state in self._entries.items()] or ["Nothing here yet."]
        if self._kind == "shop":
            listed = [f"Your cart: {name}" for name in self._entries] or ["Your cart is empty."]
        said = [f"{PEOPLE[self._person == PEOPLE[0]]} wrote: {self._done}"] if self._gossip else []
        buttons = [f"[button] {button}" for button in self._buttons()]
        state = {"next": self._next(), "others": self._others()}
        return Observation(text="\n".join([*lines, "", *listed, "", *said, *buttons]), info={"state": state})

    def _next(self) -> _CALL:
        """Next call that brings the state nearer to the goal."""
        if self._entries == self._goal:
            return "finished", {"content": ""}
        needs_text = self._kind in ("wiki", "mail", "settings")
        if needs_text and self._typed != self._name:
            return "type_text", {"text": self._name}
        button = {
            "shop": f"Add {self._thing}",
            "wiki": "Save page",
            "mail": f"Send to {self._person}",
            "tracker": f"Close ticket {self._ticket}",
            "settings": "Save settings",
        }[self._kind]
        return "push", {"button": button}

    def _others(self) -> list[_CALL]:
        pressed: list[_CALL] = [("push", {"button": button}) for button in self._buttons()]
        said = {"content": f"Done: {self._done}"}
        return [*pressed, ("finished", said), ("finished", said), ("type_text", {"text": self.instruction})]
