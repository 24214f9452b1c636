"""The service as users start it, killed with computers in it: the next goes on with them, or they end by themselves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.client import ComputerClient, RemoteComputer
from tars_jax.sandbox.service.computers.far_computer import open_far
from tars_jax.sandbox.service.computers.store import FORMAT
from tests.ports import free_port
from tests.sandbox.service.conftest import require_containers
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]
REPOSITORY = Path(__file__).parents[3]


class Killed:
    """A service that is killed and started again, and one client of it."""

    def __init__(self, run: Path) -> None:
        self.run, self.port = run, free_port()
        self.service: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.service = service = subprocess.Popen(
            [
                sys.executable, "-P", "-m", "experiments", "sandbox_service", f"--config.run={self.run}",
                f"--config.port={self.port}", "--config.kinds=computer,",
            ],
            cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip
        assert service.stdout is not None
        while "Ctrl-C ends it" not in (line := service.stdout.readline()):
            assert line, service.communicate()[1]

    def kill(self) -> None:
        assert self.service is not None
        self.service.kill()
        self.service.communicate(timeout=PATIENCE_S)  # the launcher, which lives on, does not hold its output

    async def again(self) -> None:
        await asyncio.to_thread(self.kill)
        await asyncio.to_thread(self.start)

    @property
    def owner(self) -> dict[str, Any]:
        return json.loads((self.run / "computers" / "owner.json").read_bytes())

    @contextlib.asynccontextmanager
    async def client(self, **more: Any) -> AsyncIterator[ComputerClient]:
        key = (self.run / "operator.key").read_text()
        async with ComputerClient(f"http://127.0.0.1:{self.port}", key, patience_s=120, **more) as client:
            yield client

    def use(self, work: Callable[[], Awaitable[None]]) -> None:
        """Starts it, and ends it as it is told to; nothing of it is left then."""
        require_containers()
        try:
            self.start()
            run = Path(self.owner["run"])
            asyncio.run(work())  # type: ignore[arg-type]
            assert self.service is not None
            self.service.send_signal(signal.SIGTERM)
            assert self.service.wait(PATIENCE_S) == 0
            assert not run.exists() and not (self.run / "computers" / "owner.json").exists()
        finally:
            if self.service is not None:
                self.service.kill()
                self.service.communicate()


def processes(word: str) -> list[int]:
    """Those with a word in their command lines, such as a number of seconds that nobody else sleeps."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_computers_outlive_a_kill(tmp_path: Path) -> None:
    """Files, running programs, shells with what they know, kernels, tokens and names; twice.

    An episode's computer has its files and programs; shells of functions, and what a program has said, are gone, and it
    says so.
    """
    killed = Killed(tmp_path / "run ä")
    nap, rest = f"4{os.getpid()}", f"4.{os.getpid()}"

    async def work() -> None:
        async with killed.client() as client:
            computers = [await client.open() for _ in range(2)]
            first, second = computers
            await first.run(f"mkdir -p 'a b/ü' && cd 'a b/ü' && x=plum; sleep {nap} & echo $! > pid")
            await first.call("open_shell", shell="zweite ü", folder="/tmp", env={"COLOR": "rot"})
            await first.run_cell("v = 41")
            await first.snapshot("one")
            long = f"echo early; sleep {rest}; echo late > late; echo done"
            waiting = asyncio.create_task(second.run(long, timeout_s=600))
            used, fresh = [await open_far(client, ComputerSpec()) for _ in range(2)]
            await used.put({"a.txt": "plum\n"})
            assert (await used.call("execute_bash", {"command": "cat a.txt; X=7"})).text == "plum"
            told = await fresh.follow("print('said', flush=True); import time; time.sleep(600)")
            assert await told.lines(timeout_s=PATIENCE_S) == [b"said\n"]
            asked = {"call": {"call": "run", "command": "echo x >> count; wc -l < count"}, "idempotency_key": "w1"}
            answer = await first._request("POST", "call", asked)
            await until(lambda: processes(f"sleep\0{nap}") and processes(f"sleep\0{rest}"))
            for _ in range(2):
                await killed.again()
                assert await first._request("POST", "call", asked) == answer  # and was not carried out again
            with pytest.raises(InputError, match="idempotency_key must be"):
                await first._request("POST", "call", {**asked, "call": {"call": "run", "command": "echo"}})
            with pytest.raises(SandboxFailure, match="restored: .*under way"):
                await waiting
            more = await second.more(timeout_s=30)
            assert "done" in more["output"] and more["exit_code"] == 0
            assert await second.read("late") == b"late\n"
            ran = await first.run("pwd; echo $x; cat count; kill -0 $(cat pid) && echo runs")
            assert ran["output"] == "/home/agent/a b/ü\nplum\nx\nruns\n"
            assert (await first.run("pwd; echo $COLOR", shell="zweite ü"))["output"] == "/tmp\nrot\n"
            assert (await first.run_cell("v + 1"))["result"] == "42"
            third = await client.open(snapshot="one")
            assert "pid" in (await third.run("ls 'a b/ü'"))["output"]
            state = await first.state()
            assert state["live"] and state["owner"] == "operator"
            with httpx.Client(base_url=client.address) as http:  # the token is the same, and opens this one alone
                for computer, status in ((first, 200), (second, 401)):
                    headers = {"Authorization": f"Bearer {first.token}"}
                    assert http.get(f"/v1/sessions/{computer.id}", headers=headers).status_code == status
            await first.close()
            await until(lambda: not processes(f"sleep\0{nap}"))
            assert set((await used.outside()).files) == {"a.txt"}
            with pytest.raises(SandboxFailure, match="restored: the shells and kernels of the session's functions"):
                await used.call("execute_bash", {"command": "echo $X"})
            with pytest.raises(SandboxFailure, match="restored: what the program said was lost"):
                await told.lines()
            assert (await fresh.call("execute_bash", {"command": "echo new"})).text == "new"
            await used.close()
            await fresh.close()
        assert not list((killed.run / "computers").glob("*/session.json"))

    killed.use(work)


