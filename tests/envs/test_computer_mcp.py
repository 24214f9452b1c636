"""MCP servers in a computer that is an environment: their tools are functions, and nothing they do is a reward."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

from tars_jax import InputError
from tars_jax.agent.actions import Finished, ToolCall
from tars_jax.agent.functions import check_space
from tars_jax.agent.grammar import parse_response
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.spec import EnvironmentResources

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]

FOLDER = Path(__file__).parents[1] / "sandbox/tools"
ODD: dict[str, Any] = {
    "name": "odd", "command": "python3", "args": ["-I", str(FOLDER / "odd_mcp_server.py"), "good"],
    "show": [str(FOLDER)], "start_s": 120, "call_s": 3,
}  # fmt: skip
# The same without a file of this machine, as a service shows none.
BROUGHT = {**ODD, "args": ["-I", "-c", (FOLDER / "odd_mcp_server.py").read_text(), "good"], "show": []}


def task(seed: int = 1) -> Task:
    return Task("one", "computer", seed, {}, 8)


def test_tools_are_functions_of_an_episode(place: EnvironmentResources) -> None:
    async def live() -> None:
        environment = ComputerEnvironment("count_lines", mcp=[BROUGHT], images=True, resources=place)
        assert len(environment.action_space.functions) == 1
        await environment.reset(task())
        space = environment.action_space
        check_space(space)
        assert {"execute_bash", "echo", "odd_click", "picture"} <= {function.name for function in space.functions}
        read = parse_response("Thought: look\nAction: echo(text='5')", grammar="text", space=space)
        turn = await environment.step(read.actions)  # type: ignore[union-attr]
        assert turn.observation.text == "5" and not turn.success and not turn.terminated and turn.reward == 0
        turn = await environment.step([ToolCall("picture", {}), ToolCall("echo", {"text": "ä"})])
        assert turn.observation.pixels is not None and turn.observation.pixels.shape == (4, 6, 3)
        assert turn.observation.text.endswith("\nä")
        for name in ("die", "nonsense", "hang", "refuse", "huge", "count"):
            turn = await environment.step([ToolCall(name, {})])
            assert turn.observation.text and turn.reward == 0 and not turn.terminated, name
        await environment.reset(task(2))
        turn = await environment.step([ToolCall("count", {})])
        assert turn.observation.text == "1"
        turn = await environment.step([Finished("none")])
        assert turn.terminated and not turn.success and turn.reward == 0
        await environment.close()

    asyncio.run(live())


def test_many_slow_calls_of_a_turn_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.envs.computer.TURN_S", 1.0)

    async def live() -> None:
        environment = ComputerEnvironment("count_lines", mcp=[{**ODD, "call_s": 1}])
        await environment.reset(task())
        turn = await environment.step([ToolCall("hang", {}) for _ in range(20)])
        lines = turn.observation.text.splitlines()
        assert lines[0] == "MCP server odd: it did not answer in 1 s" and len(lines) == 20
        assert lines[-1] == "hang: not done, as the turn has taken 1 s already"
        await environment.close()

    asyncio.run(live())


def test_a_server_that_does_not_start_is_a_failure_of_the_environment() -> None:
    async def live() -> None:
        silent: dict[str, Any] = {**ODD, "args": [*ODD["args"][:-1], "silent"], "start_s": 1}
        environment = CheckedEnvironment(lambda: ComputerEnvironment("count_lines", mcp=[silent]), 180)
        with pytest.raises(EnvironmentFailure, match="did not answer in 1 s") as raised:
            await environment.reset(task())
        assert raised.value.kind == "mcp"
        await environment.close()

    asyncio.run(live())


def test_options_and_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="mcp\\[0\\].name must be"):
        ComputerEnvironment(mcp=[{"command": "x"}])
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="the extra mcp brings"):
        ComputerEnvironment(mcp=[ODD])
    ComputerEnvironment()
