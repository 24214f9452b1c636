"""Shares of steps by interface, of episodes as the agent loop records them, and as curves of a report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tars_jax.agent.loop import AgentConfig, play_episode
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.evaluation.curves import DEFAULT_CURVES, curve_sections
from tars_jax.evaluation.interface_shares import interface_metrics
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.training.metrics import MetricsRow
from tars_jax.trajectory import Trajectory

LOOK = Function("look", "", {"type": "object", "properties": {"for": {"type": "string"}}})
SPACE = ActionSpace("browser", ("click", "type", "finished"), (LOOK,))
CLICK = "click(point='<point>1 1</point>')"
WRITER = PromptWriter(load_tokenizer(), 1)


class Nothing:
    async def step(self, actions: Sequence[Any]) -> Transition:
        return Transition(Observation(text="done"))


class Says:
    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = iter(answers)

    async def respond(self, tokens: Sequence[int], images: Sequence[Any], *, restart: bool) -> Sampled:
        said = WRITER.response(next(self._answers))
        return Sampled(tuple(said), (0.0,) * len(said), (0,) * len(said))


def episode(*answers: str) -> Trajectory:
    task = Task("t", "e", 0, {}, len(answers))
    first, policy = Observation(text="here"), Says(answers)
    return asyncio.run(
        play_episode(Nothing(), first, policy, WRITER, AgentConfig(), id="e", task=task, instruction="", space=SPACE)
    )


def test_steps_count_by_what_they_call() -> None:
    episodes = (
        episode("Action: look(for='one')\n\nlook(for='a\\n\\nclick(')", "Action: look()", "Action: finished()"),
        episode(f"Action: {CLICK}", f"Action: {CLICK}\n\nlook(for='two')", "I do not know", "Action: type('x')"),
        episode("Action: look(for='one')"),
    )
    found = interface_metrics(episodes)
    assert found == {"calls_share": 4 / 8, "gui_share": 3 / 8, "several_calls": 2 / 8}
    assert interface_metrics([]) == {} and interface_metrics([episode("Action: finished()")])["calls_share"] == 0


@pytest.mark.parametrize("shares, drawn", [((0.0, 0.0, 0.0), False), ((0.0, 0.5, 0.75), True), ((0.5,), False)])
def test_a_report_draws_them_where_they_change(shares: Sequence[float], drawn: bool) -> None:
    rows = [
        MetricsRow(step, "ppo", 0.0, {"calls_share": share, "gui_share": step / 9, "several_calls": share})
        for step, share in enumerate(shares)
    ]
    page = "".join(curve_sections(DEFAULT_CURVES, rows, {}))
    assert ("<h3>Interfaces</h3>" in page, "<h3>Several calls</h3>" in page) == (drawn, drawn)
