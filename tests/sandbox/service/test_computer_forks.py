"""Forks of what runs, suspension and recordings over HTTP."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tars_jax.sandbox.computer.checkpoints import criu_command
from tars_jax.sandbox.service.computers.client import ComputerClient
from tests.sandbox.service.conftest import ANN, BOB, Service
from tests.waiting import wait_until

pytestmark = pytest.mark.multiprocess
TOLD = [f"{number}\nplum\n" for number in range(10)]
BOB_ASKS = {"Authorization": f"Bearer {BOB}"}


@pytest.fixture
def live(service: Service) -> None:
    forks = service.sessions._computers.forks  # type: ignore[attr-defined]
    if forks != "live":
        why = service.sessions._computers.why_not_live  # type: ignore[attr-defined]
        assert criu_command() is None or why
        pytest.skip(f"no live forks here: {why}")


def fork(service: Service, session: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    response = service.http.post(f"/v1/sessions/{session['id']}/fork", json=fields)
    assert response.status_code == 201, response.text
    return response.json()["sessions"]


def end(service: Service, *sessions: dict[str, Any]) -> None:
    for session in sessions:
        assert service.http.delete(f"/v1/sessions/{session['id']}").status_code == 204


@pytest.mark.slow
def test_live_forks_have_what_runs(service: Service, live: None) -> None:
    """Shells with their folders and variables, a command that runs, a kernel; and each goes its own way."""
    parent = service.lease(lease_seconds=600)
    service.call(parent, "run", command="mkdir 'a ü'; cd 'a ü'; x=plum; sleep 1000 & echo $! > pid")
    service.call(parent, "open_shell", shell="waits")
    service.call(parent, "run", shell="waits", command="read name; echo hello $name", timeout_s=0.2)
    service.call(parent, "run_cell", code="v = 41", kind="python")
    forks = fork(service, parent, count=2, way="live")
    assert [each["origin"] for each in forks] == ["live", "live"] and len({each["token"] for each in forks}) == 2
    for name, each in (("one", forks[0]), ("two", forks[1]), ("three", parent)):
        ran = service.call(each, "run", command=f"pwd; echo $x; kill -0 $(cat pid) && echo runs; x={name}")
        assert ran["output"] == "/home/agent/a ü\nplum\nruns\n"
        assert f"hello {name}" in service.call(each, "type", shell="waits", text=f"{name}\n")["output"]
        assert service.call(each, "run_cell", code="v = v + 1; v")["result"] == "42"
    for name, each in (("one", forks[0]), ("two", forks[1]), ("three", parent)):
        assert service.call(each, "run", command="echo $x")["output"] == f"{name}\n"
    (child,) = fork(service, forks[0], way="auto")  # a fork of a fork
    assert child["origin"] == "live" and service.call(child, "run", command="echo $x")["output"] == "one\n"
    end(service, parent, child, *forks)


@pytest.mark.slow
def test_two_forks_at_once_and_a_fork_while_calls_come(service: Service, live: None) -> None:
    parent = service.lease(lease_seconds=600, parts=["shell"])
    service.call(parent, "run", command="x=plum")
    made: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda: made.extend(fork(service, parent, way="live"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(10):
        assert service.call(parent, "run", command=f"echo {number}")["output"] == f"{number}\n"
    for thread in threads:
        thread.join()
    for each in made:  # what a command under way had not told yet comes first
        assert service.call(each, "run", command="echo $x")["output"] in ("plum\n", *TOLD)
    end(service, parent, *made)


def test_forks_by_files_and_what_cannot_be(service: Service, computer: dict[str, Any]) -> None:
    service.call(computer, "write", path="seed", data="one")
    service.call(computer, "run", command="y=plum")
    for fields in ({}, {"way": "files"}):
        (copy,) = fork(service, computer, **fields)
        assert copy["origin"] == "files" and service.call(copy, "read", path="seed")["data"] == "one"
        assert service.call(copy, "run", command="echo $y")["output"] == "\n"
        end(service, copy)
    path = f"/v1/sessions/{computer['id']}/fork"
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"way": "magic"}, "way"), ({"way": 1}, "way"), ({"count": 0}, "count"), ({"wy": "live"}, "wy"),
    )  # fmt: skip
    for body, param in wrong:
        answer = service.http.post(path, json=body)
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param, answer.text
    before = len(service.sessions)
    many = service.http.post(path, json={"count": 20})  # of 12 that there may be, and nothing was begun
    assert many.status_code == 429 and len(service.sessions) == before
    service.call(computer, "remove", path="seed")


def test_forks_count_against_quotas(service: Service) -> None:
    one = service.http.post("/v1/sessions", json={"kind": "computer", "parts": ["shell"]}, headers=BOB_ASKS).json()
    for way in ("files", "auto"):
        answer = service.http.post(f"/v1/sessions/{one['id']}/fork", json={"way": way}, headers=BOB_ASKS)
        assert answer.status_code == 429 and answer.json()["error"]["code"] == "quota"
    assert service.http.delete(f"/v1/sessions/{one['id']}", headers=BOB_ASKS).status_code == 204


def test_a_suspended_session_goes_on_with_the_next_call_or_by_name(service: Service) -> None:
    session = service.lease(lease_seconds=600, parts=["shell", "files", "jupyter"])
    path = f"/v1/sessions/{session['id']}"
    service.call(session, "run", command="cd /tmp; x=plum; (sleep 1; echo slept > slept) & disown")
    service.call(session, "run_cell", code="v = 41", kind="python")
    told = service.http.post(f"{path}/suspend", json={})
    assert told.status_code == 200, told.text
    assert told.json()["suspended"] in ("disk", "paused") and told.json()["live"]
    assert service.http.post(f"{path}/suspend", json={}).json()["suspended"] == told.json()["suspended"]
    time.sleep(1.5)
    assert service.call(session, "run", command="ls slept 2>&1 | head -c 3; echo; echo $x; pwd")["output"] in (
        "ls:\nplum\n/tmp\n", "sle\nplum\n/tmp\n",
    )  # fmt: skip
    assert service.call(session, "run_cell", code="v + 1")["result"] == "42"
    for _ in range(2):
        service.http.post(f"{path}/suspend", json={})
        assert service.http.get(f"{path}/files?path=/etc/hostname").status_code == 200  # by a request for a file
        service.http.post(f"{path}/suspend", json={})
        assert service.http.post(f"{path}/resume", json={}).json()["suspended"] is None
    (copy,) = fork(service, session, way="files")
    service.http.post(f"{path}/suspend", json={})
    (other,) = fork(service, session, way="files")
    assert service.http.get(path).json()["suspended"] is None
    end(service, session, copy, other)
    assert service.http.post(f"{path}/suspend", json={}).status_code == 404


def test_a_suspended_session_keeps_the_rules_of_its_lease(service: Service) -> None:
    session = service.lease(lease_seconds=1.0, parts=["shell"], job_seconds=600)
    service.call(session, "run", command="sleep 1000 & disown")
    path = f"/v1/sessions/{session['id']}"
    assert service.http.post(f"{path}/suspend", json={}).status_code == 200
    assert service.http.post(f"{path}/renew", json={"lease_seconds": 1.0}).status_code == 200
    assert wait_until(lambda: session["id"] not in service.sessions), "a suspended session holds its place for ever"


def test_a_call_under_way_is_not_suspended(service: Service, computer: dict[str, Any]) -> None:
    def wait() -> None:
        service.call(computer, "run", command="sleep 1.5; echo slept")

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.5)
    answer = service.http.post(f"/v1/sessions/{computer['id']}/suspend", json={})
    assert answer.status_code == 400 and "under way" in answer.json()["error"]["message"]
    thread.join()
    assert service.http.post(f"/v1/sessions/{computer['id']}/suspend", json={}, headers=BOB_ASKS).status_code == 404
    assert service.http.get(f"/v1/sessions/{computer['id']}").json()["suspended"] is None


def test_recordings(service: Service) -> None:
    session = service.lease(lease_seconds=600, parts=["shell", "files"])
    path = f"/v1/sessions/{session['id']}/recording"
    assert service.http.get(path).json()["error"]["code"] == "not_recorded"
    assert service.http.get(f"{path}/calls").status_code == 404
    service.call(session, "run", command="echo before")
    for _ in range(2):
        assert service.http.post(path).status_code == 204
    service.call(session, "run", command="echo ü; yes | head -c 20000")
    service.refused(session, 400, "read", path="/nothing")
    service.call(session, "write", path="big", data="y" * 100_000)
    listed = service.http.get(f"{path}/calls").json()
    assert listed["next"] == 3 and [each["number"] for each in listed["calls"]] == [0, 1, 2]
    first, second, third = listed["calls"]
    assert first["call"]["command"].startswith("echo ü") and first["result"] == "value"
    assert first["answer"]["output"].startswith("ü\n") and "characters cut" in first["answer"]["output"]
    assert second["result"] == "error" and "No such file" in second["answer"]
    assert len(third["call"]["data"]) < 5000
    assert [each["number"] for each in service.http.get(f"{path}/calls?after=2").json()["calls"]] == [2]
    for after in ("-1", "x", "1" * 20, "²"):
        assert service.http.get(f"{path}/calls", params={"after": after}).status_code == 400
    assert service.http.get(f"{path}/frames/0").json()["error"]["code"] == "no_screenshot"
    assert service.http.get(f"{path}/frames/..%2f..%2fsession.json").status_code in (400, 404)
    for place in ("", "/calls", "/frames/0"):
        assert service.http.get(path + place, headers=BOB_ASKS).status_code == 404
    with zipfile.ZipFile(io.BytesIO(service.http.get(path).content)) as archive:
        head, *lines = [json.loads(line) for line in archive.read("journal.jsonl").splitlines()]
    assert head["version"] == 1 and head["before"] == 1 and head["computer"]["parts"] == ["shell", "files"]
    assert [line["call"]["call"] for line in lines] == ["run", "read", "write"]
    end(service, session)


def test_the_client_forks_suspends_and_records(service: Service) -> None:
    async def use() -> None:
        async with ComputerClient(service.address, ANN, lease_s=30) as client:
            computer = await client.open(parts=["shell", "files"], memory_mib=256)
            await computer.record()
            await computer.run("x=plum")
            (copy,) = await computer.fork()
            assert (computer.origin, copy.origin) == ("new", "files")
            assert await computer.suspend() in ("disk", "paused")
            await computer.resume()
            assert (await computer.run("echo $x"))["output"] == "plum\n"
            assert [each["call"]["command"] for each in await computer.recorded_calls(1)] == ["echo $x"]
            assert zipfile.is_zipfile(io.BytesIO(await computer.recording()))

    asyncio.run(use())


def test_screenshots_of_a_desktop_are_in_its_recording(service: Service) -> None:
    pytest.importorskip("Xlib")
    if not Path("/usr/bin/Xvfb").exists():
        pytest.skip("Xvfb is not installed")
    session = service.lease(lease_seconds=600, parts=["desktop"], width=320, height=240)
    path = f"/v1/sessions/{session['id']}/recording"
    service.http.post(path)
    shown = service.call(session, "screenshot")
    (line,) = service.http.get(f"{path}/calls").json()["calls"]
    assert line["result"].startswith("sha256:") and "png" not in line["answer"] and shown["png"]
    assert service.http.get(f"{path}/frames/0").content[:4] == b"\x89PNG"
    with zipfile.ZipFile(io.BytesIO(service.http.get(path).content)) as archive:
        assert archive.namelist() == ["journal.jsonl", "frames/000000.png"]
    end(service, session)


@pytest.mark.slow
def test_a_desktop_forks_live_and_is_suspended(service: Service, live: None) -> None:
    pytest.importorskip("Xlib")
    if not Path("/usr/bin/Xvfb").exists() or not Path("/usr/bin/openbox").exists():
        pytest.skip("needs Xvfb and openbox (launch/desktop.sh)")
    session = service.lease(lease_seconds=600, parts=["desktop", "shell"], width=400, height=300)
    service.call(session, "launch", application="terminal")
    windows = service.call(session, "windows")
    (copy,) = fork(service, session, way="live")
    assert copy["origin"] == "live" and service.call(copy, "windows") == windows and windows["windows"]
    shown = service.call(session, "screenshot")
    service.call(copy, "act", events=[{"type": "InsertText", "text": "plum"}], advance_ms=500.0)
    assert service.call(session, "screenshot") == shown != service.call(copy, "screenshot")
    told = service.http.post(f"/v1/sessions/{session['id']}/suspend", json={})
    assert told.status_code == 200 and told.json()["suspended"] == "disk", told.text
    assert service.call(session, "windows") == windows
    end(service, session, copy)
