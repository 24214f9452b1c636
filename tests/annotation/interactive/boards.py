"""The service as a page meets it: real sessions over boards of pictures, with a policy that says what a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tars_jax.evaluation
import tars_jax.tasks.games
from tars_jax.agent.actions import Action
from tars_jax.agent.platform_prompt import platform_space
from tars_jax.annotation.interactive.app import AnnotationApp
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.core import Decision
from tars_jax.annotation.interactive.people import People
from tars_jax.annotation.interactive.service import AnnotationService
from tars_jax.annotation.interactive.tasks import TaskBoard
from tars_jax.environment import Observation, Task, Transition
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.annotation.interactive import corridors
from tests.annotation.interactive.corridors import Said, setting

PICTURES = sorted(Path(tars_jax.tasks.games.__file__).parent.glob("*/picture.png"))  # 640 x 360
STYLE = (Path(tars_jax.evaluation.__file__).parent / "report.css").read_text(encoding="utf-8")
STEPS = 12
LOOK_S = 0.5  # what looking at the screen anew takes
PROPOSALS = (
    "Thought: The tile on the left is free.\nAction: click(point='<point>300 400</point>')",
    "Thought: The one beside it.\nAction: click(point='<point>320 420</point>')",
    "Action: drag(start_point='<point>100 900</point>', end_point='<point>700 600</point>')",
    "Thought: hm\nAction: clock(",
)
LOG_PROBS = (-0.5, -1.5, -2.0, -3.0)


class Boards:
    """Another picture after each step; it is over when the agent says so."""

    instruction = "Win the first level. When the board shows the next one, you are done."
    action_space = platform_space("browser")

    def __init__(self, text: str = "", lasts: int = STEPS) -> None:
        self._text, self._lasts, self._step, self._done = text, lasts, 0, 0

    async def reset(self, task: Task) -> Observation:
        self._step = task.seed
        return self._seen()

    async def step(self, actions: Sequence[Action]) -> Transition:
        if any(action.name == "wait" for action in actions):
            await asyncio.sleep(LOOK_S)
        self._step, self._done = self._step + 1, self._done + 1
        if self._done > self._lasts:
            raise RuntimeError("the browser is gone")
        over = any(action.name == "finished" for action in actions)
        return Transition(self._seen(), float(over), terminated=over, success=True if over else None)

    async def close(self) -> None:
        pass

    def _seen(self) -> Observation:
        return Observation(PICTURES[self._step % len(PICTURES)].read_bytes(), self._text)


@dataclasses.dataclass
class Shown:
    address: str
    key: str
    said: Said
    service: AnnotationService
    people: People

    @property
    def login(self) -> str:
        return self.login_of("owner")

    def login_of(self, name: str) -> str:
        return f"{self.address}/#key={self.people.keys[name]}"

    @property
    def decisions(self) -> list[Decision]:
        """Of the session that is open."""
        (live,) = [live for live in self.service.live.values() if live.is_open]
        return [done.decision for done in live.record.steps]


@contextlib.contextmanager
def annotated(
    folder: Path,
    texts: Sequence[str] = PROPOSALS,
    *,
    port: int = 0,
    observation: str = "",
    lasts: int = STEPS,
    corridor: bool = False,
    **gate: Any,
) -> Iterator[Shown]:
    """Serves while the block runs; what is decided is in `folder`, where another one goes on.

    `lasts`: steps after which an environment fails. `corridor`: of text alone, with one function, `go`.
    """
    said = Said(texts, LOG_PROBS[: len(texts)])
    people = People(folder / "keys", ["bob", "eve:reviewer"])
    tasks = [corridors.task(0)] if corridor else [Task(f"board-{seed}", "boards", seed, {}, STEPS) for seed in range(3)]

    def make(task: Task) -> CheckedEnvironment:
        if corridor:
            return corridors.make(task)()
        return CheckedEnvironment(lambda: Boards(observation, lasts), name="boards", may_be_empty=True)

    service = AnnotationService(
        folder, setting(said, AskingGate(**gate)), make, TaskBoard(tasks, {} if corridor else {"board-1": 2.0}, 60.0)
    )
    app = AnnotationApp(service, people, STYLE).app()
    with serving(app, ListenAddress(port=port, stop_seconds=0.2), plain=True) as address:
        yield Shown(address, people.keys["owner"], said, service, people)
