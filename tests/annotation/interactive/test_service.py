"""The service over HTTP: keys, roles, leases, two tabs, malformed requests, kill and resume."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import random
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax.annotation.interactive.app import AnnotationApp
from tars_jax.annotation.interactive.asking_gate import AskingGate
from tars_jax.annotation.interactive.core import Conflict
from tars_jax.annotation.interactive.people import People, Person
from tars_jax.annotation.interactive.service import AnnotationService
from tars_jax.annotation.interactive.tasks import TaskBoard
from tars_jax.data.datasets import read_dataset
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.corridor import WAYS, CorridorEnvironment
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.annotation.interactive.corridors import UP, Said, make, setting, task, turn
from tests.ports import free_port
from tests.waiting import PATIENCE_S, wait_until

TASKS = [task(seed) for seed in range(3)]
Answer = tuple[int, Any]


@dataclasses.dataclass
class Client:
    address: str
    key: str

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.address + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def post(self, path: str, **body: Any) -> Answer:
        return self.call("POST", f"/api/{path}", body)

    def get(self, path: str) -> Answer:
        return self.call("GET", f"/api/{path}")

    def settled(self, id: str) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            status, state = self.get(f"sessions/{id}")
            assert status == 200, state
            return state if state["phase"] not in ("proposing", "acting") else None

        state: dict[str, Any] = wait_until(found)
        return state

    def solve(self, id: str, seed: int = 0) -> dict[str, Any]:
        way = random.Random(f"corridor {seed}").choice(WAYS)  # as the corridor draws it
        state = self.settled(id)
        while state["phase"] == "deciding":
            text = turn(way) if state["observation"]["text"] == "end" else UP
            status, said = self.post(f"sessions/{id}/decide", step=state["step"], text=text, seconds=0.01, keystrokes=3)
            assert status == 200, said
            state = self.settled(id)
        return state


@contextlib.contextmanager
def service(folder: Path, lease: float = 600.0, tasks: list[Task] = TASKS, **more: Any) -> Iterator[dict[str, Client]]:
    """Clients by name."""
    people = People(folder / "keys", ("ada", "bob:reviewer", "eve:annotator"))

    def checked(of: Task) -> CheckedEnvironment:
        return make(of)()

    said = Said((UP, turn("left")))
    running = AnnotationService(
        folder, setting(said, more.pop("gate", AskingGate())), checked, TaskBoard(tasks, {}, lease), **more
    )
    with serving(
        AnnotationApp(running, people).app(), ListenAddress(port=free_port(), stop_seconds=1), plain=True
    ) as address:
        yield {name: Client(address, key) for name, key in people.keys.items()}


def test_a_first_episode_from_the_key_to_the_data(tmp_path: Path) -> None:
    with service(tmp_path) as clients:
        ada, bob = clients["ada"], clients["bob"]
        assert ada.post("login", key=ada.key) == (200, {"name": "ada", "role": "annotator"})
        assert len(ada.get("tasks")[1]["tasks"]) == 3
        status, state = ada.post("sessions")
        assert status == 200 and state["task"] == "corridor-0"
        id = state["session"]
        state = ada.settled(id)
        assert [each["index"] for each in state["candidates"]] == [0, 1] and state["functions"][0]["name"] == "go"
        assert ada.post(f"sessions/{id}/decide", step=0, candidate=0)[0] == 200
        state = ada.settled(id)
        status, state = ada.post(f"sessions/{id}/undo", step=1)
        assert status == 200 and ada.settled(id)["step"] == 0
        status, found = ada.post(f"sessions/{id}/complete", step=0, text="Action: go(way='u", cursor=17)
        assert found["completions"] == [{"insert": "p'", "label": "'up'"}] and found["error"]
        state = ada.solve(id)
        assert state["ended"]["success"] and state["step"] == 3
        stored = tmp_path / "trajectories" / f"{id}.trajectory"
        wait_until(stored.exists)
        [trajectory] = read_dataset(str(stored.parent))
        assert trajectory.success and trajectory.metadata["annotation"]["annotator"] == "ada"
        pairs = [json.loads(line) for line in (tmp_path / "preferences.jsonl").read_text().splitlines()]
        assert pairs and all(pair["chosen"] != pair["rejected"] for pair in pairs)
        assert {"prompt", "chosen", "rejected"} <= pairs[0].keys()
        [listed] = bob.get("episodes")[1]["episodes"]
        assert listed["id"] == id and listed["verdict"] == "solved" and listed["steps"] == 3
        assert ada.post(f"episodes/{id}/review", agree=True)[0] == 403
        assert bob.post(f"episodes/{id}/review", agree=False, note="too slow")[1]["reviews"][0]["note"] == "too slow"
        assert bob.get(f"episodes/{id}")[1]["steps"][0]["candidates"]
        assert ada.get("log")[0] == bob.get("log")[0] == 403
        events = [line["event"] for line in clients["owner"].get("log")[1]["log"]]
        assert events == ["opened", "reviewed"]


def test_two_annotators_and_two_tabs(tmp_path: Path) -> None:
    with service(tmp_path) as clients:
        ada, eve = clients["ada"], clients["eve"]
        id = ada.post("sessions", task="corridor-0")[1]["session"]
        status, error = eve.post("sessions", task="corridor-0")
        assert status == 409 and "annotated by ada" in error["error"]
        assert eve.post("sessions")[1]["task"] == "corridor-1"
        status, error = eve.get(f"sessions/{id}")
        assert status == 409 and "ada's" in error["error"]
        assert clients["bob"].get(f"sessions/{id}")[0] == 200  # a reviewer looks
        assert clients["bob"].post(f"sessions/{id}/decide", step=0, candidate=0)[0] == 409
        request = urllib.request.Request(
            f"{ada.address}/api/sessions/{id}/events", headers={"Authorization": f"Bearer {ada.key}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as stream:
            assert stream.readline() == b"event: state\n"
            status, error = ada.post("sessions", task="corridor-0")
            assert status == 409 and "another tab" in error["error"]
        wait_until(lambda: ada.post("sessions", task="corridor-0")[0] == 200)  # the tab is closed
        assert ada.post(f"sessions/{id}/decide", step=0, candidate=0)[0] == 200
        status, error = ada.post(f"sessions/{id}/decide", step=0, candidate=0)
        assert status == 409


def test_a_start_that_takes_long_keeps_nobody_else(tmp_path: Path) -> None:
    """The lease is taken first; whoever asks for the same task again waits for the same session."""
    may, starts = threading.Event(), itertools.count(1)  # of the first task

    def slow(of: Task) -> CheckedEnvironment:
        def made() -> CorridorEnvironment:
            if of.seed == 0:
                start = next(starts)
                assert may.wait(PATIENCE_S)
                if start <= 2:  # one that fails is tried once more
                    raise RuntimeError("it starts the third time")
            return CorridorEnvironment(**of.options)

        return CheckedEnvironment(made)

    async def play() -> None:
        clock = itertools.count()  # a second goes by at each look, so that leases run out
        board = TaskBoard(TASKS, {}, 3.0)
        running = AnnotationService(tmp_path, setting(Said((UP,))), slow, board, clock=lambda: float(next(clock)))
        ada, bob = Person("ada", "annotator"), Person("bob", "annotator")
        first = asyncio.create_task(running.open(ada, None))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(running.open(ada, None))  # another tab
        await asyncio.sleep(0.05)
        with pytest.raises(Conflict, match="being annotated by ada"):
            await running.open(bob, "corridor-0")
        id, live = await running.open(bob, None)
        assert live.record.task.id == "corridor-1" and not first.done() and not second.done()
        may.set()
        with pytest.raises(EnvironmentFailure, match="the third time"):
            await first
        found, mine = await second
        assert mine.record.task.id == "corridor-0" and mine.annotator == "ada" and found != id
        assert (await running.open(ada, "corridor-0"))[1] is mine and board.rows["corridor-0"].leased_by == "ada"
        await running.close()

    asyncio.run(play())


def test_the_lid_is_closed_and_somebody_else_goes_on(tmp_path: Path) -> None:
    with service(tmp_path, lease=0.5) as clients:
        ada, eve = clients["ada"], clients["eve"]
        id = ada.post("sessions", task="corridor-0")[1]["session"]
        ada.settled(id)
        ada.post(f"sessions/{id}/decide", step=0, candidate=0)
        ada.settled(id)
        # Nothing is heard of ada; eve is refused until the lease has run out.
        _, state = wait_until(lambda: (got := eve.post("sessions", task="corridor-0"))[0] == 200 and got)
        assert state["session"] == id and len(state["history"]) == 1
        assert ada.get(f"sessions/{id}")[0] == 409
        assert eve.get(f"sessions/{id}")[0] == 200


def test_a_service_that_is_gone_has_lost_no_step(tmp_path: Path) -> None:
    with service(tmp_path) as clients:
        ada = clients["ada"]
        id = ada.post("sessions", task="corridor-0")[1]["session"]
        ada.settled(id)
        ada.post(f"sessions/{id}/decide", step=0, candidate=0)
        ada.settled(id)
    with service(tmp_path) as clients:  # the same keys
        ada = clients["ada"]
        assert ada.get(f"sessions/{id}")[0] == 409
        state = ada.post("sessions")[1]
        assert state["session"] == id and [each["decided_by"] for each in state["history"]] == ["policy"]
        assert ada.solve(id)["ended"]["success"]
        stored = tmp_path / "trajectories" / f"{id}.trajectory"
        wait_until(stored.exists)
    stored.unlink()  # as if it had been killed between the end and the data
    with service(tmp_path):
        wait_until(stored.exists)


@pytest.mark.parametrize("key", ["", "wrong", "Ω" * 8])
def test_wrong_keys(tmp_path: Path, key: str) -> None:
    with service(tmp_path) as clients:
        stranger = Client(clients["ada"].address, key.encode("utf-8").decode("latin-1"))
        for method, path in (("GET", "tasks"), ("POST", "sessions"), ("GET", "log"), ("GET", "sessions/x/screen.png")):
            status, error = stranger.call(method, f"/api/{path}", {} if method == "POST" else None)
            assert status == 401 and error["error"].startswith("the key must be")
        assert stranger.post("login", key=key)[0] == 401


def test_a_cookie_serves_where_no_header_can_be_set(tmp_path: Path) -> None:
    with service(tmp_path) as clients:
        ada = clients["ada"]
        body = json.dumps({"key": ada.key}).encode()
        request = urllib.request.Request(f"{ada.address}/api/login", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and ada.key not in cookie
        by_cookie = {"Cookie": cookie.partition(";")[0], "Authorization": ""}
        assert ada.call("GET", "/api/tasks", headers=by_cookie)[0] == 200
        # A foreign page may make a browser send the cookie, but not with this type.
        status, _ = ada.call("POST", "/api/sessions", b"{}", {**by_cookie, "Content-Type": "text/plain"})
        assert status == 415
        status, _ = ada.call("POST", "/api/sessions", b"", {**by_cookie, "Content-Type": "text/plain"})
        assert status == 415


def test_a_foreign_name_is_refused(tmp_path: Path) -> None:
    with service(tmp_path) as clients:
        assert clients["ada"].call("GET", "/api/tasks", headers={"Host": "evil.example"})[0] == 400


def test_malformed_requests_are_answered_in_one_sentence(tmp_path: Path) -> None:
    """Whatever is sent, the service answers 4xx with a sentence, and goes on."""
    rng = random.Random(0)
    values: list[Any] = [
        None, True, -1, 0, 1, 10**30, 0.5, "", "x", "\ud800", UP, [], [1], {}, {"a": 1}, 1e308, "é" * 400,
    ]  # fmt: skip
    names = ["step", "candidate", "text", "seconds", "keystrokes", "cursor", "on", "type", "x", "y", "success", "keys"]
    bare = ["take_over", "give_back", "end", "release"]
    verbs = [
        "decide",
        "propose",
        "complete",
        "undo",
        "take_over",
        "input",
        "secret",
        "give_back",
        "end",
        "release",
        "nonsense",
    ]
    raw = [
        b"",
        b"[]",
        b"nonsense",
        b"\xff\xfe",
        b'{"step":NaN}',
        b'{"step":1,"step":2}',
        b"[" * 5000,
        b'"' + b"x" * 9000,
    ]
    with service(tmp_path) as clients:
        ada = clients["ada"]
        id = ada.post("sessions", task="corridor-0")[1]["session"]
        ada.settled(id)
        for turn_ in range(250):
            verb = rng.choice(verbs)
            body: Any = {rng.choice(names): rng.choice(values) for _ in range(rng.randrange(5))}
            if rng.random() < 0.2:
                body = rng.choice(raw)
            if verb in bare and isinstance(body, dict):
                body = [body]
            status, answer = ada.call("POST", f"/api/sessions/{id}/{verb}", body)
            assert status < 500, (turn_, verb, body, answer)
            if status != 200:
                assert isinstance(answer["error"], str) and answer["error"], (verb, body)
            status, state = ada.get(f"sessions/{id}")
            if status != 200 or state["phase"] in ("ended", "lost"):
                status, state = ada.post("sessions")
                id = state["session"]
            ada.settled(id)
        status, answer = ada.call("POST", "/api/sessions", b"x" * (1 << 21))
        assert status == 413
        for path in (
            "/static/../app.py",
            "/static/%2e%2e/app.py",
            "/api/episodes/..%2f..",
            "/api/episodes/x/screens/..%2fa",
        ):
            assert ada.call("GET", path)[0] in (400, 404)
        assert ada.get("tasks")[0] == 200


def test_a_budget_of_minutes_runs_out_and_the_policy_goes_on(tmp_path: Path) -> None:
    with service(tmp_path, minutes=1e-4) as clients:
        ada = clients["ada"]
        id = ada.post("sessions", task="corridor-0")[1]["session"]
        state = ada.settled(id)
        assert state["minutes_left"] > 0
        threading.Event().wait(0.05)
        ada.post(f"sessions/{id}/decide", step=0, text=UP, seconds=60)
        state = ada.settled(id)
        assert state["phase"] == "ended" and state["minutes_left"] == 0
        assert [each["decided_by"] for each in state["history"]] == ["annotator", "policy", "policy"]


def test_people_who_differ_are_shown(tmp_path: Path) -> None:
    with service(tmp_path, tasks=TASKS[:1]) as clients:
        for name, way in (("ada", None), ("eve", "up")):
            client = clients[name]
            id = client.post("sessions", task="corridor-0")[1]["session"]
            if way is None:
                client.solve(id)
            else:
                state = client.settled(id)
                while state["phase"] == "deciding":
                    client.post(f"sessions/{id}/decide", step=state["step"], text=UP)
                    state = client.settled(id)
            wait_until((tmp_path / "trajectories" / f"{id}.trajectory").exists)
        found = clients["bob"].get("disagreements")[1]
        [pair] = found["tasks"]
        assert pair["verdicts"] == ["solved", "not solved"] or pair["verdicts"] == ["not solved", "solved"]
        assert pair["step"] == 2
