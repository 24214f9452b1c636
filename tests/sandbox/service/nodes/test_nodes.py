"""Two nodes that open real computers, as processes of this machine, and a manager: one service to their clients."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tars_jax import InputError
from tars_jax.sandbox.browser.service import BrowserClient
from tars_jax.sandbox.browser.site import Site
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.client import ComputerClient
from tars_jax.sandbox.service.nodes import Nodes
from tars_jax.sandbox.service.nodes.live_nodes import LiveNodes
from tars_jax.sandbox.service.nodes.node_client import NodeClient
from tars_jax.sandbox.service.nodes.placement import NodeStatus, NoNode, Wanted, choose, require_quota
from tars_jax.sandbox.service.nodes.sandboxes import read_warm, spec_of
from tars_jax.sandbox.service.nodes.scheduler import SessionScheduler
from tars_jax.sandbox.sessions.registry import node_of
from tests.sandbox.service.nodes.cluster import ANN, BOB, KEY, OTHER, SMALL, Cluster, cluster
from tests.waiting import until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")


@needs_root
@pytest.mark.multiprocess
@pytest.mark.slow
def test_sessions_are_placed_used_and_given_back(tmp_path: Path) -> None:
    async def live(running: Cluster) -> None:
        address = running.manager.address
        async with Nodes(address, KEY) as nodes, ComputerClient(address, ANN) as ann:
            await until(lambda: all_ready(nodes))
            one = await ann.open(**SMALL)
            computers = [one, *[await ann.open(**SMALL) for _ in range(3)]]
            places = [node_of(each.id) for each in computers]
            assert {places.count(id) for id in running.ids} == {2}  # where there was most room, each time
            for number, each in enumerate(computers):
                await each.write("/home/agent/a b ü", f"{number}".encode() + b"\xff\n")
                assert (await each.run("ls ~"))["output"] == "'a b ü'\n"
            assert await computers[2].read("/home/agent/a b ü") == b"2\xff\n"
            with pytest.raises(InputError, match="no/such"):
                await one.read("/no/such")
            with pytest.raises(InputError, match="memory_mib"):
                await ann.open(memory_mib=1)
            waiting = asyncio.create_task(ann.open(**OTHER))
            await asyncio.sleep(0.5)
            assert not waiting.done()  # all places are taken
            await computers[0].close()
            other = await waiting
            assert node_of(other.id) == places[0]
            assert (await other.run("ls ~"))["output"] == ""
            with pytest.raises(SandboxFailure):
                await computers[0].run("true")
            for each in computers[1:]:
                await each.close()
            await nodes.drain(running.ids[0] if places[0] == running.ids[1] else running.ids[1])
            last = await ann.open(**OTHER)
            assert node_of(last.id) == places[0]
            drained = running.nodes[running.ids.index(places[0]) - 1]
            await asyncio.to_thread(drained.process.wait, 30)
            assert (await last.run("true"))["exit_code"] == 0

    async def all_ready(nodes: Nodes) -> bool:
        return all(node["ready"] for node in await nodes.list())

    with cluster(tmp_path, capacity=2) as running:
        asyncio.run(live(running))


@needs_root
@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.full
def test_the_service_of_one_machine_is_that_of_many(tmp_path: Path) -> None:
    """Owners, tokens, idempotency keys, WebSockets, mounts, forks and snapshots, through the manager."""

    async def live(running: Cluster) -> None:
        address = running.manager.address
        headers = {"Authorization": f"Bearer {ANN}"}
        async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as http:
            asked = {"kind": "computer", **SMALL, "idempotency_key": "word"}
            first, again = [await http.post("/v1/sessions", json=asked) for _ in range(2)]
            assert (first.status_code, first.json()["id"]) == (201, again.json()["id"])
            assert first.json()["token"] == again.json()["token"] and first.json()["owner"] == "ann"
            other = await http.post("/v1/sessions", json={**asked, "memory_mib": 100})
            assert other.status_code == 400 and other.json()["error"]["param"] == "idempotency_key"
            id, token = first.json()["id"], first.json()["token"]
            one = f"/v1/sessions/{id}"
            await keys(http, one, token)
            await sockets_and_mounts(http, address, id, token)
            told = (await http.get("/v1/sessions")).json()["sessions"]
            assert [each["id"] for each in told] == [id]  # what is ready is nobody's
            await http.put(f"{one}/files?path=/home/agent/file", content=b"kept\n")
            assert (await http.post(f"{one}/fork", json={"count": 9})).status_code in (429, 502)
            forks = (await http.post(f"{one}/fork", json={"count": 2})).json()["sessions"]
            got = await http.get(f"/v1/sessions/{forks[1]['id']}/files?path=/home/agent/file")
            assert got.content == b"kept\n"
            assert (await http.post(f"{one}/snapshots", json={"name": "snap ü"})).status_code == 201
            assert [each["name"] for each in (await http.get("/v1/snapshots")).json()["snapshots"]] == ["snap ü"]
            for each in forks:
                assert (await http.delete(f"/v1/sessions/{each['id']}")).status_code == 204
            copy = (await http.post("/v1/sessions", json={"kind": "computer", "snapshot": "snap ü"})).json()
            got = await http.get(f"/v1/sessions/{copy['id']}/files?path=/home/agent/file")
            assert got.content == b"kept\n"
            assert (await http.delete("/v1/snapshots/snap%20%C3%BC")).status_code == 204
            assert (await http.delete("/v1/snapshots/snap%20%C3%BC")).status_code == 400
            assert (await http.get("/v1/stats")).json()["sessions"] == 2
            short = (await http.post("/v1/sessions", json={"kind": "computer", **OTHER, "lease_seconds": 0.5})).json()

            async def gone() -> bool:  # nobody renews it
                return (await http.get(f"/v1/sessions/{short['id']}")).status_code == 404

            await asyncio.sleep(1)
            await until(gone)
            async with Nodes(address, KEY) as nodes:

                async def forgotten() -> bool:
                    return len((await nodes.request("GET", "/v1/sessions"))["sessions"]) == 2

                await until(forgotten)
                node = (await nodes.list())[0]["address"]
        for path in ("/v1/node", "/v1/sessions", one, f"/s/{id}/"):  # nodes serve managers alone
            for headers in (
                {},
                {"Authorization": f"Bearer {ANN}"},
                {"x-tars-jax-delegated": '{"key": "no", "owner": "ann"}'},
            ):
                assert httpx.get(f"{node}{path}", headers=headers).status_code == 401

    async def keys(http: httpx.AsyncClient, one: str, token: str) -> None:
        def by(key: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {key}"}

        call = {"call": {"call": "run", "command": "echo $((6*7))"}}
        for key in (ANN, KEY, token):
            done = await http.post(f"{one}/call", json=call, headers=by(key))
            assert done.json()["output"] == "42\n"
        for key, status in ((BOB, 404), ("wrong", 401)):
            assert (await http.post(f"{one}/call", json=call, headers=by(key))).status_code == status
            assert (await http.delete(one, headers=by(key))).status_code == status
        assert (await http.get("/v1/sessions/0123456789abcdef", headers=by(ANN))).status_code == 404
        assert (await http.get(one, headers={"Authorization": ""})).status_code == 401
        assert (await http.get(one, headers={**by(BOB), "x-tars-jax-delegated": "{}"})).status_code == 404
        assert (await http.get(one, headers={"Host": "evil.example"})).status_code == 400
        assert (await http.get("/v1/sessions", headers=by(BOB))).json() == {"sessions": []}
        asked = {"ids": [one.rpartition("/")[2], "of-dead00-01234567-0123456789abcdef", "none"]}
        renewed = [(await http.post("/v1/renewals", json=asked, headers=by(key))).json() for key in (ANN, BOB)]
        assert [set(asked["ids"]) - set(each["ended"]) for each in renewed] == [{asked["ids"][0]}, set()]
        wrong = await http.post("/v1/renewals", json={"ids": [7]}, headers=by(ANN))
        assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "ids")
        bob = await http.post("/v1/sessions", json={"kind": "computer", **OTHER}, headers=by(BOB))
        assert bob.status_code == 201
        more = await http.post("/v1/sessions", json={"kind": "computer", **OTHER}, headers=by(BOB))
        assert (more.status_code, more.json()["error"]["code"]) == (429, "quota")
        assert (await http.post(f"/v1/sessions/{bob.json()['id']}/fork", headers=by(BOB), json={})).status_code == 429
        assert (await http.delete(f"/v1/sessions/{bob.json()['id']}", headers=by(BOB))).status_code == 204

    async def sockets_and_mounts(http: httpx.AsyncClient, address: str, id: str, token: str) -> None:
        socket_address = f"{address.replace('http', 'ws')}/v1/sessions/{id}/calls?token="
        async with connect(socket_address + token) as socket:
            await socket.send(json.dumps({"id": 1, "call": {"call": "run", "command": "echo ü"}}))
            assert json.loads(await socket.recv())["ok"]["output"] == "ü\n"
        with pytest.raises(InvalidStatus):
            async with connect(socket_address + BOB):
                pass
        command = "cd /tmp && echo page > x && (python3 -m http.server 3000 >/dev/null 2>&1 &) ; sleep 2"
        await http.post(f"/v1/sessions/{id}/call", json={"call": {"call": "run", "command": command}})

        async def served() -> bool:
            return (await http.get(f"/s/{id}/port/3000/x")).status_code == 200

        await until(served)
        async with httpx.AsyncClient(base_url=address, timeout=60) as browser:
            await in_a_browser(browser, id)

    async def in_a_browser(http: httpx.AsyncClient, id: str) -> None:
        opened = await http.post(f"/s/{id}/open", data={"token": ANN, "mount": "port/3000/x"})
        assert opened.status_code == 303
        there = httpx.URL(opened.headers["location"])
        assert there.host == f"{id}.localhost" and there.port == http.base_url.port  # a browser goes there
        named = {"Host": f"{there.host}:{there.port}"}
        granted = await http.get(there.raw_path.decode(), headers=named)
        cookie = granted.headers["set-cookie"].partition(";")[0]
        shown = await http.get(granted.headers["location"], headers={**named, "Cookie": cookie})
        assert (shown.status_code, shown.text) == (200, "page\n")
        assert (await http.get(f"/s/{id}/port/3000/x")).status_code == 401
        assert (await http.get("/v1/nodes", headers=named)).status_code == 404

    with cluster(tmp_path, capacity=5, nodes=1) as running:
        asyncio.run(live(running))


@needs_root
@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.full
def test_sessions_outlive_a_killed_manager(tmp_path: Path) -> None:
    async def live(running: Cluster) -> None:
        async with ComputerClient(running.manager.address, ANN) as client:
            one = await client.open(**SMALL)
            await one.run("echo here > ~/file; x=5")
            long = asyncio.create_task(
                one.call("run_program", argv=["sh", "-c", "sleep 2; echo once >> ~/log; cat ~/log"])
            )
            await asyncio.sleep(0.3)
            await asyncio.to_thread(running.manager.kill)
            waiting = asyncio.create_task(client.open(**SMALL))
            await asyncio.sleep(0.5)
            await asyncio.to_thread(running.manager.start)
            assert "once" in json.dumps(await long)
            other = await waiting
            assert (await one.run("cat ~/file ~/log; echo $x"))["output"] == "here\nonce\n5\n"  # nothing was done twice
            assert other.id != one.id and (await other.run("ls ~"))["output"] == ""

    with cluster(tmp_path, nodes=1, capacity=3) as running:
        asyncio.run(live(running))


@pytest.mark.browser
@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.full
def test_pages_are_sessions_of_nodes_too(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<title>a page</title><h1>ü</h1>")

    async def live(running: Cluster) -> None:
        async with BrowserClient(running.manager.address, ANN) as client:
            page = await client.open_page(Site(tmp_path / "site"))
            assert await page.evaluate("document.title") == "a page"
            await page.close()

    more = ("--kinds", "browser", "--roots", str(tmp_path / "site"))
    with cluster(tmp_path, nodes=1, capacity=2, more=more, warm=0) as running:
        asyncio.run(live(running))


def status(id: str, free: int = 1, ready: int = 0, keys: tuple[str, ...] = (), *, draining: bool = False) -> NodeStatus:
    return NodeStatus(id, id, 4, free, {"spec": ready}, ["computer"], draining, keys, 0)


def test_a_node_is_chosen_that_has_the_key_a_ready_session_or_the_most_places() -> None:
    wanted = Wanted("computer", "spec", "ann", "key")
    some, ready, known = status("some", 3), status("ready", 2, 1), status("known", 0, 0, ("key", "other"))
    assert choose(wanted, [some, ready, known], {}, ["known"]) == "known"
    assert choose(wanted, [some, ready], {}, []) == "ready"
    assert choose(wanted, [some, ready], {"ready": 1}, []) == "some"  # it is another's by the time
    assert choose(wanted, [some, ready], {}, ["ready"]) == "some"
    assert choose(wanted, [some, status("drains", 4, 4, draining=True)], {}, []) == "some"
    assert choose(dataclasses.replace(wanted, node="some"), [some, ready], {}, []) == "some"
    equals = [status(f"n{number}", 3) for number in range(8)]
    alike = {choose(wanted, nodes, {}, []) for nodes in (equals, equals[::-1])}
    assert len(alike) == 1  # whichever manager is asked
    others = {choose(dataclasses.replace(wanted, key=str(number)), equals, {}, []) for number in range(40)}
    assert len(others) > 4
    with pytest.raises(QuotaExceeded, match="no node of 1 has a free place"):
        choose(wanted, [status("full", 0)], {}, [])
    for nobody in ([], [some]):
        with pytest.raises(NoNode, match=f"no node of {len(nobody)} has sessions of kind 'phone'"):
            choose(dataclasses.replace(wanted, kind="phone"), nobody, {}, [])
    require_quota("ann", 3, [known, some], {"key"})
    with pytest.raises(QuotaExceeded, match="ann has 3 sessions, of 3") as own:
        require_quota("ann", 3, [known, some], {"key", "another"})
    assert own.value.own


def test_who_is_alive_is_who_is_heard() -> None:
    now = 100.0
    nodes = LiveNodes(lambda: now)
    nodes.heartbeat("a-b-01234567", "http://127.0.0.1:1", 10)
    session = "a-b-01234567-0123456789abcdef"
    assert asyncio.run(nodes.address_of(session)) == "http://127.0.0.1:1"
    now = 109.0
    nodes.heartbeat("a-b-89abcdef", "http://127.0.0.1:2", 10)
    assert list(nodes.addresses()) == ["a-b-01234567", "a-b-89abcdef"]
    now = 111.0
    assert nodes.addresses() == {"a-b-89abcdef": "http://127.0.0.1:2"}
    with pytest.raises(SandboxFailure, match="node: a-b-01234567, which had the session"):
        asyncio.run(nodes.address_of(session))  # a node that was started again is another one
    for none in ("0123456789abcdef", "a-0123456789abcdef", "../a-b-89abcdef-0123456789abcdef", "", "a" * 80):
        with pytest.raises(SessionEnded):
            asyncio.run(nodes.address_of(none))
    for id, address in (("A-01234567", "http://a"), ("a", "http://a"), ("a-b-89abcdef", "file:///a")):
        with pytest.raises(InputError, match="a node must have an id NAME-INCARNATION"):
            nodes.heartbeat(id, address, 10)


def test_an_opening_waits_for_nodes_and_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.sandbox.service.nodes.scheduler.NO_NODE_S", 0.2)
    monkeypatch.setattr("tars_jax.sandbox.service.nodes.live_nodes.SETTLE_S", 0.1)

    async def live() -> None:
        scheduler = SessionScheduler(NodeClient(nodes := LiveNodes(), KEY))
        nodes.heartbeat("a-01234567", "http://127.0.0.1:9", 60)  # where nothing listens
        with pytest.raises(SandboxFailure, match="no node of 0 has sessions of kind 'computer'"):
            await scheduler.open(Wanted("computer", "spec", "ann", "key"), b"{}", None, 60)
        with pytest.raises(QuotaExceeded, match="ann has 0 sessions, of 0"):
            await scheduler.open(Wanted("computer", "spec", "ann", "key"), b"{}", 0, 60)

    asyncio.run(live())


def test_what_a_file_keeps_ready(tmp_path: Path) -> None:
    assert read_warm(None) == {}
    file = tmp_path / "warm ü.json"
    file.write_text('{"a": {"memory_mib": 64, "cpus": 0.5, "warm": 3}, "b": {"parts": ["shell"]}}')
    first = spec_of({"kind": "computer", "cpus": 0.5, "memory_mib": 64}, "ann")
    second = spec_of({"kind": "computer", "parts": ["shell"], "snapshot": None}, "bob")
    assert read_warm(file) == {first: 3, second: 1}
    assert spec_of({"kind": "computer", "snapshot": "x"}, "ann") != spec_of(
        {"kind": "computer", "snapshot": "x"}, "bob"
    )
    for text, named in (
        ("[]", "must hold a JSON object"), ('{"a": 1}', "'a' must be an object"), ('{"a": {"b": 1}}', "is no field"),
        ('{"a": {"memory_mib": 2}}', "memory_mib"), ('{"a": {"warm": -1}}', "a.warm must be"),
        ('{"a": {"cpus": "1"}}', "cpus must be"), ('{"a": {"parts": ["no"]}}', "parts must be of"),
    ):  # fmt: skip
        file.write_text(text)
        with pytest.raises(InputError, match=named):
            read_warm(file)
