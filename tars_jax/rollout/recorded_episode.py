"""An episode that a chat client played and a policy server recorded, as a trajectory.

What comes is the answer of POST /v1/rl/episodes/ID/finish: windows of turns, each with the tokens that were read and
the answer as it was sampled. Each answer is a step, in the order in which they came; where windows of several agents
take turns, so do their steps. An answer that was not drawn as the learner scores it (under a constraint, or tempered by
the client) is context: nobody learns from it, but for the token that ends it where a reward hangs on that.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.agent.window import WindowBuilder
from tars_jax.environment import Task
from tars_jax.inference.answer_fields import read_answer
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.rollout.ledger import stored_numbers, trajectory_path
from tars_jax.trajectory import ContextWindow, Outcome, Step, Trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS, as_context
from tars_jax.trajectory.files import save_trajectory

Turns = Sequence[Mapping[str, Any]]
RECORDED = "recorded"  # the environment that tasks of conversations name, which nobody can play


def trajectory_of_recorded(
    windows: Sequence[Turns],
    *,
    id: str,
    task: Task,
    reward: float,
    success: bool | None,
    outcome: Outcome,
    metadata: Mapping[str, Any],
) -> Trajectory:
    """The trajectory of a recorded episode. `reward`: of the whole episode; its last step has it.

    Raises PolicyUnavailable for what no server of ours has written.
    """
    try:
        steps, places, asked = _steps(windows, reward)
        built = tuple(_window(turns, places) for turns in windows)
    except (KeyError, TypeError, ValueError) as error:
        raise PolicyUnavailable(f"the server's episode is none ({error}): {str(windows)[:200]}") from error
    turns = [turn for window in windows for turn in window]
    context = sorted(places[turn["number"]][-1] for turn in turns if not turn["free"])
    counts = {"windows": len(windows), "answers": len(turns), "not_learned": len(context)}
    found = Trajectory(
        id=id,
        task=task.to_json(),
        windows=built,
        steps=steps,
        outcome=outcome,
        reward=reward if steps else 0.0,
        metadata={
            "instruction": asked,
            **metadata,
            "recorded": counts,
            **({CONTEXT_STEPS: context} if context else {}),
        },
        success=success,
    )
    return as_context(found, context)


class KeptConversations:
    """A folder of conversations that clients had with a policy server: trajectories without a reward or a verdict.

    It goes on where another server has left it. One server has it at a time.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._next, self._lock = folder, max(stored_numbers(folder), default=-1) + 1, threading.Lock()

    def __call__(self, windows: Sequence[Turns]) -> None:
        """Keeps a conversation. Raises OSError."""
        with self._lock:
            number, self._next = self._next, self._next + 1
        task = Task(f"conversation-{number}", RECORDED, number, {}, max(1, sum(map(len, windows))))
        kept = trajectory_of_recorded(
            windows, id=f"{number:08d}", task=task, reward=0.0, success=None, outcome=Outcome.FINISHED, metadata={}
        )
        save_trajectory(trajectory_path(self._folder, number), kept)


def _steps(windows: Sequence[Turns], reward: float) -> tuple[tuple[Step, ...], dict[int, list[int]], str]:
    """The steps; for each turn, by its number, those of its images, of which the last is its own; and what was asked
    first, which is the instruction.

    A step has one screenshot, so each further image of a turn stands in a step before it that did nothing.
    """
    steps: list[Step] = []
    places: dict[int, list[int]] = {}
    turns = sorted((turn for window in windows for turn in window), key=lambda turn: turn["number"])
    for turn in turns:
        *further, last = [_png(each) for each in turn["images"]] or [b""]
        places[turn["number"]] = [*range(len(steps), len(steps) + len(further) + 1)]
        steps += [_step(image, "", "", 0.0) for image in further]
        text = "" if turn is turns[0] else turn["asked"]
        steps.append(_step(last, turn["text"], text, reward if turn is turns[-1] else 0.0))
    return tuple(steps), places, turns[0]["asked"] if turns else ""


def _step(screenshot: bytes, response: str, text: str, reward: float) -> Step:
    return Step(
        screenshot=screenshot,
        response=response,
        thought="",
        action="",
        point=None,
        reward=reward,
        think_tokens=0,
        valid=True,
        info={},
        text=text,
    )


def _window(turns: Turns, places: Mapping[int, Sequence[int]]) -> ContextWindow:
    window = WindowBuilder()
    for turn in turns:
        sampled, its = read_answer(turn["answer"]), places[turn["number"]]
        window.read(turn["read"], its[-1])
        window.images += its if turn["images"] else []
        if turn["read_again"]:
            window.routes.clear()  # those of this turn are of all tokens
        window.wrote(sampled, its[-1])
    return window.build()


def _png(url: str) -> bytes:
    return base64.b64decode(url.partition(",")[2], validate=True)
