"""`openenv`: episodes that a server of OpenEnv plays, over its own messages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import Response, parse_response
from tars_jax.environment import EnvironmentFailure, Observation, Task, Transition
from tars_jax.envs import openenv as registered
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.registry import load_environment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.compat.openenv import Description, EpisodeTurn, InvalidAction, OpenEnvEpisode, openenv_app
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.gate import Gate
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving

pytestmark = pytest.mark.multiprocess

TOKEN = "a-token-for-tests"
NUMBER = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "metadata": {"type": "object"}},
    "required": ["number"],
}
CALL = {"type": "object", "properties": {"type": {}, "tool_name": {"type": "string"}, "arguments": {"type": "object"}}}
TOOL = {"name": "look at", "description": "Looks.", "input_schema": {"type": "object", "properties": {"at": {}}}}


class Guess:
    """The number is the seed's last digit; 100 and above are none, and -1 breaks it."""

    async def reset(self, seed: int | None, options: Mapping[str, Any]) -> EpisodeTurn:
        if options.get("level", 1) != 1:
            raise InvalidAction(f"level must be 1; got {options['level']}")
        self._number = (seed or 0) % 10
        return EpisodeTurn({"said": f"it is {self._number}"})

    async def step(self, action: Mapping[str, Any]) -> EpisodeTurn:
        if action["number"] > 99:
            raise InvalidAction("number must be below 100")
        if action["number"] < 0:
            raise SandboxFailure("guest", "it is gone")
        right = action["number"] == self._number
        return EpisodeTurn({"said": "right" if right else "wrong", "tries": 1}, 1.0 if right else -0.5, right)

    def state(self) -> Mapping[str, Any]:
        return {}

    async def close(self) -> None:
        """Nothing is held."""


class Tools(Guess):
    """Acts by calls of tools, as OpenEnv's environments over MCP do."""

    async def step(self, action: Mapping[str, Any]) -> EpisodeTurn:
        if action["type"] == "list_tools":
            return EpisodeTurn({"tools": [TOOL]})
        assert action["tool_name"] == TOOL["name"]
        content = [{"type": "text", "text": f"a {action['arguments']['at']}"}, {"type": "text", "text": "no more"}]
        return EpisodeTurn({"tool_name": TOOL["name"], "result": {"content": content}}, 1.0, True, {"success": False})


@contextlib.contextmanager
def serves(episode: type[Guess], schema: Mapping[str, Any]) -> Iterator[str]:
    async def make() -> OpenEnvEpisode:
        return episode()

    description = Description("guess", "Guess.", schema, {"type": "object"})
    with serving(openenv_app(description, make, Gate(TOKEN)), ListenAddress(), plain=True) as address:
        yield address


def environment(address: str, **options: Any) -> CheckedEnvironment:
    given = {"address": address, "token": TOKEN, **options}
    return load_environment("openenv", given).checked(EnvironmentResources())


def task(seed: int) -> Task:
    return Task("t", "openenv", seed, {}, 8)


async def said(player: CheckedEnvironment, *calls: str) -> Transition:
    written = "\n".join(calls)
    response = parse_response(f"Action: {written}", space=player.action_space)
    assert isinstance(response, Response), response
    return await player.step(response.actions)


def test_an_episode_is_what_the_server_says() -> None:
    async def play(address: str) -> None:
        player = environment(address, success_return=0.5)
        first = await player.reset(task(13))
        assert first.text == "it is 3" and player.instruction.startswith("Guess.")
        (act,) = player.action_space.functions
        assert list(act.parameters["properties"]) == ["number"]  # metadata is nothing that a policy writes
        refused = await said(player, "act(number=100)")
        assert "below 100" in refused.observation.text and not refused.terminated
        wrong = await said(player, "act(number=4)")
        assert wrong.observation.text == "said: wrong\ntries: 1" and wrong.reward == -0.5 and wrong.success is False
        right = await said(player, "act(number=3)")
        assert (right.reward, right.terminated, right.success) == (1.0, True, True)  # a return of .5
        await player.reset(task(14))
        assert (await said(player, "act(number=4)")).terminated
        await player.close()

    with serves(Guess, NUMBER) as address:
        asyncio.run(play(address))


def test_tools_are_functions() -> None:
    async def play(address: str) -> None:
        player = environment(address, instruction="Look.", success_return=0.5)
        await player.reset(task(0))
        (look,) = player.action_space.functions
        assert (look.name, look.description, player.instruction) == ("look_at", "Looks.", "Look.")
        seen = await said(player, "look_at(at='door')")
        assert seen.observation.text == "a door\nno more"
        assert seen.success is False  # what the server says of it goes before the return
        await player.close()

    with serves(Tools, CALL) as address:
        asyncio.run(play(address))


def test_what_the_server_does_wrong_is_no_reward() -> None:
    async def play(address: str) -> None:
        player = environment(address)
        await player.reset(task(0))
        with pytest.raises(EnvironmentFailure, match="it is gone"):
            await said(player, "act(number=-1)")
        assert (await player.reset(task(7))).text == "it is 7"
        assert (await said(player, "act(number=7)")).success is None
        with pytest.raises(InputError, match="level must be 1; got 2"):
            await environment(address, begins_with={"level": 2}).reset(task(0))
        with pytest.raises(EnvironmentFailure, match="401"):
            await environment(address, token="another").reset(task(0))
        await player.close()

    with serves(Guess, NUMBER) as address:
        asyncio.run(play(address))
    with pytest.raises(EnvironmentFailure, match="connect"):  # nobody listens there now
        asyncio.run(environment(address).reset(task(0)))
    with pytest.raises(InputError, match="address must be"):
        asyncio.run(environment("localhost:8000").reset(task(0)))


def test_ours_over_the_wire_and_back() -> None:
    """What `openenv` serves has a text and a screenshot, and says its instruction."""
    name = "tars_jax.envs.examples.functions_vault:Vault"

    async def make() -> OpenEnvEpisode:
        return registered.RegisteredEpisode(name)

    async def play(address: str) -> Observation:
        player = environment(address)
        seen = await player.reset(task(2))
        assert player.instruction
        told = await said(player, "act(text='Action: no_such_function()')")
        assert "no_such_function" in told.observation.text
        await player.close()
        return seen

    with serving(openenv_app(registered.describe(name), make, Gate(TOKEN)), ListenAddress(), plain=True) as address:
        seen = asyncio.run(play(address))
    assert seen.text and seen.pixels is not None
