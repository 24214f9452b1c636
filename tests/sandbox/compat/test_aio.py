"""AIO Sandbox's own client, unmodified: shells, files, kernels, code; and what a computer has no part for."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.sandbox.compat.clients import TOKEN, client, refused
from tests.waiting import until, wait_until

pytestmark = pytest.mark.multiprocess

KEY = {"X-API-Key": TOKEN}


def test_shells_keep_their_state(sandbox: Any) -> None:
    first = sandbox.shell.exec_command(command="cd /tmp; X='ü b'; echo hi").data
    assert (first.output, first.status, first.exit_code) == ("hi\n", "completed", 0)
    again = sandbox.shell.exec_command(command="echo $X; pwd; false", id=first.session_id).data
    assert (again.output, again.exit_code) == ("ü b\n/tmp\n", 1)
    other = sandbox.shell.create_session(id="other", exec_dir="/usr").data
    assert (other.session_id, other.working_dir) == ("other", "/usr")
    assert sandbox.shell.create_session(id="other").data.working_dir == "/usr"
    assert sandbox.shell.exec_command(command="echo $X; pwd", id="other").data.output == "\n/usr\n"
    assert sandbox.shell.exec_command(command="pwd", id="other", exec_dir="/etc").data.output == "/etc\n"
    assert sandbox.shell.exec_command(command="pwd", id="other", exec_dir="/no").data.output == "/etc\n"
    with refused(400):
        sandbox.shell.exec_command(command="pwd", id="other", exec_dir="/no", strict=True)
    with refused(422):
        sandbox.shell.exec_command(command="pwd", id="other", exec_dir="relative")
    with refused(404):
        sandbox.shell.exec_command(command="true", id="never made")
    assert {"other", first.session_id} <= set(sandbox.shell.list_sessions().data.sessions)
    assert sandbox.shell.get_session_stats().total_sessions >= 2
    sandbox.shell.cleanup_session("other")
    with refused(404):
        sandbox.shell.view(id="other")
    with refused(501):
        sandbox.shell.get_terminal_url()
    sandbox.shell.cleanup_all_sessions()
    assert sandbox.shell.list_sessions().data.sessions == {}


def test_commands_that_run_on(sandbox: Any) -> None:
    shell = sandbox.shell
    begun = shell.exec_command(command="echo a; read x; echo got $x; sleep 60", async_mode=True).data
    id = begun.session_id
    assert begun.status == "running" and begun.exit_code is None
    with refused(409):
        shell.exec_command(command="echo too soon", id=id)
    shell.write_to_process(id=id, input="some text", press_enter=True)
    wait_until(lambda: "got some text" in shell.view(id=id).data.output)
    assert shell.view(id=id).data.status == "running"
    assert shell.wait_for_process(id=id, seconds=1).data.status == "running"
    assert shell.kill_process(id=id).data.status == "terminated"
    assert shell.exec_command(command="echo on", id=id).data.output == "on\n"
    assert shell.exec_command(command="sleep 60", id=id, timeout=0.3).data.status == "running"
    shell.kill_process(id=id)
    assert shell.exec_command(command="echo x; sleep 60", id=id, hard_timeout=0.5).data.status == "hard_timeout"
    quiet = shell.exec_command(command="echo x; sleep 60", id=id, no_change_timeout=1).data
    assert (quiet.status, quiet.output) == ("no_change_timeout", "x\n")
    shell.kill_process(id=id)
    huge = shell.exec_command(command="yes | head -c 3000000", id=id).data
    assert huge.status == "completed" and len(huge.output) < 31_000 and "bytes cut" in huge.output
    assert 31_000 < len(shell.exec_command(command="seq 20000", id=id, truncate=False).data.output) < 201_000


def test_two_clients_and_one_that_leaves(server: tuple[str, Path]) -> None:
    sandboxes = client("agent_sandbox")

    async def live() -> None:
        one, two = (sandboxes.AsyncSandbox(base_url=server[0], headers=KEY) for _ in range(2))
        id = (await one.shell.create_session()).data.session_id
        left = asyncio.ensure_future(one.shell.exec_command(command="sleep 2; touch done", id=id))
        await asyncio.sleep(0.5)
        left.cancel()  # the connection breaks in the midst of the call
        outputs = await asyncio.gather(*(two.shell.exec_command(command=f"echo {n}") for n in range(4)))
        assert [each.data.output for each in outputs] == [f"{n}\n" for n in range(4)]
        assert (await two.shell.wait_for_process(id=id, seconds=20)).data.status == "completed"
        await two.shell.cleanup_all_sessions()

    asyncio.run(live())
    assert (server[1] / "done").exists()


def test_files(sandbox: Any, server: tuple[str, Path], tmp_path: Path) -> None:
    files, home = sandbox.file, server[1]
    name = str(home / "box é" / "a.txt")
    assert files.write_file(file=name, content="one\ntwo\nthree\n").data.bytes_written == 14
    files.write_file(file=name, content="four", append=True, trailing_newline=True)
    assert files.read_file(file=name).data.content == "one\ntwo\nthree\nfour\n"
    assert files.read_file(file=name, start_line=1, end_line=3).data.content == "two\nthree\n"
    assert files.read_file(file=name, start_line=2, end_line=2).data.content == ""
    assert files.replace_in_file(file=name, old_str="t", new_str="T").data.replaced_count == 2
    found = files.search_in_file(file=name, regex="^T.o").data
    assert (found.matches, found.line_numbers) == (["Two"], [1])
    with refused(404):
        files.read_file(file="/no/such")
    with refused(400):
        files.search_in_file(file=name, regex="(")
    binary = bytes(range(256)) * 20_000
    files.write_file(file=str(home / "b.bin"), content=base64.b64encode(binary).decode(), encoding="base64")
    assert b"".join(files.download_file(path=str(home / "b.bin"))) == binary
    with refused(413):
        files.read_file(file=str(home / "b.bin"))
    (tmp_path / "ü p.bin").write_bytes(binary)
    with open(tmp_path / "ü p.bin", "rb") as file:
        uploaded = files.upload_file(file=file, path=str(home / "up.bin")).data
    assert uploaded.file_size == len(binary) and (home / "up.bin").read_bytes() == binary
    with refused(422):
        files.write_file(file=name, content="%", encoding="base64")


def test_files_are_found(sandbox: Any, server: tuple[str, Path]) -> None:
    files, home = sandbox.file, server[1] / "tree"
    for path, text in (("a.py", "x = 1\nY = 2\n"), ("sub/b.py", "y = 3\n"), ("sub/c.txt", "y\n"), (".git/d.py", "y")):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)

    def paths(found: Any) -> list[str]:
        return [str(Path(each).relative_to(home)) for each in found]

    assert paths(files.find_files(path=str(home), glob="*.py").data.files) == ["a.py", ".git/d.py", "sub/b.py"]
    globbed = files.glob_files(path=str(home), pattern="**/*.py", sort_by="size", sort_desc=True).data
    assert paths(each.path for each in globbed.files) == ["a.py", "sub/b.py"] and not globbed.truncated
    assert paths(each.path for each in files.glob_files(path=str(home), pattern="*.py").data.files) == ["a.py"]
    grepped = files.grep_files(path=str(home), pattern="^y", include=["*.py"], case_insensitive=True, context_before=1)
    grepped = grepped.data
    places = [(str(Path(each.file).relative_to(home)), each.line_number) for each in grepped.matches]
    assert places == [("a.py", 2), (".git/d.py", 1), ("sub/b.py", 1)]
    assert grepped.matches[0].context_before == ["x = 1"] and grepped.files_searched == 3
    limited = files.grep_files(path=str(home), pattern="y", max_results=1, exclude=[".git"]).data
    assert len(limited.matches) == 1 and limited.truncated
    listed = files.list_path(path=str(home), recursive=True, sort_by="type").data
    assert [each.name for each in listed.files] == ["sub", "a.py", "b.py", "c.txt"]
    assert (listed.directory_count, listed.file_count) == (1, 3)
    for call in (files.list_path, lambda path: files.glob_files(path=path, pattern="*")):
        with pytest.raises(client("agent_sandbox.core.api_error").ApiError):
            call(path=str(home / "nothing"))


def test_editor(sandbox: Any, server: tuple[str, Path]) -> None:
    edit, path = sandbox.file.str_replace_editor, str(server[1] / "e.txt")
    made = edit(command="create", path=path, file_text="a\nb\na\n").data
    assert (made.prev_exist, made.new_content, made.error) == (False, "a\nb\na\n", None)
    twice = edit(command="str_replace", path=path, old_str="a", new_str="c").data
    assert twice.error and twice.new_content == "a\nb\na\n"
    edit(command="str_replace", path=path, old_str="a", new_str="c", replace_mode="LAST")
    assert edit(command="insert", path=path, insert_line=1, new_str="new").data.new_content == "a\nnew\nb\nc\n"
    assert "2\tnew" in edit(command="view", path=path, view_range=[2, 2]).data.output.replace(" ", "")
    assert edit(command="undo_edit", path=path).data.new_content == "a\nb\nc\n"


def test_kernels_and_code(sandbox: Any) -> None:
    jupyter, code = sandbox.jupyter, sandbox.code
    first = jupyter.execute_code(code="x = 20\nprint('hi')\nx + 1", session_id="mine").data
    assert (first.status, first.session_id, first.execution_count) == ("ok", "mine", 1)
    assert [each.output_type for each in first.outputs] == ["stream", "execute_result"]
    assert first.outputs[0].text == "hi\n" and first.outputs[1].data == {"text/plain": "21"}
    error = jupyter.execute_code(code="x / 0", session_id="mine").data
    assert (error.status, error.outputs[-1].ename) == ("error", "ZeroDivisionError")
    assert jupyter.execute_code(code="while True: pass", session_id="mine", timeout=1).data.status == "timeout"
    assert jupyter.execute_code(code="x", session_id="mine").data.outputs[0].data == {"text/plain": "20"}
    assert jupyter.execute_code(code="x").data.status == "error"  # a session of its own
    assert "mine" in jupyter.list_sessions().data.sessions and jupyter.get_info().data.active_sessions == 2
    jupyter.delete_session("mine")
    jupyter.delete_sessions()
    with refused(404):
        jupyter.delete_session("mine")

    ran = code.execute_code(language="python", code="import sys; print(1); print(2, file=sys.stderr); sys.exit(3)").data
    assert (ran.stdout, ran.stderr, ran.exit_code, ran.status) == ("1\n", "2\n", 3, "error")
    assert code.execute_code(language="python", code="while True: pass", timeout=1).data.status == "timeout"
    kept = code.execute_code(language="python", code="z = 5", stateful=True).data
    again = code.execute_code(language="python", code="z", stateful=True, session_id=kept.session_id).data
    assert again.outputs[0]["data"] == {"text/plain": "5"}
    assert code.get_info().data.languages[0].language == "python"
    with refused(422):
        code.execute_code(language="cobol", code="x")


def test_what_a_computer_is_and_is_not(sandbox: Any, server: tuple[str, Path]) -> None:
    context = sandbox.sandbox.get_context()
    assert context.home_dir == str(server[1]) and context.detail.system.os == "Linux"
    assert isinstance(sandbox.sandbox.get_python_packages().data, list)
    for call in (
        sandbox.browser.get_info, lambda: b"".join(sandbox.browser.screenshot()), sandbox.skills.list_metadata,
        lambda: sandbox.browser_page.navigate(url="https://example.com"), sandbox.proxy.list_mappings,
    ):  # fmt: skip
        with refused(501):
            call()
    answer = httpx.get(f"{server[0]}/v1/browser/info", headers=KEY)
    assert answer.json() == {"success": False, "message": "a browser is not part of this session", "data": None}
    assert httpx.get(f"{server[0]}/v1/sandbox").status_code == 401
    wrong = httpx.post(f"{server[0]}/v1/shell/exec", headers=KEY, json={"command": 5})
    assert wrong.status_code == 422 and wrong.json()["detail"][0]["loc"] == ["body", "command"]
    assert httpx.post(f"{server[0]}/v1/file/upload", headers=KEY, content=b"x").status_code == 400


def test_sessions_make_place_and_nobody_waits_for_another(server: tuple[str, Path]) -> None:
    async def live() -> None:
        async with httpx.AsyncClient(base_url=server[0], headers=KEY, timeout=120) as http:

            async def post(path: str, **body: Any) -> Any:
                answer = await http.post(f"/v1/{path}", json=body)
                assert answer.status_code == 200, answer.text
                return answer.json()["data"]

            async def listed() -> Any:
                return (await http.get("/v1/shell/sessions")).json()["data"]["sessions"]

            first = await post("shell/exec", command="echo first")
            slow = asyncio.create_task(post("shell/exec", command="sleep 60", id=first["session_id"]))
            await until(lambda: runs(listed))
            assert (await listed())[first["session_id"]]["current_command"] == "sleep 60"
            for some in range(7):  # more than there may be, in all
                each = await asyncio.gather(*(post("shell/exec", command=f"echo {some}") for _ in range(10)))
                assert {one["output"] for one in each} == {f"{some}\n"}
            sessions = await listed()
            assert len(sessions) == 64 and first["session_id"] in sessions
            await post("shell/kill", id=first["session_id"])
            assert (await slow)["status"] in ("terminated", "completed")
            await post("shell/exec", command="kill -9 $$ & sleep .2", id=first["session_id"])
            again = await post("shell/exec", command="echo again", id=first["session_id"])
            assert again["output"] in ("again\n", "[the shell had ended: this is a new one]\nagain\n")
            await http.delete("/v1/shell/sessions")

    asyncio.run(live())


async def runs(listed: Any) -> bool:
    return "running" in {each["status"] for each in (await listed()).values()}


def test_streams_and_html_of_cells_are_apart(server: tuple[str, Path]) -> None:
    with httpx.Client(base_url=server[0], headers=KEY, timeout=120) as http:
        code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\n"
        code += "class P:\n    def _repr_html_(self): return '<b>bold</b>'\nP()"
        outputs = http.post("/v1/jupyter/execute", json={"code": code}).json()["data"]["outputs"]
        streams = {each["name"]: each["text"] for each in outputs if each["output_type"] == "stream"}
        assert streams == {"stdout": "out\n", "stderr": "err\n"}
        result = next(each for each in outputs if each["output_type"] == "execute_result")
        assert result["data"]["text/html"] == "<b>bold</b>" and "P" in result["data"]["text/plain"]
        stateful = {"language": "python", "stateful": True, "code": code}
        said = http.post("/v1/code/execute", json=stateful).json()["data"]
        assert (said["stdout"], said["stderr"], said["exit_code"]) == ("out\n", "err\n", 0)
        http.delete("/v1/jupyter/sessions")