def test_what_ended_meanwhile_is_told_and_nobody_is_given_another(tmp_path: Path) -> None:
    killed = Killed(tmp_path / "run")

    async def work() -> None:
        async with killed.client() as client:
            dead, lives = [await client.open() for _ in range(2)]
            pids = {each.id: json.loads((killed.run / "computers" / each.id / "session.json").read_bytes())
                    for each in (dead, lives)}  # fmt: skip
            number = pids[dead.id]["place"]["container"].rpartition("-")[2]
            await dead.run(f"echo {number}")
            await asyncio.to_thread(killed.kill)
            launcher = launcher_of(killed.owner["run"])
            children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGKILL)
            await asyncio.to_thread(killed.start)
            with pytest.raises(SandboxFailure, match="container: .*ended with"):
                await dead.run("echo")
            assert (await lives.run("echo lives"))["output"] == "lives\n"
            await dead.close()
            # And where its launcher was killed with it.
            await asyncio.to_thread(killed.kill)
            os.kill(launcher, signal.SIGKILL)
            await asyncio.to_thread(killed.start)
            with pytest.raises(SandboxFailure, match="container: the computer has ended with the service"):
                await lives.run("echo")
            assert not (await lives.state())["live"]
            await lives.close()
            fresh = await client.open()
            assert (await fresh.run("echo fresh"))["output"] == "fresh\n"

    killed.use(work)


