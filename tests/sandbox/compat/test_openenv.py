"""OpenEnv's own validation and its messages against computers and environments of ours."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import httpx
import jsonschema
import pytest
from PIL import Image
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tars_jax.envs import openenv as registered
from tars_jax.sandbox.compat.computer_apis import ComputerApis
from tars_jax.sandbox.compat.openenv import Description, EpisodeTurn, InvalidAction, OpenEnvEpisode, openenv_app
from tars_jax.sandbox.compat.openenv.app import Make
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.sandbox.compat.clients import GATE, TOKEN, client
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.multiprocess

KEY = {"X-API-Key": TOKEN}
ANY = {"type": "object"}


class Counts:
    """Counts its steps; says when it is closed."""

    closed = 0

    async def reset(self, seed: int | None, options: Mapping[str, Any]) -> EpisodeTurn:
        if options:
            raise InvalidAction(f"no options; got {list(options)}")
        self.count = 0
        return EpisodeTurn({"count": 0, "seed": seed})

    async def step(self, action: Mapping[str, Any]) -> EpisodeTurn:
        if action.get("fail"):
            raise SandboxFailure("guest", "it is gone")
        if action.get("slow"):
            await asyncio.sleep(5)
        self.count += 1
        return EpisodeTurn({"count": self.count}, 1.0, self.count == 3, {"note": "x"})

    def state(self) -> Mapping[str, Any]:
        return {"more": True}

    async def close(self) -> None:
        Counts.closed += 1


async def counts() -> OpenEnvEpisode:
    return Counts()


@contextlib.contextmanager
def serves(description: Description, make: Make, most: int = 2) -> Iterator[str]:
    with serving(openenv_app(description, make, GATE, most=most), ListenAddress(), plain=True) as address:
        yield address


@pytest.fixture
def server() -> Iterator[str]:
    with serves(Description("counts", "Counts.", ANY, ANY), counts) as address:
        yield address


def with_sockets(address: str, number: int, work: Callable[..., Awaitable[None]]) -> None:
    async def live() -> None:
        async with contextlib.AsyncExitStack() as stack:
            url = address.replace("http", "ws", 1) + "/ws"
            sockets = [await stack.enter_async_context(connect(url, additional_headers=KEY)) for _ in range(number)]
            await work(*sockets)

    asyncio.run(live())


async def ask(socket: Any, kind: str, data: Any = None) -> dict[str, Any]:
    await socket.send(json.dumps({"type": kind, **({} if data is None else {"data": data})}))
    return json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S))


def test_openenv_validates_it(server: str) -> None:
    validation = client("openenv.cli._validation")
    report = validation.validate_running_environment(server.replace("//", f"//any:{TOKEN}@"), timeout_s=20)
    assert report["passed"] and report["mode"] == "simulation" and report["standard_profile"] == "openenv-http/1.x"
    assert report["summary"]["passed_count"] == report["summary"]["total_count"] == 6
    assert not validation.validate_running_environment(server, timeout_s=20)["passed"]  # without the token


def test_over_websockets_each_client_has_its_own(server: str) -> None:
    closed = Counts.closed

    async def work(one: Any, two: Any) -> None:
        assert (await ask(one, "state"))["data"] == {"episode_id": None, "step_count": 0, "more": True}
        assert (await ask(one, "step", {}))["data"]["code"] == "EXECUTION_ERROR"
        first = await ask(one, "reset", {"seed": 7, "episode_id": "mine"})
        assert first["data"] == {"observation": {"count": 0, "seed": 7, "metadata": {}}, "reward": None, "done": False}
        await ask(two, "reset", {})
        await ask(one, "step", {})
        assert (await ask(two, "step", {}))["data"]["observation"]["count"] == 1
        assert (await ask(one, "state"))["data"]["step_count"] == 1
        await ask(one, "step", {})
        last = (await ask(one, "step", {}))["data"]
        assert last["done"] and last["reward"] == 1.0 and last["metadata"] == {"note": "x"}
        assert (await ask(one, "step", {}))["data"]["code"] == "EXECUTION_ERROR"
        await ask(two, "reset")
        gone = await ask(two, "step", {"fail": True})
        assert gone["data"]["code"] == "EXECUTION_ERROR" and "infrastructure: guest" in gone["data"]["message"]
        assert (await ask(two, "reset"))["type"] == "observation"
        await one.send(json.dumps({"type": "close"}))
        await asyncio.wait_for(one.wait_closed(), PATIENCE_S)

    with_sockets(server, 2, work)
    wait_until(lambda: Counts.closed >= closed + 2)  # the server closes an episode after its socket
    assert Counts.closed == closed + 2


def test_what_is_no_message_is_told(server: str) -> None:
    async def work(socket: Any) -> None:
        async def code(text: str | bytes) -> str:
            await socket.send(text)
            return json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S))["data"]["code"]

        assert await code("{") == "INVALID_JSON"
        assert await code("[]") == "INVALID_JSON"
        assert await code(b"\xff") == "INVALID_JSON"
        assert await code('{"type": "jump"}') == "UNKNOWN_TYPE"
        assert await code('{"type": "step", "data": 5}') == "VALIDATION_ERROR"
        assert await code('{"type": "reset", "data": {"seed": -1}}') == "VALIDATION_ERROR"
        assert await code('{"type": "reset", "data": {"level": 2}}') == "VALIDATION_ERROR"
        assert (await ask(socket, "reset"))["type"] == "observation"

    with_sockets(server, 1, work)


def test_there_are_only_so_many_and_a_client_that_leaves_makes_place(server: str) -> None:
    async def full(*sockets: Any) -> None:
        await asyncio.gather(*(ask(socket, "reset") for socket in sockets[:2]))
        refused = json.loads(await asyncio.wait_for(sockets[2].recv(), PATIENCE_S))
        assert refused["data"]["code"] == "CAPACITY_REACHED"
        sockets[0].transport.abort()  # as a client that was killed
        for _ in range(100):
            async with connect(server.replace("http", "ws", 1) + "/ws", additional_headers=KEY) as again:
                with contextlib.suppress(ConnectionClosed):  # refused before it could ask
                    if (await ask(again, "reset"))["type"] == "observation":
                        return
            await asyncio.sleep(0.1)
        raise AssertionError("no place was made")

    with_sockets(server, 3, full)


def test_over_http(server: str) -> None:
    with httpx.Client(base_url=server, headers=KEY, timeout=PATIENCE_S) as web:
        assert web.post("/step", json={"action": {}}).status_code == 409
        assert web.post("/reset", json={"seed": 3}).json()["observation"]["seed"] == 3
        assert web.post("/reset").json()["observation"]["count"] == 0
        assert web.post("/step", json={"action": {}}).json()["reward"] == 1.0
        assert web.get("/state").json()["step_count"] == 1
        assert web.post("/step", json={"action": 5}).status_code == 422
        assert web.post("/step", json={"action": {"slow": True}, "timeout_s": 0.2}).status_code == 504
        assert web.post("/reset", json={"seed": "x"}).status_code == 422
        assert web.post("/mcp", json={"id": 1, "method": "tools/list"}).json()["error"]["code"] == -32601
        assert web.get("/nothing").status_code == 404
        described = web.get("/schema").json()
        for schema in described.values():
            jsonschema.Draft202012Validator.check_schema(schema)
    assert httpx.get(f"{server}/health").status_code == 401


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")
def test_each_reset_has_a_new_computer() -> None:
    apis = ComputerApis(ContainerSpec(), GATE)

    async def work(one: Any, two: Any) -> None:
        def bash(socket: Any, command: str) -> Any:
            return ask(socket, "step", {"function": "execute_bash", "arguments": {"command": command}})

        first = await ask(one, "reset", {"files": {"box/ä.txt": "plum\n"}})
        assert "/home/agent" in first["data"]["observation"]["text"]
        await ask(two, "reset")
        assert (await bash(one, "cat box/*; touch here"))["data"]["observation"]["text"] == "plum"
        assert (await bash(two, "ls"))["data"]["observation"]["text"] == "[no output]"
        cell = await ask(one, "step", {"function": "JupyterCI", "arguments": {"code": "6 * 7"}})
        assert cell["data"]["observation"]["text"] == "42"
        wrong = await ask(one, "step", {"function": "execute_bash", "arguments": {"cmd": "ls"}})
        assert wrong["data"]["observation"]["failed"]
        for action in ({"function": "nothing"}, {"function": "execute_bash", "arguments": 5}, {"tool": "x"}):
            assert (await ask(one, "step", action))["data"]["code"] == "VALIDATION_ERROR"
        wrong_files: list[Any] = [{"/etc/x": ""}, {"../x": ""}, {"a": 5}, 5]
        for files in wrong_files:
            assert (await ask(one, "reset", {"files": files}))["data"]["code"] == "VALIDATION_ERROR"
        await ask(one, "reset")
        assert (await bash(one, "ls"))["data"]["observation"]["text"] == "[no output]"

    with serving(apis.app(), ListenAddress(), plain=True) as address:
        assert httpx.get(f"{address}/health").json() == {"status": "ok"}
        with_sockets(f"{address}/openenv", 2, work)
        assert httpx.get(f"{address}/swe_rex/is_alive", headers=KEY).json()["is_alive"]
        assert (
            httpx.get(f"{address}/aio/v1/sandbox", headers=KEY, timeout=PATIENCE_S).json()["home_dir"] == "/home/agent"
        )


@pytest.mark.browser
def test_any_environment_of_the_registry() -> None:
    name = "maze_path_of_light"

    async def make() -> OpenEnvEpisode:
        return registered.RegisteredEpisode(name)

    async def work(socket: Any) -> None:
        first = (await ask(socket, "reset", {"seed": 5}))["data"]
        with Image.open(io.BytesIO(base64.b64decode(first["observation"]["screenshot"]))) as image:
            assert image.format == "PNG"
        assert first["metadata"]["instruction"] == (await ask(socket, "state"))["data"]["instruction"]
        again = (await ask(socket, "reset", {"seed": 5}))["data"]
        assert again["observation"] == first["observation"]
        turn = (await ask(socket, "step", {"text": "Action: hotkey(key='right')"}))["data"]
        assert not turn["done"] and turn["metadata"]["success"] is False
        unread = (await ask(socket, "step", {"text": "Action: fly()"}))["data"]
        assert "fly" in unread["observation"]["text"]
        assert (await ask(socket, "step", {"words": "x"}))["data"]["code"] == "VALIDATION_ERROR"
        assert (await ask(socket, "reset", {"level": "x"}))["data"]["code"] == "VALIDATION_ERROR"
        await ask(socket, "reset", {"level": 1})
        done = (await ask(socket, "step", {"text": "Action: finished(content='')"}))["data"]
        assert done["done"] and done["reward"] == 0.0

    with serves(registered.describe(name), make) as address:
        with_sockets(address, 1, work)
