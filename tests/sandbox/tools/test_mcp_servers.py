"""MCP servers inside of a computer, good and odd: whatever they do, the agent has an answer that it can read."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

from tars_jax import InputError
from tars_jax.agent.actions import ActionError
from tars_jax.agent.functions import Bare, check_space, tool_call
from tars_jax.environment import ActionSpace
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.mcp.functions import ForeignTools
from tars_jax.sandbox.tools.mcp.schemas import writable
from tars_jax.sandbox.tools.mcp.spec import read_specs
from tars_jax.sandbox.tools.names import folded, free_name
from tests.ports import free_port

pytestmark = pytest.mark.multiprocess

ODD = Path(__file__).with_name("odd_mcp_server.py")
NPM = Path(__file__).parents[3] / ".cache/mcp/node_modules/@modelcontextprotocol"
PATIENT = {"start_s": 300}


def odd(kind: str = "good", name: str = "odd", **more: Any) -> dict[str, Any]:
    return {"name": name, "command": sys.executable, "args": ["-I", str(ODD), kind], **PATIENT, **more}


def with_tools(
    folder: Path, servers: list[dict[str, Any]], work: Callable[[ForeignTools], Awaitable[None]], taken: Any = ()
) -> None:
    async def live() -> None:
        async with (
            LocalGuest(folder, folder / "s") as guest,
            ForeignTools(guest.machine, read_specs(servers), taken) as tools,
        ):
            await work(tools)

    asyncio.run(live())


def test_names_schemas_and_results(tmp_path: Path) -> None:
    async def work(tools: ForeignTools) -> None:
        names = [function.name for function in tools.functions]
        ActionSpace("tools", ("click",), tools.functions)
        assert names[:2] == ["echo", "count"] and len(names) == len(set(names)) == 38
        assert {"odd_click", "odd_n_me_", "_1st", "two_echo", "two_click", "two_odd_n_me_"} <= set(names)
        assert "click" not in names
        assert tools.functions[0].parameters["required"] == ["text"]
        assert tools.functions[0].description == "does echo"
        assert (await tools.call("echo", {"text": "grün 🌳"})).text == "grün 🌳"
        assert (await tools.call("odd_n_me_", {})).text == "called odd näme!"
        seen = await tools.call("picture", {})
        assert seen.text.splitlines() == [
            "see", "[image 1]", "[image: image/webp, about 12 bytes, not shown]",
            "[audio: audio/wav, about 3 bytes, not shown]",
        ]  # fmt: skip
        assert len(seen.images) == 1 and seen.images[0].startswith(b"\x89PNG")
        many = (await tools.call("many", {})).text
        assert len(many) < 31_000 and many.startswith("line 0\n") and "further parts" in many
        wrong = await tools.call("error", {})
        assert wrong.failed and wrong.text == "that is not there"
        refused = await tools.call("refuse", {})
        assert refused.failed and refused.text == "MCP server odd: it refused: never"
        kinds = [(await tools.call("structured", {"kind": kind})).text for kind in ("beside", "same", "only")]
        assert kinds == ['see there\n{"value": [1, "ü"]}', '{"value": 1}', "text"]
        one, two = await asyncio.gather(tools.call("two_count", {}), tools.call("two_count", {}))
        assert {one.text, two.text} == {"1", "2"}

    with_tools(tmp_path, [odd(), odd(name="two")], work, taken=("click",))


def test_parameters_of_any_name_and_tools_that_can_be_none(tmp_path: Path) -> None:
    async def work(tools: ForeignTools) -> None:
        query = next(function for function in tools.functions if function.name == "query")
        check_space(ActionSpace("tools", functions=(query,)))
        ours = list(query.parameters["properties"])
        assert ours == ["parameter_filter", "parameter", "filter"] and query.parameters["required"] == ["parameter"]
        assert query.parameters["properties"]["parameter"]["description"] == "城市"
        written = {"parameter": '{"$filter": 1}', "parameter_filter": "a b", "filter": Bare("5")}
        call = tool_call(query, written)
        assert json.loads((await tools.call("query", call.parameters)).text) == {
            "$filter": "a b", "filter": 5, "城市": {"$filter": 1},
        }  # fmt: skip
        with pytest.raises(ActionError, match="filter"):
            tool_call(query, {"parameter": "{}", "parameter_filter": "a"})
        said = "of the MCP server odd is left out: inputSchema"
        assert len(tools.left_out) == 5
        assert tools.left_out[0] == f"tool 'no object' {said}.type: Input should be 'object'; got 'array'"
        assert tools.left_out[3].startswith(f"tool 'wide' {said}.required: ")
        assert tools.left_out[4] == "tool 'all of' of the MCP server odd is left out: 'int' object is not iterable"
        tools.leave_out("echo", "why not")
        assert "echo" not in tools and all(function.name != "echo" for function in tools.functions)
        again = ForeignTools.restore(tools.servers[0]._machine, [tools.servers[0].spec], tools.snapshot())
        assert "query" in again and again.functions[-1] == query
        for server in again.servers:
            await server.close()

    with_tools(tmp_path, [odd()], work)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"required": "text"}, "must be one of an object"),
        ({"properties": {"a": {"description": "x" * 70_000}}}, "must have at most 65,536 characters"),
        ({"properties": {"$a": {}}, "allOf": [{"$ref": "#/$defs/b"}]}, "must have names of letters"),
    ],
)
def test_schemas_that_cannot_be_written(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        writable(schema, "its schema")


def test_expressions_that_may_take_long_are_left_to_the_tool() -> None:
    slow, quick = {"type": "string", "pattern": "^(a+)+$"}, {"type": "string", "pattern": "^[a-z]{1,8}$"}
    schema = {
        "properties": {"pattern": slow, "quick": quick, "either": {"oneOf": [slow, quick]}, "none": {"not": slow}},
        "patternProperties": {"(x*)*y": {}}, "additionalProperties": False,
    }  # fmt: skip
    written, _ = writable(schema, "its schema")
    told = {"type": "string", "description": "(matches ^(a+)+$)"}
    assert written == {
        "type": "object",
        "properties": {"pattern": told, "quick": quick, "either": {"anyOf": [told, quick]}, "none": {}},
    }


def test_names_are_others_wherever_the_arguments_are_meant() -> None:
    schema = {
        "properties": {"$a": {"properties": {"$a": {}}}, "b": {"$ref": "#/properties/%24a/properties/$a"}},
        "if": {"required": ["$a"]}, "then": {"properties": {"$a": {"minLength": 1}}},
        "dependentSchemas": {"$a": {"required": ["b", "$a"]}},
    }  # fmt: skip
    written, names = writable(schema, "its schema")
    assert names == {"a": "$a"}
    assert written["properties"]["b"] == {"$ref": "#/properties/a/properties/$a"}
    assert written["properties"]["a"] == {"properties": {"$a": {}}, "description": "$a"}
    assert (written["if"], written["then"]) == ({"required": ["a"]}, {"properties": {"a": {"minLength": 1}}})
    assert written["dependentSchemas"] == {"a": {"required": ["b", "a"]}}


def test_what_a_server_does_wrong_is_an_answer(tmp_path: Path) -> None:
    async def work(tools: ForeignTools) -> None:
        assert (await tools.call("count", {})).text == "1"
        for name, said in (
            ("hang", "it did not answer in 3 s"),
            ("nonsense", "its answer is none"),
            ("die", "it has ended"),
        ):
            answer = await tools.call(name, {})
            assert answer.failed and answer.text.startswith(f"MCP server odd: {said}"), (name, answer)
            if name == "hang":  # it reads nothing more: the next call waits in vain, too
                assert (await tools.call("count", {})).failed
                await tools.servers[0].close()
        assert (await tools.call("count", {})).text == "[the server had ended: this is a new one]\n1"
        assert (await tools.call("count", {})).text == "2"
        answer = await tools.call("print", {})
        assert answer.failed and "lines that are no messages" in answer.text
        answer = await tools.call("huge", {})
        assert answer.failed and "more than 8 MiB" in answer.text
        answer = await tools.call("half", {})
        assert answer.failed and "it has ended" in answer.text
        functions = tools.functions
        assert (await tools.call("change", {})).text.endswith("changed")
        assert (await tools.call("count", {})).text == "2"
        assert tools.servers[0].changed and tools.functions is functions

    with_tools(tmp_path, [odd(call_s=3)], work)


def test_a_program_that_is_taken_away_is_an_answer(tmp_path: Path) -> None:
    script = tmp_path / "its own" / "server.py"
    script.parent.mkdir()
    shutil.copy(ODD, script)

    async def work(tools: ForeignTools) -> None:
        script.unlink()
        assert (await tools.call("die", {})).failed
        answer = await tools.call("count", {})
        assert answer.failed and "does not start again" in answer.text

    with_tools(tmp_path, [{**odd(), "args": ["-I", str(script), "good"]}], work)


def test_a_server_is_let_go_and_taken_up(tmp_path: Path) -> None:
    async def work(tools: ForeignTools) -> None:
        assert (await tools.call("count", {})).text == "1"
        first = tools.servers[0].process
        for number in ("2", "3"):
            await tools.detach()
            await tools.detach()
            assert (await tools.call("count", {})).text == number and tools.servers[0].process == first
        changing = asyncio.create_task(tools.call("change", {}))
        await asyncio.sleep(0)
        with pytest.raises(InputError, match="must have ended"):
            await tools.detach()
        assert (await changing).text.endswith("changed")
        assert (await asyncio.gather(*(tools.call("count", {}) for _ in range(3))))[2].text == "7"

    with_tools(tmp_path, [odd()], work)


def test_another_owner_goes_on_with_a_server(tmp_path: Path) -> None:
    async def work(tools: ForeignTools) -> None:
        assert (await tools.call("two_count", {})).text == "1"
        await tools.detach()
        state = json.loads(json.dumps(tools.snapshot()))
        machine, specs = tools.servers[0]._machine, [server.spec for server in tools.servers]
        others = ForeignTools.restore(machine, specs, state)
        assert others.functions == tools.functions
        assert (await others.call("two_count", {})).text == "2"
        await others.__aexit__()
        gone = ForeignTools.restore(machine, specs, state)
        assert (await gone.call("count", {})).text == "[the server had ended: this is a new one]\n1"
        await gone.__aexit__()

    with_tools(tmp_path, [odd(), odd(name="two")], work)


def test_a_late_answer_is_nobodys(tmp_path: Path) -> None:
    """A request of the owner before had the number that one of this owner would have."""

    async def work(tools: ForeignTools) -> None:
        for _ in range(2):  # the answer to the first comes while the second waits
            late = await tools.call("later", {})
            assert late.failed and "did not answer in 1 s" in late.text
            await tools.detach()
        assert (await tools.call("count", {})).text == "3"

    with_tools(tmp_path, [odd(call_s=1)], work)


def test_a_machine_that_is_gone_is_a_failure_of_the_sandbox(tmp_path: Path) -> None:
    async def live() -> None:
        async with LocalGuest(tmp_path, tmp_path / "s") as guest:
            tools = await ForeignTools(guest.machine, read_specs([odd()])).__aenter__()
            guest.process.kill()
            await guest.process.wait()
            with pytest.raises(SandboxFailure, match="guest"):
                await tools.call("count", {})
            await tools.__aexit__()

    asyncio.run(live())


@pytest.mark.parametrize(
    ("server", "kind", "said"),
    [
        (odd("silent", start_s=2), SandboxFailure, "mcp: server odd did not start: it did not answer in 2 s"),
        (odd("prints"), SandboxFailure, "lines that are no messages"),
        ({**odd(), "command": "false", "args": []}, SandboxFailure, "did not start: it has ended"),
        ({**odd(), "command": "no_such_program"}, InputError, "odd must have a command that can be started"),
        (odd("5000"), InputError, "tools of mcp server odd must name those that are wanted, as it has 5000"),
        (odd("5000", tools=["tool_4999", "none"]), InputError, "tools of mcp server odd must be of tool_0, tool_1"),
    ],
)  # fmt: skip
def test_a_server_that_does_not_start(tmp_path: Path, server: Any, kind: type[Exception], said: str) -> None:
    async def work(tools: ForeignTools) -> None:
        raise AssertionError("it began")

    with pytest.raises(kind, match=said):
        with_tools(tmp_path, [server], work)


def test_few_of_thousands_of_tools(tmp_path: Path) -> None:
    async def work(tools: ForeignTools) -> None:
        assert [function.name for function in tools.functions] == ["tool_4999", "tool_3"]
        assert (await tools.call("tool_4999", {})).text == "called tool_4999"

    with_tools(tmp_path, [odd("5000", tools=["tool_4999", "tool_3"]), odd("endless", name="none")], work)


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"name": "x"}, "mcp must be a list of servers"),
        ([{"name": "x"}], "mcp[0].command must be the program that serves"),
        ([{"name": "a b", "command": "x"}], "mcp[0].name must be at most 40 letters, digits, _ and -"),
        ([{"name": "a", "command": "x"}, {"name": "a", "command": "y"}], "names of mcp must differ; got 'a' twice"),
        ([{"name": "a", "command": "x", "args": "y"}], "mcp[0].args must be an array"),
        ([{"name": "a", "command": "x", "show": ["/no/such"]}], "mcp[0].show must name absolute paths"),
        ([{"name": "a", "command": "x", "shell": True}], "mcp[0].shell must be left out"),
        ([{"name": "a", "port": 70000}], "mcp[0].port must be a whole number from 0 to 65535"),
    ],
)
def test_specs(servers: Any, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_specs(servers)
    assert str(raised.value).startswith(said)


def test_free_names() -> None:
    taken = {folded("read_file"), folded("fs_read_file")}
    assert free_name("Read-File", "fs", taken) == "fs_Read-File_2"
    assert free_name("x" * 200, "fs", ()) == "x" * 64
    assert free_name("读", "2", {folded("_")}) == "_2__"


@pytest.mark.slow
def test_servers_of_python(tmp_path: Path) -> None:
    pytest.importorskip("mcp_server_time")
    pytest.importorskip("mcp_server_git")
    if shutil.which("git") is None:
        pytest.skip("needs git")
    python = {"command": sys.executable, **PATIENT}
    servers = [
        {"name": "time", **python, "args": ["-m", "mcp_server_time", "--local-timezone", "Etc/UTC"]},
        {"name": "git", **python, "args": ["-m", "mcp_server_git"]},
    ]

    async def work(tools: ForeignTools) -> None:
        arguments = {"source_timezone": "Etc/UTC", "target_timezone": "Asia/Tokyo", "time": "12:00"}
        assert '"time_difference": "+9.0h"' in (await tools.call("convert_time", arguments)).text
        assert (await tools.call("convert_time", {**arguments, "time": "25:61"})).failed
        shell = tools.servers[0]._machine
        assert (await shell.run(["git", "init", "-q", "re po"])).status == 0
        await shell.run(["touch", "re po/néw"])
        repository = {"repo_path": f"{shell.home}/re po"}
        assert "Untracked files" in (await tools.call("git_status", repository)).text
        assert not (await tools.call("git_add", {**repository, "files": ["néw"]})).failed

    with_tools(tmp_path, servers, work)


@pytest.mark.slow
def test_servers_of_node_by_stdio_and_http(tmp_path: Path) -> None:
    if shutil.which("node") is None or not (NPM / "server-everything").is_dir():
        pytest.skip("needs node, and ./launch/mcp_servers.sh")
    everything = str(NPM / "server-everything/dist/index.js")
    node, port = {"command": "node", **PATIENT}, free_port()
    servers = [
        {"name": "fs", **node, "args": [str(NPM / "server-filesystem/dist/index.js"), str(tmp_path)]},
        {"name": "all", **node, "args": [everything, "stdio"]},
        {"name": "web", **node, "args": [everything, "streamableHttp"], "port": port, "env": {"PORT": str(port)}},
    ]

    async def work(tools: ForeignTools) -> None:
        path = f"{tmp_path}/a ä.txt"
        assert not (await tools.call("write_file", {"path": path, "content": "plum\n"})).failed
        assert (tmp_path / "a ä.txt").read_text() == "plum\n"
        refused = await tools.call("read_text_file", {"path": "/etc/passwd"})
        assert refused.failed and "Access denied" in refused.text
        assert (await tools.call("web_echo", {"message": "ä"})).text == "Echo: ä"
        assert "5" in (await tools.call("web_get-sum", {"a": 2, "b": 3})).text
        assert (await tools.call("get-tiny-image", {})).images
        assert (await tools.call("web_get-sum", {"a": "x"})).failed
        server = tools.servers[2]
        process = server._way.process
        assert process is not None
        await server._machine.kill(process)
        assert (await tools.call("web_echo", {"message": "x"})).failed
        # Beside load, its end may be heard of by two calls: of the connection, and of the process.
        answers = [await tools.call("web_echo", {"message": "x"}) for _ in range(2)]
        assert any(answer.text.endswith("]\nEcho: x") for answer in answers)

    with_tools(tmp_path, servers, work)
