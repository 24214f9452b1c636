"""MiniWoB++ (https://miniwob.farama.org, MIT): the tasks that the `miniwob` package ships, as it ships them.

Its pages decide what an episode earns: -1 to 1 when it ends, where most rewards above 0 shrink with the time that was
taken, and -1 at the time limit. Many pay for a part of what was asked, which is no success. All of that runs on our
virtual clock, so thinking costs nothing. Only the package's static pages are used; its Selenium code is never imported.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from tars_jax import InputError
from tars_jax.environment import Task

MODES = ("train", "test", "default")
MAX_STEPS = 30
SETTLE_MS = 100
AREA, WINDOW = (160, 210), (500, 320)  # pixels: what is shown of a task's page, and the window that it is laid out for
FLIGHT_AREA, FLIGHT_WINDOW = (375, 667), (600, 800)
PREFIX = "miniwob/"
# The least raw reward of a success. Nearly everywhere it is the whole reward: pages also pay for a part of the fields,
# for one checkbox too many, even for the wrong card. Others measure how near an answer is, and none is perfect:
WHOLE = 1 - 1e-6  # some add it up from fractions
NEAR_ENOUGH = {
    "circle-center": 0.01,  # the page refuses what is farther away than it accepts
    "find-midpoint": 0.01,
    "right-angle": 0.01,
    "bisect-angle": 0.5,  # nearer to the bisector than to either side
    "draw-circle": 0.5,
    "chase-circle": 0.5,  # the share of the time that the mouse was inside
    "moving-items": 0.01,  # more than half of the circles
    "use-colorwheel": 0.95,  # no other color that has a name in these tasks is as near
    "use-colorwheel-2": 0.95,
}


@dataclasses.dataclass(frozen=True)
class MiniwobTask:
    """One task, as `miniwob/click-button` or `miniwob/flight.AA`; a `tars_jax.tasks.library.Playable`.

    The reward is the page's own (WOB_REWARD_GLOBAL), on the step that ends the episode. The only option is `mode`, the
    package's split of problems in the few tasks that have one.
    """

    name: str
    html: Path  # the package's folder of pages

    @property
    def title(self) -> str:
        return f"MiniWoB++: {self.task}"

    @property
    def task(self) -> str:
        """The package's name of it."""
        return self.name.removeprefix(PREFIX)

    @property
    def is_flight(self) -> bool:
        return self.task.startswith("flight.")

    @property
    def site_root(self) -> Path:
        return Path(__file__).parent

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        return (("html", self.html),)

    @property
    def index(self) -> str:
        path = f"{self.task.replace('.', '/')}/wrapper.html" if self.is_flight else f"miniwob/{self.task}.html"
        width, height = FLIGHT_WINDOW if self.is_flight else WINDOW
        return f"index.html?path={path}&width={width}&height={height}&success={self.least_success}"

    @property
    def least_success(self) -> float:
        """The raw reward from which on an episode succeeded."""
        return NEAR_ENOUGH.get(self.task, WHOLE)

    @property
    def page_size(self) -> tuple[int, int]:
        return FLIGHT_AREA if self.is_flight else AREA

    @property
    def single_canvas(self) -> bool:
        return False

    @property
    def settle_ms(self) -> int:
        return SETTLE_MS

    @property
    def reference(self) -> NoReturn:
        raise InputError(f"{self.name}: MiniWoB++ has no reference players")

    def check_options(self, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            if name != "mode":
                raise InputError(f"{self.name}: an option must be mode; got {name}")
            if value not in MODES:
                raise InputError(f"{self.name}: option mode must be one of {', '.join(MODES)}; got {value!r}")

    def steps_for(self, options: Mapping[str, Any]) -> int:
        return MAX_STEPS

    def succession(self, task: Task) -> None:
        """A task is all that there is."""

    def start_expression(self, task: Task) -> str:
        return f"game.start({json.dumps({**task.options, 'seed': task.seed}, sort_keys=True)})"

    def board_text(self, task: Task) -> None:
        """No text stands beside its screenshots."""

    def instruction_for(self, info: Mapping[str, Any]) -> str:
        return str(info["state"]["utterance"])

    def reward(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
        return float(after["score"]) - float(before["score"])


@functools.cache
def miniwob_names() -> tuple[str, ...]:
    """All tasks of miniwob 1.1.0, sorted; known whether or not the package is there."""
    tasks = (Path(__file__).parent / "tasks.txt").read_text(encoding="utf-8").split()
    return tuple(f"{PREFIX}{task}" for task in tasks)


@functools.cache
def load_miniwob(name: str) -> MiniwobTask:
    """The task called `name`. Raises `InputError` for an unknown one, and where the package is not installed."""
    if name not in miniwob_names():
        raise InputError(f"a task of MiniWoB++ must be one that `python -m tars_jax.envs` lists; got {name!r}")
    return MiniwobTask(name, html_folder())


def html_folder() -> Path:
    """The package's folder of pages, found without importing it."""
    package = importlib.util.find_spec("miniwob")
    if package is None or not package.submodule_search_locations:
        raise InputError("MiniWoB++ needs the extra tars_jax[miniwob] (pip install miniwob), which is not installed")
    return Path(package.submodule_search_locations[0]) / "html"