def test_a_request_for_a_lease_comes_again_after_a_kill(tmp_path: Path) -> None:
    """It gets the same session and token; a computer that another version has kept says so in a sentence."""
    killed = Killed(tmp_path / "run")
    body = {"kind": "computer", "parts": ["shell", "files"], "idempotency_key": "km", "lease_seconds": 600}

    async def work() -> None:
        async with killed.client() as client:
            headers = {"Authorization": f"Bearer {(killed.run / 'operator.key').read_text()}"}
            with httpx.Client(base_url=client.address, headers=headers, timeout=PATIENCE_S) as http:
                first = http.post("/v1/sessions", json=body).json()
                await killed.again()
                again = http.post("/v1/sessions", json=body).json()
                assert (again["id"], again["token"]) == (first["id"], first["token"]) and again["live"]
                assert len(http.get("/v1/sessions").json()["sessions"]) == 1
                other = http.post("/v1/sessions", json={**body, "lease_seconds": 60})
                assert other.status_code == 400 and other.json()["error"]["param"] == "idempotency_key"
                await asyncio.to_thread(killed.kill)
                file = killed.run / "computers" / first["id"] / "session.json"
                kept = json.loads(file.read_bytes())
                file.write_text(json.dumps({"lease": kept["lease"], "had_other_fields": True}))
                await asyncio.to_thread(killed.start)
                path = f"/v1/sessions/{first['id']}"
                refused = http.post(f"{path}/call", json={"call": {"call": "run", "command": "echo"}})
                assert refused.status_code == 502
                assert "kept by another version, in format None; this one reads 1" in refused.json()["error"]["message"]
                assert http.delete(path).status_code == 204
                assert http.post("/v1/sessions", json=body).json()["id"] != first["id"]

    killed.use(work)


KEPT = """
format lease(owner request(idempotency_key sha256) seconds token token_sha256) place(container origin paused token)
spec(cpus disk_mib environment() grace_seconds hostname job_seconds mcp memory_mib parts phone_height phone_width
processes shared_memory_mib taken width height)
jupyter(main(cells env() folder kind limit process python)) programs(told) shell(seen shells(main(clean due env() file
first_folder first_process folder had_one held known limit number offset process running secret terminal traps)))
"""


def test_whoever_keeps_other_fields_counts_the_format_up(tmp_path: Path) -> None:
    """Where this fails, FORMAT is the next number, here too, and KEPT what is kept now."""
    killed = Killed(tmp_path / "run")

    async def work() -> None:
        async with killed.client() as client:
            computer = await client.open()
            await computer.run("echo")
            await computer.run_cell("1")
            folder = killed.run / "computers" / computer.id
            kept = [json.loads((folder / f"{name}.json").read_bytes()) for name in ("session", "parts")]
            assert kept[0]["format"] == FORMAT == 1
            assert sorted(re.findall(r"\w+|[()]", fields(kept[0] | kept[1]))) == sorted(re.findall(r"\w+|[()]", KEPT))

    killed.use(work)


