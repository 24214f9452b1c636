"""Somebody who works and thinks aloud: it goes to the real screen and microphone, and is kept as truth."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tars_jax.agent.actions import Action, Click, Drag, Hotkey, LeftDouble, Point, RightSingle, Scroll, Type
from tars_jax.agent.grammar_text import format_call
from tests.annotation.in_situ.espeak import Said
from tests.annotation.in_situ.scripted import Thought, spoken
from tests.benchmarks.at_work.hands import Hands, Place

NOTCHES = 3  # of the wheel, that one scroll of an agent turns
OF_KEYS = {"Control_L": "ctrl", "Alt_L": "alt", "Shift_L": "shift", "Return": "enter", "Escape": "escape",
           "Page_Down": "pagedown", "BackSpace": "backspace"}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Way:
    """How somebody speaks and works."""

    voices: Sequence[str] = ("en-us", "en-gb")
    speeds: tuple[int, int] = (120, 160)  # words in a minute
    over: float = 0.35  # share of announcements that are spoken while the hands are at it already


@dataclasses.dataclass
class Truth:
    """Times by the monotonic clock until `at` has made them those of a recording."""

    steps: list[tuple[float, str]] = dataclasses.field(default_factory=list)
    thoughts: list[Thought] = dataclasses.field(default_factory=list)

    def at(self, began: float) -> Truth:
        return Truth(
            [(when - began, calls) for when, calls in self.steps],
            [
                dataclasses.replace(
                    each, begins=each.begins - began, ends=each.ends - began,
                    words=tuple((word, when - began) for word, when in each.words),
                )
                for each in self.thoughts
            ],
        )  # fmt: skip


class Person:
    """A story calls these in its order. `next` is the step that is done next, `last` the one that was done."""

    def __init__(
        self, env: Mapping[str, str], screen: Place, spoken_to: Path, draw: random.Random, way: Way
    ) -> None:  # fmt: skip
        """`spoken_to`: where microphone_program.py finds clips."""
        self.truth = Truth()
        self._screen, self._folder, self._draw, self._way = screen, spoken_to, draw, way
        self._hands = Hands(env, draw, self._knock)
        self._voice = draw.choice(list(way.voices))
        self._speed = draw.randint(*way.speeds)
        self._mouth_free = 0.0
        self._knock_noise = np.random.default_rng(0).normal(0, 0.03, 160).astype(np.float32)
        self._knock_noise *= np.exp(-np.arange(160, dtype=np.float32) / 30)

    # ---- the mouth

    def announces(self, text: str, *, over: bool | None = None) -> None:
        """Of the next step; `over`: the hands do not wait until it is said. None: as the way is."""
        over = self._draw.random() < self._way.over if over is None else over
        thought = self._says("announce", text, len(self.truth.steps))
        self._until(
            thought.begins + (thought.ends - thought.begins) * self._draw.uniform(0.3, 0.7) if over else thought.ends
        )
        if not over:
            self.rests(0.1, 1.2)

    def comments(self, text: str) -> None:
        """On the last step."""
        self._until(self._mouth_free)
        self.rests(0.3, 1.0)
        self._until(self._says("comment", text, len(self.truth.steps) - 1).ends)
        self.rests(0.3, 1.0)

    def takes_back(self, wrong: str, right: str) -> None:
        """Announces something, and then something else, which is done."""
        self._until(self._says("corrected", wrong, None).ends)
        self.rests(0.2, 0.9)
        self._until(self._says("correction", right, len(self.truth.steps)).ends)
        self.rests(0.2, 0.9)

    def regrets(self, text: str) -> None:
        """What was done last was wrong; says what is done now."""
        self.rests(0.3, 0.8)
        self._until(self._says("slip", text, len(self.truth.steps)).ends)
        self.rests(0.2, 0.8)

    def talks(self, text: str) -> None:
        """Of something else."""
        self.rests(0.6, 1.5)
        self._until(self._says("apart", text, None).ends)
        self.rests(0.6, 1.8)

    def rests(self, least: float, most: float) -> None:
        time.sleep(self._draw.uniform(least, most))

    def ends(self) -> None:
        self._until(self._mouth_free)
        self.rests(1.0, 1.5)

    # ---- the hands

    def clicks(self, place: Place, button: str = "left", times: int = 1) -> None:
        self._hands.move(self._aimed(place))
        at = self._point()
        kinds: dict[tuple[str, int], tuple[type[Click | LeftDouble | RightSingle], ...]] = {
            ("left", 1): (Click,), ("left", 2): (LeftDouble,), ("left", 3): (LeftDouble, Click),
            ("right", 1): (RightSingle,),
        }  # fmt: skip
        self._does(lambda: self._hands.click(button, times), *(kind(at) for kind in kinds[button, times]))

    def drags(self, start: Place, end: Place) -> None:
        self._hands.move(self._aimed(start))
        begins = self._point()
        self._does(lambda: self._hands.drag(end), Drag(begins, self._point_of(end)))

    def scrolls(self, place: Place, direction: str, notches: int) -> None:
        self._hands.move(self._aimed(place))
        turns = max(1, round(notches / NOTCHES))
        self._does(lambda: self._hands.scroll(direction, notches), *[Scroll(self._point(), direction)] * turns)

    def types(self, text: str, saying: str = "") -> None:
        """`saying`: from a moment after the first key on."""
        if saying:
            self._says("while", saying, len(self.truth.steps), self._draw.uniform(0.3, 1.0))
        self._does(lambda: self._hands.type(text), Type(text))

    def presses(self, *names: str) -> None:
        keys = tuple(OF_KEYS.get(name, name.lower()) for name in names)
        self._does(lambda: self._hands.keys(*names), Hotkey(keys))

    # ---- how

    def _does(self, act: Callable[[], float], *actions: Action) -> None:
        number = len(self.truth.steps)
        self.truth.steps.append((0.0, "\n\n".join(map(format_call, actions))))  # as what is said now is of the next
        pressed = act()
        self.truth.steps[number] = (pressed, self.truth.steps[number][1])

    def _says(self, kind: str, text: str, step: int | None, later: float = 0.05) -> Thought:
        said: Said = spoken(text, self._voice, self._speed + self._draw.randint(-8, 8))
        begins = max(time.monotonic() + later, self._mouth_free + self._draw.uniform(0.25, 0.6))
        self._lay(begins, said.samples)
        self._mouth_free = begins + said.seconds
        words = tuple((word, begins + when) for word, when in said.words)
        self.truth.thoughts.append(Thought(kind, text, begins, begins + said.seconds, words, step))
        return self.truth.thoughts[-1]

    def _knock(self, pressed: float) -> None:
        """A key or a button, as the microphone hears it."""
        self._lay(pressed, self._knock_noise)

    def _lay(self, begins: float, samples: np.ndarray) -> None:
        unfinished = self._folder / f"{begins:.6f}.part"
        with unfinished.open("wb") as file:
            np.save(file, samples)
        unfinished.rename(unfinished.with_suffix(".npy"))

    def _until(self, when: float) -> None:
        time.sleep(max(0.0, when - time.monotonic()))

    def _aimed(self, place: Place) -> Place:
        return place[0] + self._draw.randint(-4, 4), place[1] + self._draw.randint(-2, 2)

    def _point(self) -> Point:
        return self._point_of(self._hands.place)

    def _point_of(self, place: Place) -> Point:
        exact = Point.from_pixels(place[0] + 0.5, place[1] + 0.5, *self._screen)
        return Point(round(exact.x, 1), round(exact.y, 1))
