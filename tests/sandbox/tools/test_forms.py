"""What agents of others call, as they write it: every answer is text that they can read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tars_jax import InputError
from tars_jax.environment import ActionSpace
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.tools.forms import FUNCTIONS, Toolbox, ToolResult
from tars_jax.sandbox.tools.kernels import Kernel
from tars_jax.sandbox.tools.pages import Pages

pytestmark = pytest.mark.multiprocess

Call = Callable[..., Awaitable[ToolResult]]
PAGES = Pages(
    {
        "https://shop.example/": "<head><title>The shop</title><script>apple</script></head><p>Fruit &amp; more</p>",
        "https://shop.example/apples": "<title>Apples</title><h1>Apples</h1><p>Red apples cost 3 coins.</p>",
        "https://shop.example/notes": "Notes\nPears cost 4 coins, apples less.",
    }
)


def with_tools(folder: Path, work: Callable[[Call], Awaitable[None]], **settings: Any) -> None:
    async def live() -> None:
        async with LocalGuest(folder, folder / "s") as guest:
            kernel = Kernel(guest.machine, kind="python")
            async with Toolbox(
                guest.machine, list(FUNCTIONS), root=str(folder), pages=PAGES, kernel=kernel, **settings
            ) as tools:

                async def call(name: str, **arguments: Any) -> ToolResult:
                    return await tools.call(name, arguments)

                await work(call)

    asyncio.run(live())


def test_schemas_are_functions_of_an_action_space() -> None:
    ActionSpace("tools", functions=tuple(FUNCTIONS.values()))
    for function in FUNCTIONS.values():
        jsonschema.Draft202012Validator.check_schema(dict(function.parameters))
        assert function.description


def test_a_toolbox_has_what_it_was_asked_for(tmp_path: Path) -> None:
    async def live() -> None:
        async with LocalGuest(tmp_path, tmp_path / "s") as guest:
            with pytest.raises(InputError, match="a function must be one of"):
                Toolbox(guest.machine, ["no_such"])
            with pytest.raises(InputError, match="pages must be given for Search"):
                Toolbox(guest.machine, ["Search"])
            answer = await Toolbox(guest.machine, ["bash"]).call("Search", {"query": "x"})
            assert answer.failed and answer.text == "a function must be one of bash; got 'Search'"

    asyncio.run(live())


def test_execute_bash(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        assert (await call("execute_bash", command="cd /tmp; X=5; echo hi")).text == "hi"
        assert (await call("execute_bash", command="echo $X; pwd; false")).text == "5\n/tmp\n[exit code 1]"
        assert (await call("execute_bash", command="true")).text == "[no output]"
        assert "no command is running" in (await call("execute_bash", command=" ")).text
        answer = await call("execute_bash", command="echo a; read x; echo got $x; sleep 60")
        assert answer.text.startswith("a\n[the command is still running")
        assert (await call("execute_bash", command="some text")).text.startswith("got some text\n[the command is still")
        assert "still running" in (await call("execute_bash", command="")).text
        assert "[exit code 130]" in (await call("execute_bash", command="C-c")).text
        assert (await call("execute_bash", command="exit 2")).text == "exit\n[the shell has ended, with exit code 2]"
        assert (await call("execute_bash", command="echo $X")).text == "[the shell had ended: this is a new one]"
        answer = await call("execute_bash", comand="ls")
        assert answer.failed and answer.text == "an argument must be one of command; got 'comand'"
        assert (await call("execute_bash")).text == "command must be given; got nothing"
        assert (await call("execute_bash", command=["ls"])).text == "command must be text; got ['ls']"

    with_tools(tmp_path, work, bash_timeout_s=1.0)


def test_anthropic_bash(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        assert (await call("bash", command="X=5; echo $X")).text == "5"
        assert "still running: restart" in (await call("bash", command="sleep 60")).text
        answer = await call("bash", command="echo")
        assert answer.failed and "a command is still running" in answer.text
        assert (await call("bash", restart="true")).text == "the shell was restarted"
        assert (await call("bash", command="echo $X.")).text == "."

    with_tools(tmp_path, work, bash_timeout_s=0.5)


@pytest.mark.parametrize("name", ["str_replace_editor", "str_replace_based_edit_tool"])
def test_editors(tmp_path: Path, name: str) -> None:
    async def work(call: Call) -> None:
        async def edit(command: str, path: str, **more: Any) -> str:
            return (await call(name, command=command, path=path, **more)).text

        inserted = "new_str" if name == "str_replace_editor" else "insert_text"
        file = str(tmp_path / "new folder/a ö.txt")
        assert await edit("create", file, file_text="one\ntwo\nthree\ntwo two\n") == f"{file} was written"
        assert "there is a file at" in await edit("create", file, file_text="other")
        assert await edit("view", file, view_range=["2", "3"]) == (
            f"The lines of {file} with their numbers:\n     2\ttwo\n     3\tthree"
        )
        assert await edit("view", file, view_range="[4, -1]") == (
            f"The lines of {file} with their numbers:\n     4\ttwo two"
        )
        assert "view_range must begin at 1 to 4" in await edit("view", file, view_range=[9, 10])
        assert "view_range must end at 3 to 4" in await edit("view", file, view_range=[3, 2])
        assert "it is there 3 times, in lines 2, 4, 4" in await edit("str_replace", file, old_str="two", new_str="2")
        assert "it was not found" in await edit("str_replace", file, old_str="four", new_str="4")
        assert "old_str must be given" in await edit("str_replace", file)
        answer = await edit("str_replace", file, old_str="one\ntwo\n", new_str="1\n2\n")
        assert answer == f"{file} was changed. It reads there:\n" + "\n".join(
            f"{number:6}\t{line}" for number, line in enumerate(["1", "2", "three", "two two"], 1)
        )
        assert "     1\tzero\n     2\t1" in await edit("insert", file, insert_line="0", **{inserted: "zero"})
        assert "insert_line must be 0 to 5" in await edit("insert", file, insert_line=6, **{inserted: "x"})
        assert "insert_line must be a number" in await edit("insert", file, insert_line="x", **{inserted: "x"})
        await edit("insert", file, insert_line=5, **{inserted: "end"})
        assert Path(file).read_text() == "zero\n1\n2\nthree\ntwo two\nend"
        if name == "str_replace_editor":
            for left in ("zero\n1\n2\nthree\ntwo two\n", "1\n2\nthree\ntwo two\n", "one\ntwo\nthree\ntwo two\n"):
                await edit("undo_edit", file)
                assert Path(file).read_text() == left
            assert "there is no such file now" in await edit("undo_edit", file)
            assert "no change" in await edit("undo_edit", file) and not Path(file).exists()
        else:
            assert "command must be one of view, create, str_replace, insert" in await edit("undo_edit", file)
        assert "No such file" in await edit("view", str(tmp_path / "none"))
        assert "path must be absolute" in await edit("view", "none")
        assert "path must be below" in await edit("view", "/etc/passwd")
        (tmp_path / ".hidden").touch()
        (tmp_path / "deep/er/est").mkdir(parents=True)
        folder = await edit("view", str(tmp_path))
        assert f"{tmp_path}/deep/er/" in folder and "est" not in folder.replace("test", "")
        assert "1 hidden entries" in folder
        (tmp_path / "binary").write_bytes(b"\0" * 9)
        assert "is no text: it has 9 bytes" in await edit("view", str(tmp_path / "binary"))
        (tmp_path / "long").write_text("x" * 100 + "\n" + "line\n" * 100_000)
        longest = await edit("view", str(tmp_path / "long"))
        assert len(longest) < 31_000 and longest.endswith("[... cut here: name the lines by view_range ...]")
        assert "     1\t" in longest

    with_tools(tmp_path, work)


def test_jupyter_form(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        assert (await call("JupyterCI", code="x = 5\nprint('hi')\nx + 1")).text == "hi\n6"
        assert "ZeroDivisionError" in (await call("JupyterCI", code="x / 0", timeout="5")).text
        assert "interrupted after 0.5 s" in (await call("JupyterCI", code="while True: pass", timeout=0.5)).text
        assert (await call("JupyterCI", code="x")).text == "5"
        assert "the kernel has ended" in (await call("JupyterCI", code="import os; os._exit(3)")).text
        assert "NameError" in (await call("JupyterCI", code="x")).text
        assert (await call("JupyterCI", code="1", timeout="soon")).failed

    with_tools(tmp_path, work)


def test_shells_and_cells_know_the_display(tmp_path: Path) -> None:
    async def live() -> None:
        async with (
            LocalGuest(tmp_path, tmp_path / "s") as guest,
            Toolbox(guest.machine, ["execute_bash", "JupyterCI"]) as tools,
        ):
            guest.machine.variables = {"DISPLAY": ":7"}
            assert (await tools.call("execute_bash", {"command": "echo $DISPLAY"})).text.startswith(":7")
            cell = {"code": "import os; print(os.environ['DISPLAY'])"}
            assert (await tools.call("JupyterCI", cell)).text.strip() == ":7"

    asyncio.run(live())


def test_search_and_link_reader(tmp_path: Path) -> None:
    async def work(call: Call) -> None:
        found = (await call("Search", query="red APPLES")).text
        assert found.startswith("1. Apples\nhttps://shop.example/apples\nRed apples cost 3 coins.")
        assert "https://shop.example/notes" in found and "https://shop.example/\n" not in found
        assert (await call("Search", query="zebra")).text == "nothing was found for 'zebra'"
        page = (await call("LinkReader", url="https://shop.example#top", description="what is sold")).text
        assert page == "The shop\n\nFruit & more"
        assert (await call("LinkReader", url="https://elsewhere.example/")).failed

    with_tools(tmp_path, work)


@pytest.mark.parametrize("name", ["str_replace_editor", "str_replace_based_edit_tool"])
def test_files_keep_the_ends_of_their_lines(tmp_path: Path, name: str) -> None:
    async def work(call: Call) -> None:
        file = tmp_path / "dos.txt"
        added = "insert_text" if name == "str_replace_based_edit_tool" else "new_str"

        async def edit(command: str, **arguments: Any) -> ToolResult:
            return await call(name, command=command, path=str(file), **arguments)

        file.write_bytes(b"one\r\ntwo\r\nthree")
        assert "\r" not in (await edit("view")).text
        assert not (await edit("str_replace", old_str="one\ntwo", new_str="1\n2\n2.5")).failed
        assert file.read_bytes() == b"1\r\n2\r\n2.5\r\nthree"
        assert not (await edit("str_replace", old_str="three", new_str="3\n4")).failed
        assert file.read_bytes() == b"1\r\n2\r\n2.5\r\n3\r\n4"
        assert not (await edit("insert", insert_line=5, **{added: "5\n"})).failed
        assert not (await edit("insert", insert_line=0, **{added: "0"})).failed
        assert file.read_bytes() == b"0\r\n1\r\n2\r\n2.5\r\n3\r\n4\r\n5\r\n"
        assert not (await edit("str_replace", old_str="4\r\n5", new_str="4\n5")).failed  # ends that were asked for
        assert file.read_bytes().endswith(b"3\r\n4\n5\r\n")
        assert not (await edit("str_replace", old_str="4\n", new_str="4\nand\n")).failed
        assert file.read_bytes().endswith(b"3\r\n4\nand\n5\r\n")
        file.write_bytes(b"a\nb\n")
        assert not (await edit("str_replace", old_str="a\nb", new_str="a\r\nb")).failed
        assert file.read_bytes() == b"a\r\nb\n"

    with_tools(tmp_path, work)
