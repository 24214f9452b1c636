"""SWE-ReX's own client, unmodified, against a computer: answers, exceptions, and what a client may do wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tars_jax.sandbox.compat.swe_rex import swe_rex_app
from tests.sandbox.compat.clients import TOKEN, client, served
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.multiprocess

KEY = {"X-API-Key": TOKEN}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Path]]:
    with served(swe_rex_app) as found:
        yield found


def with_runtime(address: str, work: Callable[[Any, Any], Awaitable[None]]) -> None:
    """Gives a runtime, and SWE-ReX's words for requests."""
    remote, words = client("swerex.runtime.remote"), client("swerex.runtime.abstract")

    async def live() -> None:
        runtime = remote.RemoteRuntime(host=address, auth_token=TOKEN, timeout=10.0)
        try:
            await work(runtime, words)
        finally:
            await runtime.close()

    asyncio.run(live())


def test_sessions_keep_their_state_and_raise_as_swe_rex_does(server: tuple[str, Path]) -> None:
    errors = client("swerex.exceptions")

    async def work(runtime: Any, words: Any) -> None:
        def run(command: str, **options: Any) -> Any:
            return runtime.run_in_session(words.BashAction(command=command, **{"timeout": 20, **options}))

        assert await runtime.is_alive()
        await runtime.create_session(words.CreateBashSessionRequest())
        with pytest.raises(errors.SessionExistsError):
            await runtime.create_session(words.CreateBashSessionRequest())
        await run("cd /tmp; X='Größe 大'")
        assert (await run("echo $X; pwd")).output == "Größe 大\n/tmp\n"
        assert (await run("\n echo a\n\n\n echo b\n")).output == "a\nb\n"
        assert (await run("cat <<EOF\none\ntwo\nEOF")).output == "one\ntwo\n"
        assert (await run("(exit 3)", check="silent")).exit_code == 3
        assert (await run("false", check="ignore")).exit_code is None
        with pytest.raises(errors.NonZeroExitCodeError, match="it broke: Command 'false' failed with exit code 1"):
            await run("false", error_msg="it broke")
        with pytest.raises(errors.BashIncorrectSyntaxError) as wrong:
            await run("(a")
        assert "syntax error" in wrong.value.extra_info["bash_stderr"]
        with pytest.raises(errors.SessionDoesNotExistError):
            await run("true", session="other")
        await runtime.close_session(words.CloseBashSessionRequest())
        with pytest.raises(errors.SessionDoesNotExistError):
            await runtime.close_session(words.CloseBashSessionRequest())

    with_runtime(server[0], work)


def test_what_runs_too_long_is_interrupted_or_killed(server: tuple[str, Path]) -> None:
    errors = client("swerex.exceptions")

    async def work(runtime: Any, words: Any) -> None:
        def run(command: str, **options: Any) -> Any:
            return runtime.run_in_session(words.BashAction(command=command, **{"timeout": 20, **options}))

        await runtime.create_session(words.CreateBashSessionRequest())
        for stubborn in ("sleep 60", "trap '' INT; sleep 60"):
            with pytest.raises(errors.CommandTimeoutError):
                await run(f'bash -c "{stubborn}"', timeout=0.3)
            with pytest.raises(ValueError, match="a command is still running"):
                await run("echo too soon")
            await runtime.run_in_session(words.BashInterruptAction(n_retry=1))
            assert (await run("echo again")).output == "again\n"
        python = dict(is_interactive_command=True, expect=[">>> "])
        await run("python3 -q", **python)
        assert (await run("print(6 * 7)", **python)).output == "42"
        with pytest.raises(errors.CommandTimeoutError):
            await run("1", is_interactive_command=True, expect=["never"], timeout=0.3)
        await run("quit()", is_interactive_quit=True)
        assert (await run("echo back")).output == "back\n"
        with pytest.raises(ValueError, match="expect must be regular expressions"):
            await run("true", expect=["("])
        ended = await run("exit 4", check="silent")
        assert ended.exit_code == 4 and "the shell has ended" in ended.failure_reason

    with_runtime(server[0], work)


