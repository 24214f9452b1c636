"""AIO Sandbox's own client, unmodified: bash with stdout and stderr apart, and JavaScript."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.sandbox.compat.clients import TOKEN, refused
from tests.waiting import wait_until

pytestmark = pytest.mark.multiprocess
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


@pytest.fixture
def http(server: tuple[str, Path]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server[0], headers={"X-API-Key": TOKEN}, timeout=60) as client:
        yield client


def exec_bash(http: httpx.Client, **body: Any) -> Any:
    answer = http.post("/v1/bash/exec", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_streams_are_apart_and_the_session_remembers(sandbox: Any) -> None:
    left = sandbox.bash.exec(command="echo out; echo err >&2; exit 4").data
    assert (left.stdout, left.stderr, left.exit_code) == ("out\n", "err\n", 4)
    first = sandbox.bash.exec(command="cd /tmp; X='ü b'\necho out; echo err >&2; f() { echo $1; }").data
    assert (first.stdout, first.stderr, first.status, first.exit_code) == ("out\n", "err\n", "completed", 0)
    again = sandbox.bash.exec(command='f "$X"; pwd; false', session_id=first.session_id).data
    assert (again.stdout, again.stderr, again.exit_code) == ("ü b\n/tmp\n", "", 1)
    variables = sandbox.bash.exec(command="env | grep ^ONLY; echo $ONLY", session_id=first.session_id,
                                  env={"ONLY": "a 'b'"}).data  # fmt: skip
    assert variables.stdout == "ONLY=a 'b'\na 'b'\n"
    assert sandbox.bash.exec(command="echo [$ONLY]", session_id=first.session_id).data.stdout == "[]\n"
    moved = sandbox.bash.exec(command="pwd", session_id=first.session_id, exec_dir="/usr").data
    assert moved.stdout == "/usr\n"
    (session,) = [each for each in sandbox.bash.sessions().data if each.session_id == first.session_id]
    assert (session.status, session.working_dir, session.command_count) == ("ready", "/usr", 5)
    with refused(400):
        sandbox.bash.exec(command="pwd", session_id=first.session_id, exec_dir="/no/such")
    with refused(422):
        sandbox.bash.exec(command="pwd", env={"not a name": "x"})
    sandbox.bash.close_session(first.session_id)
    with refused(404):
        sandbox.bash.output(session_id=first.session_id)


def test_a_command_that_runs_on_is_read_written_to_and_killed(sandbox: Any) -> None:
    begun = sandbox.bash.exec(command="echo first; read line; echo got $line >&2; sleep 60", async_mode=True).data
    assert begun.status == "running"
    id = begun.session_id
    with refused(409):
        sandbox.bash.exec(command="true", session_id=id)
    told = sandbox.bash.output(session_id=id, command_id=begun.command_id, wait=True, wait_timeout=30).data
    assert told.stdout == "first\n" and told.command.status == "running"
    sandbox.bash.write(session_id=id, input="words\n")
    later = sandbox.bash.output(session_id=id, offset=told.offset, stderr_offset=told.stderr_offset, wait=True,
                                wait_timeout=30).data  # fmt: skip
    assert (later.stdout, later.stderr) == ("", "got words\n")
    sandbox.bash.kill(session_id=id, signal="SIGKILL")
    assert sandbox.bash.output(session_id=id).data.command.status == "killed"
    assert sandbox.bash.exec(command="echo on", session_id=id).data.stdout == "on\n"
    late = sandbox.bash.exec(command="sleep 60", session_id=id, hard_timeout=0.3).data
    assert late.status == "timed_out"
    slow = sandbox.bash.exec(command="sleep 1; echo done", session_id=id, timeout=0.1).data
    assert slow.status == "running"
    wait_until(lambda: sandbox.bash.output(session_id=id).data.command.status == "completed")
    long = sandbox.bash.exec(command="seq 100000", session_id=id, max_output_length=100).data
    assert len(long.stdout) < 300 and long.stdout.startswith("1\n") and long.stdout.endswith("100000\n")


def test_a_session_outlives_the_files_of_its_output(http: httpx.Client) -> None:
    """They lie where an emptied /tmp leaves them; a command that removes them loses its own output, and says so."""
    begun = exec_bash(http, command="readlink /proc/$$/fd/1; echo err >&2")
    assert not begun["stdout"].startswith("/tmp/")
    id = begun["session_id"]
    lost = exec_bash(http, command='rm "$(readlink /proc/$$/fd/1)"; echo lost', session_id=id)
    assert (lost["stdout"], lost["exit_code"]) == ("", 0) and "was removed" in lost["stderr"]
    after = exec_bash(http, command="echo on", session_id=id)
    assert (after["stdout"], after["stderr"]) == ("on\n", "") and after["offset"] == begun["offset"] + len("on\n")
    told = http.post("/v1/bash/output", json={"session_id": id, "offset": begun["offset"]}).json()["data"]
    assert (told["stdout"], told["stderr"]) == ("on\n", "err\n")
    http.post(f"/v1/bash/sessions/{id}/close")


def test_a_refusal_quotes_what_the_client_sent(http: httpx.Client) -> None:
    zero = http.post("/v1/bash/exec", json={"command": "a\0b"})
    assert zero.status_code == 400 and zero.json()["message"].endswith(r"got 'a\x00b'")
    folder = http.post("/v1/bash/sessions/create", json={"exec_dir": "/nope"})
    assert folder.status_code == 400 and folder.json()["message"].startswith("exec_dir must be a folder; got '/nope'")
    for path, body, got in (
        ("bash/exec", {"command": "a", "env": {"A=B": "x"}}, "'A=B'"),
        ("nodejs/execute", {"code": "", "files": {"../x": "1"}}, "'../x'"),
    ):
        answer = http.post(f"/v1/{path}", json=body)
        message = answer.json()["detail"][0]["msg"]
        assert answer.status_code == 422 and message.endswith(f"; got {got}") and message.count("got") == 1


@pytest.mark.parametrize(
    ("make", "end"),
    [
        ("shell/sessions/create", ("DELETE", "shell/sessions/a/b")),
        ("bash/sessions/create", ("POST", "bash/sessions/a/b/close")),
        ("jupyter/sessions/create", ("DELETE", "jupyter/sessions/a/b")),
        pytest.param("nodejs/sessions", ("DELETE", "nodejs/sessions/a/b"), marks=needs_node),
    ],
)
def test_a_session_ends_by_whatever_name_it_has(http: httpx.Client, make: str, end: tuple[str, str]) -> None:
    name = {"id": "a/b", "session_id": "a/b"}
    assert http.post(f"/v1/{make}", json=name).status_code == 200
    assert [http.request(end[0], f"/v1/{end[1]}").status_code for _ in range(2)] == [200, 404]


@needs_node
def test_a_computer_tells_of_its_node(http: httpx.Client) -> None:
    (node,) = http.get("/v1/sandbox").json()["detail"]["runtime"]["nodejs"]
    assert node["bin"] == shutil.which("node") and node["ver"][0].isdigit()


@needs_node
def test_programs_of_node(sandbox: Any, server: tuple[str, Path]) -> None:
    about = sandbox.nodejs.get_info().data
    assert about.node_version.startswith("v")
    ran = sandbox.nodejs.execute_code(
        code="console.log(require('./a.js').n + 1); console.error('e'); "
        "process.stdin.on('data', (d) => console.log(String(d)));",
        files={"a.js": "exports.n = 41;"}, stdin="in",
    ).data  # fmt: skip
    assert (ran.status, ran.stdout, ran.stderr, ran.exit_code) == ("ok", "42\nin\n", "e\n", 0)
    assert sandbox.nodejs.execute_code(code="process.exit(3)").data.exit_code == 3
    assert sandbox.nodejs.execute_code(code="for (;;);", timeout=1).data.status == "timeout"
    with refused(422):
        sandbox.nodejs.execute_code(code="", files={"../../escape.js": "1"})


@needs_node
def test_sessions_of_node_remember(sandbox: Any) -> None:
    first = sandbox.nodejs.execute_code(
        code="const a = await Promise.resolve(20); console.log('ü')", stateful=True
    ).data
    assert (first.status, first.stdout, first.execution_count) == ("ok", "ü\n", 1)
    id = first.session_id
    again = sandbox.nodejs.execute_code(code="const a = 21; a * 2", session_id=id).data  # declared anew, as in a REPL
    (value,) = [each for each in again.outputs if each.output_type == "execute_result"]
    assert value.data["text/plain"] == "42"
    wrong = sandbox.nodejs.execute_code(code="null.x", session_id=id).data
    (error,) = [each for each in wrong.outputs if each.output_type == "error"]
    assert (wrong.status, error.ename) == ("error", "TypeError")
    empty = sandbox.nodejs.execute_code(code="throw ''", session_id=id).data
    assert (empty.status, empty.exit_code, empty.outputs[0].evalue) == ("error", 1, "")
    long = "console.log('\\u{1f600}'.repeat(100_000)); console.error('\\x1b[31mred\\r\\n')"
    told = sandbox.nodejs.execute_code(code=long, session_id=id).data
    assert (told.stdout, told.stderr) == ("\U0001f600" * 100_000 + "\n", "\x1b[31mred\r\n\n")
    assert sandbox.nodejs.execute_code(code="a", session_id=id).data.status == "ok"
    session = sandbox.nodejs.get_session(id).data.session
    assert session.state == "IDLE" and time.time() * 1000 - session.created_at < 600_000
    assert sandbox.nodejs.create_session(session_id=id).data.created is False
    assert sandbox.nodejs.update_session(id, cwd="/usr").data.updated
    assert "/usr" in sandbox.nodejs.execute_code(code="process.cwd()", session_id=id).data.outputs[0].data["text/plain"]
    stuck = sandbox.nodejs.execute_code(code="for (;;);", session_id=id, timeout=1).data
    assert stuck.status == "timeout" and id not in sandbox.nodejs.list_sessions().data.sessions
    with refused(409):
        sandbox.nodejs.execute_code(code="process.exit(0)", session_id=id)
    assert id not in sandbox.nodejs.list_sessions().data.sessions


def test_files_become_markdown(sandbox: Any, server: tuple[str, Path]) -> None:
    (server[1] / "a b.html").write_text(
        "<title>T</title><script>no()</script><h2>Head</h2><p>Some <b>bold</b>\n <a href='x.html'>link</a></p>"
        "<ol><li>one<li>two</ol><pre>a\n  b</pre><table><tr><td>1<td>2</table>"
    )
    said = sandbox.util.convert_to_markdown(uri=f"file://{server[1]}/a%20b.html").data["markdown"]
    assert said == ("## Head\n\nSome **bold** [link](x.html)\n\n1. one\n2. two\n\n```\na\n  b\n```\n\n| 1| 2\n")
    (server[1] / "c.txt").write_text("as it is")
    assert sandbox.util.convert_to_markdown(uri=f"{server[1]}/c.txt").data["markdown"] == "as it is"
    with refused(404):
        sandbox.util.convert_to_markdown(uri="/no/such.html")
    for uri in ("https://example.com/", "/a.docx"):
        with refused(501):
            sandbox.util.convert_to_markdown(uri=uri)


def test_a_computer_without_mcp_servers_lists_none(sandbox: Any) -> None:
    assert sandbox.mcp.list_mcp_servers().data == []
    with refused(404):
        sandbox.mcp.list_mcp_tools("none")
