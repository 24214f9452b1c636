"""MiniWoB++ (https://miniwob.farama.org, MIT): the tasks that the `miniwob` package ships, as it ships them.

Its pages decide what an episode earns: -1 to 1 when it ends, where most rewards above 0 shrink with the time that was
taken, and -1 at the time limit. All of that runs on our virtual clock, so thinking costs nothing. Only the package's
static pages are used; its Selenium code is never imported.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from tars_jax import InputError
from tars_jax.tasks.task import Task

MODES = ("train", "test", "default")
MAX_STEPS = 30
SETTLE_MS = 100
AREA, WINDOW = (160, 210), (500, 320)  # pixels: what is shown of a task's page, and the window that it is laid out for
FLIGHT_AREA, FLIGHT_WINDOW = (375, 667), (600, 800)
PREFIX = "miniwob/"


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
        return f"index.html?path={path}&width={width}&height={height}"

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
                raise InputError(f"{self.name}: unknown option {name}; it takes mode")
            if value not in MODES:
                raise InputError(f"{self.name}: option mode takes {', '.join(MODES)}, got {value!r}")

    def steps_of_level(self, level: int) -> int:
        return MAX_STEPS

    def start_expression(self, task: Task) -> str:
        return task.start_expression()

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
        raise InputError(f"MiniWoB++ has no task {name!r}; `python -m tars_jax.envs` lists them")
    return MiniwobTask(name, html_folder())


def html_folder() -> Path:
    """The package's folder of pages, found without importing it."""
    package = importlib.util.find_spec("miniwob")
    if package is None or not package.submodule_search_locations:
        raise InputError("MiniWoB++ takes the extra tars_jax[miniwob] (pip install miniwob), which is not installed")
    return Path(package.submodule_search_locations[0]) / "html"