def test_programs_and_files(server: tuple[str, Path], tmp_path: Path) -> None:
    errors = client("swerex.exceptions")

    async def work(runtime: Any, words: Any) -> None:
        def run(command: Any, **options: Any) -> Any:
            return runtime.execute(words.Command(command=command, **{"timeout": 20, **options}))

        assert (await run(["printf", "%s", "a  b"])).stdout == "a  b"
        ran = await run("echo out; echo $V >&2; exit 5", shell=True, env={"V": "err"}, cwd="/tmp")
        assert (ran.stdout, ran.stderr, ran.exit_code) == ("out\n", "err\n", 5)
        assert (await run("echo a; echo b >&2", shell=True, merge_output_streams=True)).stdout == "a\nb\n"
        assert (await run(["printf", r"\377x"])).stdout == "\\xffx"
        with pytest.raises(errors.NonZeroExitCodeError):
            await run("exit 1", shell=True, check=True)
        with pytest.raises(errors.CommandTimeoutError):
            await run(["sleep", "30"], timeout=0.2)
        for missing in (run(["no-such-program"]), run(["true"], cwd="/no/such/folder")):
            with pytest.raises(FileNotFoundError, match="^(command|cwd) must"):
                await missing
        huge = (await run("yes | head -c 20000000", shell=True)).stdout
        assert len(huge) < 2_200_000 and "bytes cut" in huge

        text = "line\r\nGröße 大\n"
        await runtime.write_file(words.WriteFileRequest(path="a b/ü.txt", content=text))
        assert (server[1] / "a b" / "ü.txt").read_bytes() == text.encode()
        assert (await runtime.read_file(words.ReadFileRequest(path="a b/ü.txt"))).content == text.replace("\r\n", "\n")
        with pytest.raises(IsADirectoryError):
            await runtime.read_file(words.ReadFileRequest(path="a b"))
        with pytest.raises(UnicodeError):
            await runtime.read_file(words.ReadFileRequest(path="a b/ü.txt", encoding="ascii"))
        with pytest.raises(LookupError):
            await runtime.read_file(words.ReadFileRequest(path="a b/ü.txt", encoding="no-such"))
        (tmp_path / "box").mkdir()
        (tmp_path / "box" / "x.bin").write_bytes(bytes(range(256)) * 40_000)
        (tmp_path / "box" / "ü b.txt").write_text("hi")
        for source, target in (("box", "up"), ("box/x.bin", "one.bin")):
            await runtime.upload(words.UploadRequest(source_path=str(tmp_path / source), target_path=target))
        assert (server[1] / "up" / "ü b.txt").read_text() == "hi"
        assert (server[1] / "one.bin").read_bytes() == (tmp_path / "box" / "x.bin").read_bytes()

    with_runtime(server[0], work)


def test_a_client_that_was_killed_and_another_at_once(server: tuple[str, Path]) -> None:
    async def work(runtime: Any, words: Any) -> None:
        for name in ("one", "two"):
            await runtime.create_session(words.CreateBashSessionRequest(session=name))

        def run(command: str, session: str) -> Any:
            return runtime.run_in_session(words.BashAction(command=command, session=session, timeout=600))

        left = asyncio.ensure_future(run("sleep 600", "one"))
        await asyncio.sleep(0.5)
        left.cancel()  # the connection breaks in the midst of the call
        both = await asyncio.gather(run("sleep 1; echo 1", "two"), runtime.execute(words.Command(command=["date"])))
        assert both[0].output == "1\n"
        await runtime.run_in_session(words.BashInterruptAction(session="one"))
        assert (await run("echo here", "one")).output == "here\n"

    with_runtime(server[0], work)


def test_a_request_that_comes_twice_is_done_once(server: tuple[str, Path]) -> None:
    body = {"command": "echo x >> twice.txt; sleep .3; date +%N", "shell": True}

    async def live() -> None:
        async with httpx.AsyncClient(base_url=server[0], headers={**KEY, "X-Request-ID": "the same"}) as web:
            both = await asyncio.gather(*(web.post("/execute", json=body) for _ in range(2)))
            again = await web.post("/execute", json=body)
        assert both[0].json() == both[1].json() == again.json()

    asyncio.run(live())
    assert (server[1] / "twice.txt").read_text() == "x\n"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"command": 5}', 422, "command must be text"),
        (b'{"command": ["a", 5]}', 422, "command must be text"),
        (b"[]", 422, "must be an object"),
        (b"{", 422, "not JSON"),
        (b'{"command": "x", "timeout": -1}', 422, "timeout must be a number"),
        (b'{"command": "x", "env": {"A": 1}}', 422, "env must be an object of texts"),
        (b'{"command": "a\\u0000b"}', 511, "builtins.ValueError"),
        (b'{"command": "\\ud800", "shell": true}', 511, "builtins.ValueError"),
    ],
)
def test_malformed_requests(server: tuple[str, Path], body: bytes, status: int, said: str) -> None:
    headers = {**KEY, "Content-Type": "application/json"}
    answer = httpx.post(f"{server[0]}/execute", content=body, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == status and said in answer.text


def test_who_may_call(server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    address = server[0]
    assert httpx.get(f"{address}/is_alive").status_code == 403
    assert httpx.get(f"{address}/is_alive", headers={"X-API-Key": "wrong"}).status_code == 401
    assert httpx.get(f"{address}/nothing", headers={"Authorization": "Basic %%%"}).status_code == 401
    assert httpx.get(f"{address}/is_alive", headers={"Authorization": f"Bearer {TOKEN}"}).json()["is_alive"]
    assert httpx.get(address.replace("//", f"//any:{TOKEN}@") + "/").json() == {"message": "hello world"}
    assert httpx.get(f"{address}/is_alive", headers={**KEY, "Host": "evil.example"}).status_code == 400
    assert httpx.post(f"{address}/upload", headers=KEY, content=b"x").status_code == 511
    monkeypatch.setattr("tars_jax.web.gate.MOST_BODY", 1000)
    for body in (b"x" * 2000, iter([b"x" * 2000])):
        assert httpx.post(f"{address}/upload", headers=KEY, content=body).status_code == 413
