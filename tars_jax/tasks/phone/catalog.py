"""The tasks of a phone by name, and how one level of them is drawn, solved and judged.

    random numbers, the phone at first -> PhoneScene -> the agent acts -> the phone then -> what is still wrong

A verdict reads the tables of settings and the rows of apps, as `settings get` and `content query` give them: what was
not asked for is as it was before.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tars_jax import InputError
from tars_jax.tasks.games.moves import Move

HARDEST = 3  # level
MOST_SCROLLS = 8  # of a player for one widget
# Title and table, name, and the values for off and on.
SWITCHES = {
    "Wi-Fi": ("global", "wifi_on", "0", "1"),
    "Bluetooth": ("global", "bluetooth_on", "0", "1"),
    "Airplane mode": ("global", "airplane_mode_on", "0", "1"),
    "Mobile data": ("global", "mobile_data", "0", "1"),
    "Battery saver": ("global", "low_power", "0", "1"),
    "Use 24-hour format": ("system", "time_12_24", "12", "24"),
    "Stay awake while charging": ("global", "stay_on_while_plugged_in", "0", "1"),
}
# Of a real phone: the others move further settings, or end the connection that it is reached by.
DEVICE_SWITCHES = ("Bluetooth", "Mobile data", "Use 24-hour format")
DEVICE_TASKS = ("flip_switches", "add_contact", "look_up_number", "call_contact")  # without the stand-in's own apps
LANGUAGES = ("Deutsch", "Español", "Français", "Italiano", "Magyar", "Polski", "Suomi", "Svenska", "Türkçe")
NAMES = ("Ines Brook", "Theo Marsh", "Ayla Demir", "Ravi Menon", "Olga Petrova", "Jun Ito")
TITLES = ("Shopping", "Plan", "Address", "Recipe", "Gifts", "Packing")
THINGS = ("lemons", "paper", "two keys", "rye bread", "a map", "blue ink", "candles", "soap")


@dataclasses.dataclass(frozen=True)
class PhoneState:
    """State that is stored on a phone."""

    settings: Mapping[str, str]  # by table and name, such as "global wifi_on"
    notes: tuple[tuple[str, str], ...]  # (title, text)
    contacts: tuple[tuple[str, str], ...]  # (name, number)
    calls: tuple[str, ...]  # numbers, in order
    answer: str | None = None  # what the agent said with `finished`
    switches: tuple[str, ...] = tuple(SWITCHES)  # that can be flipped by themselves

    def setting(self, table: str, name: str) -> str:
        return self.settings.get(f"{table} {name}", "null")


Step: TypeAlias = tuple[str, str]  # ("tap", a widget's id), ("type", a text) or ("open_app", its name)


@dataclasses.dataclass(frozen=True)
class PhoneScene:
    """One level: what is asked for, what the phone should be then, and the steps that bring that about."""

    instruction: str
    wanted: PhoneState
    solution: tuple[Step, ...]

    def verify(self, seen: PhoneState) -> str:
        """The first thing that is wrong; empty: nothing. A question is answered with `finished` alone."""
        wanted = self.wanted
        for name in ("settings", "notes", "contacts", "calls"):
            if getattr(seen, name) != getattr(wanted, name):
                return f"the {name} are not as they should be"
        if wanted.answer is None:
            return ""
        if seen.answer is None:
            return "there is no answer yet"
        return "" if _plain(seen.answer) == _plain(wanted.answer) else "the answer is not right"

    def state(self, done: int, widgets: Mapping[str, tuple[int, int]], scrolled: int) -> dict[str, Any]:
        """The state that `reference_player` plays from, when `done` of the steps are done. `widgets`: those that can be
        seen."""
        steps = [list(step) for step in self.solution[done : done + 1]]
        places = {name: list(place) for name, place in widgets.items()}
        return {"steps": steps, "answer": self.wanted.answer, "widgets": places, "scrolled": scrolled}


MakeScene: TypeAlias = Callable[[random.Random, int, PhoneState], PhoneScene]


def flip_switches(rng: random.Random, level: int, first: PhoneState) -> PhoneScene:
    """Switches of the settings, as many as the level says."""
    known = {title: SWITCHES[title] for title in first.switches}
    there = sorted(title for title, (table, name, *values) in known.items() if first.setting(table, name) in values)
    if len(there) < level:
        raise InputError(f"level must be at most {len(there)} for flip_switches of this phone; got {level}")
    chosen = rng.sample(there, level)
    settings, words = dict(first.settings), []
    for title in chosen:
        table, name, off, on = SWITCHES[title]
        turned = off if settings[f"{table} {name}"] == on else on
        settings[f"{table} {name}"] = turned
        words.append(f"turn {title} {'on' if turned == on else 'off'}")
    steps = tuple(("tap", SWITCHES[title][1]) for title in chosen)
    instruction = f"In the settings, {', and '.join(words)}."
    return PhoneScene(instruction, dataclasses.replace(first, settings=settings), (("open_app", "Settings"), *steps))


def choose_language(rng: random.Random, level: int, first: PhoneState) -> PhoneScene:
    """A page of the settings, where a list is to be scrolled."""
    language = rng.choice(LANGUAGES)
    wanted = dataclasses.replace(first, settings={**first.settings, "system language": language})
    steps = (("open_app", "Settings"), ("tap", "language"), ("tap", f"language_{language}"))
    return PhoneScene(f"Set the language of the phone to {language}.", wanted, steps)


def write_note(rng: random.Random, level: int, first: PhoneState) -> PhoneScene:
    """A note with a title and lines, as many as the level says."""
    title, text = rng.choice(TITLES), "\n".join(rng.sample(THINGS, level))
    wanted = dataclasses.replace(first, notes=((title, text), *first.notes))
    steps = (
        ("open_app", "Notes"), ("tap", "new_note"), ("tap", "title_field"), ("type", title), ("tap", "text_field"),
        ("type", text), ("tap", "save"),
    )  # fmt: skip
    lines = ", ".join(text.split("\n"))
    say = f"the text {lines}" if level == 1 else f"{level} lines: {lines}"
    return PhoneScene(f"Write a note with the title {title} and {say}. Save it.", wanted, steps)


def delete_note(rng: random.Random, level: int, first: PhoneState) -> PhoneScene:
    """One of the notes goes."""
    index = rng.randrange(len(first.notes))
    wanted = dataclasses.replace(first, notes=first.notes[:index] + first.notes[index + 1 :])
    steps = (("open_app", "Notes"), ("tap", f"note_{index + 1}"), ("tap", "delete"))
    return PhoneScene(f"Delete the note with the title {first.notes[index][0]}.", wanted, steps)


def add_contact(rng: random.Random, level: int, first: PhoneState) -> PhoneScene:
    """A name and a number."""
    name, number = rng.choice(NAMES), "".join(rng.choice("123456789") for _ in range(3 + 2 * level))
    wanted = dataclasses.replace(first, contacts=tuple(sorted((*first.contacts, (name, number)))))
    steps = (
        ("open_app", "Contacts"), ("tap", "new_contact"), ("tap", "name_field"), ("type", name),
        ("tap", "number_field"), ("type", number), ("tap", "save"),
    )  # fmt: skip
    return PhoneScene(f"Save a new contact {name} with the number {number}.", wanted, steps)


def _contact(rng: random.Random, first: PhoneState) -> tuple[int, tuple[str, str]]:
    """Raises InputError for a phone without any."""
    if not first.contacts:
        raise InputError("task must be one that needs no contacts, as the phone has none")
    return rng.choice(list(enumerate(first.contacts)))


def look_up_number(rng: random.Random, level: int, first: PhoneState) -> PhoneScene:
    """A number on a contact's page is the answer."""
    index, (name, number) = _contact(rng, first)
    steps = (("open_app", "Contacts"), ("tap", f"contact_{index + 1}"))
    wanted = dataclasses.replace(first, answer=number)
    return PhoneScene(f"Which number does {name} have among the contacts? Answer with it.", wanted, steps)