def fields(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    inside = {name: f"({fields(each)})" if isinstance(each, dict) else "" for name, each in value.items()}
    return " ".join(name + more for name, more in inside.items())


def launcher_of(run: str) -> int:
    return next(pid for pid in processes(run) if b"launcher" in Path(f"/proc/{pid}/cmdline").read_bytes())


def test_nothing_waits_for_ever(tmp_path: Path) -> None:
    """A lease and its grace period after the kill all has ended; strangers at the launcher's socket change nothing."""
    killed = Killed(tmp_path / "run")
    nap = f"5{os.getpid()}"

    async def work() -> None:
        run = Path(killed.owner["run"])
        async with killed.client(lease_s=4.0) as client:
            short = await client.open(grace_seconds=1)
            await short.run(f"trap '' TERM HUP; sleep {nap} & disown")
            await until(lambda: processes(f"sleep\0{nap}"))
            await asyncio.to_thread(killed.kill)
            for said in (b'{"secret": "' + b"0" * 64 + b'"}\n', b"\n", b"x" * 4000, b'{"secret": 1}\n', b""):
                with socket.socket(socket.AF_UNIX) as stranger:
                    stranger.settimeout(20)
                    stranger.connect(str(run / "control"))
                    stranger.sendall(said)
                    stranger.shutdown(socket.SHUT_WR)
                    with contextlib.suppress(ConnectionError):
                        assert stranger.recv(100) == b""
            assert processes(f"sleep\0{nap}") and run.exists()
            await until(lambda: not run.exists())
            assert not processes(f"sleep\0{nap}")
            await asyncio.to_thread(killed.start)
            with pytest.raises(SandboxFailure, match="container"):
                await short.run("echo")

    killed.use(work)


@pytest.mark.full
def test_a_suspended_computer_outlives_a_kill(tmp_path: Path) -> None:
    killed = Killed(tmp_path / "run")

    async def work() -> None:
        async with killed.client() as client:
            computer = await client.open()
            await computer.run("cd /tmp; x=plum; (sleep 1; echo slept > slept) & disown")
            where = await computer.suspend()
            assert (await computer.state())["suspended"] == where
            await killed.again()
            assert (await computer.state())["suspended"] == where
            assert (await computer.run("sleep 2; echo $x; pwd; cat slept"))["output"] == "plum\n/tmp\nslept\n"
            assert (await computer.state())["suspended"] is None

    killed.use(work)


@pytest.mark.full
def test_a_recording_goes_on_after_a_kill(tmp_path: Path) -> None:
    killed = Killed(tmp_path / "run")

    async def calls(computer: RemoteComputer) -> list[str]:
        return [each["call"].get("command") for each in await computer.recorded_calls()]

    async def work() -> None:
        async with killed.client() as client:
            computer = await client.open()
            await computer.record()
            await computer.run("echo one")
            with (killed.run / "computers" / computer.id / "recording" / "journal.jsonl").open("ab") as journal:
                journal.write(b'{"call": {"ca')
            await killed.again()
            await computer.run("echo two")
            assert await calls(computer) == ["echo one", "echo two"]

    killed.use(work)


@pytest.mark.full
def test_a_desktop_outlives_a_kill(tmp_path: Path) -> None:
    pytest.importorskip("Xlib")
    if not Path("/usr/bin/Xvfb").exists() or not Path("/usr/bin/openbox").exists():
        pytest.skip("needs Xvfb and openbox (launch/desktop.sh)")
    killed = Killed(tmp_path / "run")

    async def work() -> None:
        async with killed.client() as client:
            computer = await client.open(parts=["shell", "desktop", "files"], width=400, height=300)
            await computer.call("launch", application="terminal")
            windows = await computer.call("windows")
            await killed.again()
            assert await computer.call("windows") == windows and windows["windows"]
            before = await computer.screenshot()
            typed = [
                {"type": "InsertText", "text": "echo plum > typed"},
                {"type": "KeyDown", "key": "Enter"},
                {"type": "KeyUp", "key": "Enter"},
            ]
            await computer.call("act", events=typed, advance_ms=1000.0)
            assert await computer.screenshot() != before
            assert await computer.read("typed") == b"plum\n"

    killed.use(work)


@pytest.mark.full
def test_a_page_and_a_phone_are_there_after_a_kill(tmp_path: Path) -> None:
    """The page is opened anew at its address, and says so; the phone is as it was."""
    pytest.importorskip("adbutils")
    if shutil.which("adb") is None:
        pytest.skip("needs adb")
    killed = Killed(tmp_path / "run")

    async def work() -> None:
        async with killed.client() as client:
            computer = await client.open(parts=["shell", "browser", "phone"], width=200, height=160)
            await computer.run("echo '<title>Here</title>' > a.html; python3 -m http.server >/dev/null 2>&1 &")
            await computer.run("until (: </dev/tcp/localhost/8000) 2>/dev/null; do sleep 0.1; done")
            assert (await computer.call("navigate", address="localhost:8000/a.html"))["data"]["title"] == "Here"
            shown = await computer.call("phone_act", actions=[{"action": "open_app", "app": "Notes"}])
            await killed.again()
            page = await computer.call("screenshot")
            assert page["restarted"] and page["data"]["title"] == "Here"
            phone = await computer.call("phone_screenshot")
            assert phone["png"] == shown["png"] and not phone["restarted"]

    killed.use(work)
