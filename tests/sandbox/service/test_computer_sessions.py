"""Computers over HTTP and WebSocket: leased, used, forked, collected; what goes wrong is told as what it is."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import threading
import time
from typing import Any

import httpx
import pytest
import websockets.sync.client as websockets

from tars_jax import InputError
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.computers.client import ComputerClient
from tests.sandbox.service.conftest import ANN, BOB, Service
from tests.waiting import wait_until

pytestmark = pytest.mark.multiprocess


def test_a_computer_over_http(service: Service, computer: dict[str, Any]) -> None:
    assert computer["kind"] == "computer" and computer["parts"] == ["shell", "files", "jupyter"] and computer["live"]
    ran = service.call(computer, "run", command="cd /tmp && x=plum && echo hi; false")
    assert (ran["output"], ran["exit_code"], ran["folder"]) == ("hi\n", 1, "/tmp")
    assert service.call(computer, "run", command="echo $x")["output"] == "plum\n"
    service.call(computer, "open_shell", shell="zweite Shell ü", folder="/", env={"COLOR": "rot"})
    assert service.call(computer, "run", shell="zweite Shell ü", command="pwd; echo $COLOR$x")["output"] == "/\nrot\n"
    assert {each["shell"] for each in service.call(computer, "shells")["shells"]} >= {"main", "zweite Shell ü"}
    assert service.call(computer, "close_shell", shell="zweite Shell ü")["closed"]
    ran = service.call(computer, "run_program", argv=["cat"], stdin_base64=base64.b64encode(b"\xff\0").decode())
    assert base64.b64decode(ran["stdout_base64"]) == b"\xff\0" and ran["status"] == 0
    service.call(computer, "run", command="cd; unset x")


def test_a_long_command_is_asked_again_typed_into_and_interrupted(service: Service, computer: dict[str, Any]) -> None:
    ran = service.call(computer, "run", command="read name; echo hello $name; sleep 100", timeout_s=0.3)
    assert ran["exit_code"] is None
    assert "still running" in service.refused(computer, 400, "run", command="x")["message"]
    assert "hello you" in service.call(computer, "type", text="you\n")["output"]
    assert service.call(computer, "more", timeout_s=0.1)["exit_code"] is None
    assert service.call(computer, "interrupt")["exit_code"] == 130
    assert service.call(computer, "run", command="echo again")["output"] == "again\n"


def test_files(service: Service, computer: dict[str, Any]) -> None:
    service.call(computer, "make_folder", path="notes and ä")
    wrote = service.call(computer, "write", path="notes and ä/a.txt", data="plum\npear\n", new=True)
    assert service.refused(computer, 400, "write", path="notes and ä/a.txt", data="", new=True)["code"] == "EEXIST"
    assert service.call(computer, "read", path="notes and ä/a.txt")["data"] == "plum\npear\n"
    assert service.call(computer, "stat", path="/home/agent/notes and ä/a.txt")["version"] == wrote["version"]
    assert service.call(computer, "search", path="notes and ä", pattern="^p.ar")["found"][0]["line"] == 2
    assert service.call(computer, "edit", path="notes and ä/a.txt", old="plum", new="fig")["replaced"] == 1
    error = service.refused(computer, 400, "edit", path="notes and ä/a.txt", old="plum", new="x")
    assert "it was not found" in error["message"] and error["param"] == "old"
    error = service.refused(computer, 400, "move", path="notes and ä/a.txt", to="/etc/x")
    assert error["code"] == "EACCES" and error["message"].endswith("a.txt to /etc/x: Permission denied")
    service.call(computer, "move", path="notes and ä/a.txt", to="b.bin")
    assert [each["path"] for each in service.call(computer, "list")["entries"] if each["kind"] == "file"] == ["b.bin"]
    data = bytes(range(256)) * 20_000
    path = f"/v1/sessions/{computer['id']}/files"
    assert service.http.put(path, params={"path": "b.bin"}, content=data).json()["size"] == len(data)
    received = service.http.get(path, params={"path": "b.bin"})
    assert received.content == data and received.headers["content-disposition"].startswith("attachment")
    assert service.http.get(path, params={"path": "gone"}).json()["error"]["code"] == "ENOENT"
    service.call(computer, "remove", path="b.bin")
    service.call(computer, "remove", path="notes and ä", all=True)


def test_no_file_of_this_machine(service: Service, computer: dict[str, Any]) -> None:
    service.call(computer, "run", command="ln -s /proc/1/root/etc/shadow trap; ln -s ../../../../etc/shadow trap2")
    for path in ("/etc/shadow", "../../../../etc/shadow", "trap", "trap2", "/proc/1/environ"):
        assert service.refused(computer, 400, "read", path=path)["code"] in ("ENOENT", "EACCES", "EPERM", "EXDEV")
    service.call(computer, "run", command="rm -f trap trap2")


def test_kernels(service: Service, computer: dict[str, Any]) -> None:
    service.call(computer, "run_cell", code="x = 20", kind="python")
    assert service.call(computer, "run_cell", code="x + 1")["result"] == "21"
    cell = service.call(computer, "run_cell", code="while True: pass", timeout_s=0.3)
    assert cell["timed_out"] and "KeyboardInterrupt" in cell["error"]
    for kind in ("node", "jupyter"):
        error = service.refused(computer, 400, "run_cell", code="1", kind=kind)
        assert error["param"] == "kind" and f"its own, 'python'; got '{kind}'" in error["message"]
    assert service.call(computer, "run_cell", code="x", kind="python")["result"] == "20"
    service.call(computer, "close_kernel")
    assert service.call(computer, "run_cell", code="x = 1", kind="python")["error"] == ""
    service.call(computer, "close_kernel")


def test_a_refusal_that_is_of_no_field_names_none(service: Service, computer: dict[str, Any]) -> None:
    service.call(computer, "run", command="sleep 100", timeout_s=0.1)
    assert service.refused(computer, 400, "run", command="x")["param"] is None
    service.call(computer, "kill")
    assert service.refused(computer, 400, "type", text="x")["param"] is None


def test_a_folder_that_is_not_there_has_the_clients_word(service: Service, computer: dict[str, Any]) -> None:
    calls: tuple[dict[str, Any], ...] = (
        {"name": "run_program", "argv": ["true"]}, {"name": "start_program", "argv": ["true"]},
        {"name": "open_shell", "shell": "other"},
    )  # fmt: skip
    for call in calls:
        error = service.refused(computer, 400, **call, folder="/nope")
        assert error["param"] == "folder" and error["message"].startswith("folder must be a folder; got '/nope'")
    error = service.refused(computer, 400, "run_program", argv=["no-such-program"])
    assert error["param"] == "argv" and error["message"].startswith("argv must name a program")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"call": "fly"}, "call.call"), ({}, "call.call"), ({"call": "run"}, "call.command"),
        ({"call": "run", "command": "x", "timeout_s": -1}, "call.timeout_s"),
        ({"call": "run", "command": "x", "shel": "main"}, "call.shel"), ({"call": "run", "command": "\0"}, "command"),
        ({"call": "run", "command": "x", "shell": "nobody"}, "shell"), ({"call": "read", "path": ""}, "path"),
        ({"call": "write", "path": "x", "data_base64": "?"}, "call.data_base64"),
        ({"call": "run_program", "argv": []}, "call.argv"),
        ({"call": "run_program", "argv": ["x"], "limit": (2 << 20) + 1}, "call.limit"),
        ({"call": "screenshot"}, "call.call"),
        ({"call": "run", "command": "x" * 500_000}, "command"),
    ],
)  # fmt: skip
def test_calls_that_cannot_be(service: Service, computer: dict[str, Any], fields: dict[str, Any], param: str) -> None:
    answer = service.http.post(f"/v1/sessions/{computer['id']}/call", json={"call": fields})
    assert answer.status_code == 400 and answer.json()["error"]["param"] == param, answer.text


def test_leases_that_cannot_be(service: Service) -> None:
    before = len(service.http.get("/v1/sessions").json()["sessions"])
    for body, param in (
        ({"kind": "toaster"}, "kind"), ({"parts": ["shell", "oven"]}, "parts"), ({"memory_mib": 1}, "memory_mib"),
        ({"binds": {"/x": "/etc"}}, "binds"), ({"environment": {"A": 1}}, "environment"),
        ({"hostname": "a b"}, "hostname"), ({"snapshot": "nothing"}, "snapshot"),
        ({"lease_seconds": 0}, "lease_seconds"),
    ):  # fmt: skip
        answer = service.http.post("/v1/sessions", json={"kind": "computer", **body})
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param, answer.text
    assert len(service.http.get("/v1/sessions").json()["sessions"]) == before


def test_once_is_once(service: Service, computer: dict[str, Any]) -> None:
    """Two requests with the same word at the same time, and one later: the command ran once."""
    path = f"/v1/sessions/{computer['id']}/call"
    body = {"call": {"call": "run", "command": "echo x >> count; sleep .5; wc -l < count"}, "idempotency_key": "w1"}
    answers: list[Any] = []
    with httpx.Client(base_url=service.address, headers=service.http.headers, timeout=60) as other:
        thread = threading.Thread(target=lambda: answers.append(other.post(path, json=body).json()))
        thread.start()
        answers.append(service.http.post(path, json=body).json())
        thread.join()
    answers.append(service.http.post(path, json=body).json())
    assert [answer["output"] for answer in answers] == ["1\n"] * 3
    changed = {**body, "call": {"call": "run", "command": "echo y"}}
    assert service.http.post(path, json=changed).json()["error"]["param"] == "idempotency_key"
    lease = {"kind": "computer", "idempotency_key": "lease-1", "parts": ["files"]}
    first, second = (service.http.post("/v1/sessions", json=lease).json() for _ in range(2))
    assert first["id"] == second["id"] and first["token"] == second["token"]
    assert service.http.delete(f"/v1/sessions/{first['id']}").status_code == 204
    service.call(computer, "remove", path="count")


def test_calls_over_a_websocket(service: Service, computer: dict[str, Any]) -> None:
    address = service.address.replace("http", "ws")
    with websockets.connect(f"{address}/v1/sessions/{computer['id']}/calls?token={computer['token']}") as socket:
        socket.send(json.dumps({"id": 1, "call": {"call": "run", "command": "sleep .5; echo slow"}}))
        socket.send(json.dumps({"id": "two", "call": {"call": "stat", "path": "/"}}))
        socket.send(json.dumps({"id": 3, "call": {"call": "fly"}}))
        socket.send("no JSON")
        answers = [json.loads(socket.recv(30)) for _ in range(4)]
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id[1]["ok"]["output"] == "slow\n" and answers[-1]["id"] == 1  # the others did not wait for it
    assert by_id["two"]["ok"]["kind"] == "folder" and by_id[3]["error"]["param"] == "call.call"
    assert "JSON" in by_id[None]["error"]["message"]
    for token in ("", "wrong", BOB):
        with pytest.raises(Exception, match="403"):
            websockets.connect(f"{address}/v1/sessions/{computer['id']}/calls?token={token}")


def test_keys_and_quotas(service: Service, computer: dict[str, Any]) -> None:
    bob = {"Authorization": f"Bearer {BOB}"}
    path = f"/v1/sessions/{computer['id']}"
    for given, status in ((bob, 404), ({"Authorization": "Bearer nobody"}, 401), ({"Authorization": ""}, 401)):
        assert service.http.get(path, headers=given).status_code == status
        assert service.http.post(f"{path}/call", json={}, headers=given).status_code == status
        assert service.http.post(f"{path}/fork", json={}, headers=given).status_code == status
        assert service.http.get(f"{path}/files?path=/etc/passwd", headers=given).status_code == status
    token = {"Authorization": f"Bearer {computer['token']}"}
    assert service.http.get(path, headers=token).json()["id"] == computer["id"]
    assert service.http.post(f"{path}/fork", json={}, headers=token).status_code == 401  # it leases nothing
    assert service.http.get("/v1/sessions", headers=bob).json() == {"sessions": []}
    one = service.http.post("/v1/sessions", json={"kind": "computer", "parts": ["shell"]}, headers=bob).json()
    full = service.http.post("/v1/sessions", json={"kind": "computer"}, headers=bob)
    assert full.status_code == 429 and full.json()["error"]["code"] == "quota"
    assert service.http.delete(f"/v1/sessions/{one['id']}", headers=bob).status_code == 204


def test_snapshots_and_forks(service: Service, computer: dict[str, Any]) -> None:
    path = f"/v1/sessions/{computer['id']}"
    service.call(computer, "write", path="seed.txt", data="one")
    taken = service.http.post(f"{path}/snapshots", json={"name": "mit Leerzeichen/ä"})
    assert taken.status_code == 201 and taken.json()["name"] == "mit Leerzeichen/ä"
    assert service.http.post(f"{path}/snapshots", json={"name": "mit Leerzeichen/ä"}).status_code == 400
    service.call(computer, "write", path="seed.txt", data="two")
    forks = service.http.post(f"{path}/fork", json={"count": 2}).json()["sessions"]
    old = service.lease(snapshot="mit Leerzeichen/ä")
    assert service.call(old, "read", path="seed.txt")["data"] == "one"
    service.call(forks[0], "write", path="seed.txt", data="three")
    assert [service.call(each, "read", path="seed.txt")["data"] for each in (*forks, computer)] == [
        "three", "two", "two",
    ]  # fmt: skip
    names = [each["name"] for each in service.http.get("/v1/snapshots").json()["snapshots"]]
    assert names == ["mit Leerzeichen/ä"]
    bob = {"Authorization": f"Bearer {BOB}"}
    assert service.http.get("/v1/snapshots", headers=bob).json() == {"snapshots": []}
    gone = service.http.delete("/v1/snapshots/mit%20Leerzeichen%2F%C3%A4")
    assert gone.status_code == 204, gone.text
    for each in (*forks, old):
        assert service.http.delete(f"/v1/sessions/{each['id']}").status_code == 204
    service.call(computer, "remove", path="seed.txt")


def test_leases_end_but_not_under_a_program(service: Service) -> None:
    """The grace period counts behind the lease, and a program in the background holds the session for its time."""
    idle = service.lease(lease_seconds=0.3)
    slack = service.lease(lease_seconds=0.3, grace_seconds=60)
    busy = service.lease(lease_seconds=0.3, job_seconds=600)
    service.call(busy, "run", command="sleep 3 & disown")
    bound = service.lease(lease_seconds=0.3, job_seconds=0.1)
    service.call(bound, "run", command="sleep 300 & disown")
    assert wait_until(lambda: idle["id"] not in service.sessions and bound["id"] not in service.sessions)
    time.sleep(0.5)
    assert slack["id"] in service.sessions and busy["id"] in service.sessions
    assert service.call(slack, "run", command="echo verified")["output"] == "verified\n"
    assert wait_until(lambda: busy["id"] not in service.sessions)
    assert service.http.get(f"/v1/sessions/{idle['id']}").json()["error"]["code"] == "session_not_found"
    service.http.delete(f"/v1/sessions/{slack['id']}")


def test_a_computer_that_dies_is_a_typed_failure(service: Service) -> None:
    session = service.lease()
    os.kill(service.sessions.get(session["id"]).computer.container.pid, signal.SIGKILL)
    assert wait_until(lambda: not service.http.get(f"/v1/sessions/{session['id']}").json()["live"])
    error = service.refused(session, 502, "run", command="echo")
    assert (error["code"], error["param"]) == ("sandbox_failure", "container")
    assert service.http.get(f"/s/{session['id']}/port/80/").status_code == 502
    assert service.http.get(f"/v1/sessions/{session['id']}/screenshot").content[:4] == b"\x89PNG"
    assert service.http.delete(f"/v1/sessions/{session['id']}").status_code == 204


def test_a_person_takes_over(service: Service, computer: dict[str, Any]) -> None:
    path = f"/v1/sessions/{computer['id']}"
    assert service.http.post(f"{path}/person", json={"holds": True}).json()["person"]
    assert service.refused(computer, 423, "run", command="echo")["code"] == "held"
    held = {"call": {"call": "run", "command": "echo by hand"}, "person": True}
    assert service.http.post(f"{path}/call", json=held).json()["output"] == "by hand\n"
    service.http.post(f"{path}/person", json={"holds": False})
    assert service.call(computer, "run", command="echo free")["output"] == "free\n"
    assert service.http.get(f"{path}/screenshot").content[:4] == b"\x89PNG"


def test_the_client(service: Service) -> None:
    async def use() -> None:
        async with ComputerClient(service.address, ANN, lease_s=30) as client:
            computer = await client.open(parts=["shell", "files"], memory_mib=256)
            assert (await computer.run("echo $((6 * 7))"))["output"] == "42\n"
            data = os.urandom(300_000)
            await computer.write("data.bin", data)
            forks = await computer.fork(2)
            assert [await fork.read("data.bin") for fork in forks] == [data, data]
            with pytest.raises(InputError, match="No such file"):
                await computer.read("nothing")
            await forks[0].close()
            with pytest.raises(SandboxFailure, match="service"):
                await forks[0].run("echo")
            for _ in range(2):
                await computer.close()
        async with ComputerClient(service.address, BOB) as client:
            await client.open(parts=["files"])
            with pytest.raises(QuotaExceeded):
                await client.open(parts=["files"])

    asyncio.run(use())
    assert wait_until(lambda: len(service.sessions.all_of("bob")) == 0)