def call_contact(rng: random.Random, level: int, first: PhoneState) -> PhoneScene:
    """A contact is called, and the call ended."""
    index, (name, number) = _contact(rng, first)
    wanted = dataclasses.replace(first, calls=(*first.calls, number))
    steps = (("open_app", "Contacts"), ("tap", f"contact_{index + 1}"), ("tap", "call"))
    return PhoneScene(f"Call {name}, who is among the contacts.", wanted, steps)


TASKS: Mapping[str, MakeScene] = {
    make.__name__: make
    for make in (
        flip_switches, choose_language, write_note, delete_note, add_contact, look_up_number, call_contact,
    )
}  # fmt: skip


def check_level(task: Any, level: Any) -> None:
    """Raises InputError for a task that there is none of, and for a level that none has."""
    if task not in ("", *TASKS):
        raise InputError(f"task must be one of {', '.join(TASKS)}, or empty for any; got {task!r}")
    if type(level) is not int or not 1 <= level <= HARDEST:
        raise InputError(f"level must be a whole number from 1 to {HARDEST}; got {level!r}")


def draw_scene(task: str, level: int, seed: int, first: PhoneState) -> tuple[str, PhoneScene]:
    """The task's name and the level; the same for the same seed and phone. An empty `task` draws one of all."""
    check_level(task, level)
    rng = random.Random(seed)
    name = task or rng.choice(sorted(TASKS))
    return name, TASKS[name](rng, level, first)


def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """Does the steps of a level's solution, scrolls for what is not seen, and ends; a careless one clicks anywhere."""
    if not state["steps"]:
        return Move("", "finished", {"content": state["answer"] or ""})
    kind, given = state["steps"][0]
    if rng.random() >= skill:
        return Move("", "click", {"point": (rng.randint(0, 1000), rng.randint(0, 1000))})
    if kind == "open_app":
        return Move("", "open_app", {"app_name": given})
    if kind == "type":
        return Move("", "type", {"content": given})
    if given in state["widgets"]:
        return Move("", "click", {"point": tuple(state["widgets"][given])})
    if state["scrolled"] < MOST_SCROLLS:
        return Move("", "scroll", {"point": (500, 500), "direction": "down"})
    return Move("", "finished", {"content": ""})


def step_done(step: Step, function: str, parameters: Mapping[str, Any], widget: str | None) -> bool:
    """Whether an action was a step of a solution. `widget`: the one that it clicked."""
    kind, given = step
    if kind == "tap":
        return function == "click" and widget == given
    return function == kind and given in parameters.values()


def _plain(answer: str) -> str:
    return "".join(character for character in answer.casefold() if character.isalnum())
