"""What only a far computer can do wrong: a person takes it over, the service lacks a part, a session is gone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Finished, ToolCall
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs import far_computers
from tars_jax.envs.checked import CheckedEnvironment
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.address import SandboxAddress, read_address
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.service import PagesKind
from tars_jax.sandbox.browser.sessions import PageSessions
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.web.running import serving
from tests.envs.conftest import KEY
from tests.waiting import until

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
LOOK = [ToolCall("execute_bash", {"command": "ls"})]


def task(seed: int = 1) -> Task:
    return Task("one", "computer", seed, {}, 8)


def checked(at: EnvironmentResources, **options: Any) -> CheckedEnvironment:
    made = lambda: ComputerEnvironment("count_lines", resources=at, **options)  # noqa: E731
    return CheckedEnvironment(made, 120, on_callers_loop=True)


def hold(service: str, holds: bool) -> None:
    with httpx.Client(base_url=service, headers={"Authorization": f"Bearer {KEY}"}) as http:
        for session in http.get("/v1/sessions").json()["sessions"]:
            http.post(f"/v1/sessions/{session['id']}/person", json={"holds": holds}).raise_for_status()


def test_an_episode_that_a_person_takes_over_waits_and_then_has_no_reward(
    far: EnvironmentResources, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        environment = checked(far)
        await environment.reset(task())
        await asyncio.to_thread(hold, service, True)
        turn = asyncio.create_task(environment.step(LOOK))
        assert not (await asyncio.wait({turn}, timeout=1.5))[0], "it did not wait"
        await asyncio.to_thread(hold, service, False)
        with pytest.raises(EnvironmentFailure, match="a person has taken the computer over") as failed:
            await turn
        assert failed.value.kind == "person"
        await environment.reset(task())  # which is another computer
        assert not (await environment.step([Finished("-1")])).success
        await environment.close()
        monkeypatch.setattr(far_computers, "PERSON_S", 0.5)  # from the next client on
        environment = checked(far)
        await environment.reset(task())
        await asyncio.to_thread(hold, service, True)
        with pytest.raises(EnvironmentFailure, match=r"a person has held the session for 0.5 s") as failed:
            await environment.step(LOOK)
        assert failed.value.kind == "person"
        await environment.close()

    asyncio.run(live())


def test_a_session_that_is_gone_is_a_failure_and_all_end_with_the_learner(
    far: EnvironmentResources, service_sessions: ComputerSessions
) -> None:
    async def live() -> None:
        environment = checked(far)
        await environment.reset(task())
        (session,) = service_sessions.all_of()
        session.lease = type(session.lease)(session.lease.owner, 0.01, session.lease.token_sha256)
        session.renew()
        await until(lambda: not service_sessions.all_of())
        with pytest.raises(EnvironmentFailure, match="there is no session") as failed:
            await environment.step(LOOK)
        assert failed.value.kind == "service"
        members = [checked(far) for _ in range(2)]
        await asyncio.gather(*(member.reset(task(), 3) for member in members))  # one of the group never comes
        assert len(service_sessions.all_of()) == 3
        await asyncio.gather(*(each.close() for each in (environment, *members)))
        assert not service_sessions.all_of()

    asyncio.run(live())


def test_a_group_waits_for_room_and_what_nobody_opens_gives_way(
    far: EnvironmentResources, service_sessions: ComputerSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_sessions._session_quota, "per_owner", 3)

    async def live() -> None:
        alone, *members = (checked(far) for _ in range(3))
        await alone.reset(task(), 3)  # and two of its group never come: what they would begin from is a session, too
        assert len(service_sessions.all_of()) == 2
        begun = [asyncio.create_task(member.reset(task(2), 2)) for member in members]
        assert len((await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED))[0]) == 1
        await alone.close()
        await asyncio.gather(*begun)
        assert len(service_sessions.all_of()) == 2  # the members alone: all of the group have begun
        await asyncio.gather(*(member.close() for member in members))
        assert not service_sessions.all_of()

    asyncio.run(live())


@pytest.fixture(scope="module")
def pages_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service without computers."""
    config = ServiceConfig((Owner(OPERATOR, KEY),), port=0)
    sessions = PageSessions(
        BrowserManager(BrowserConfig(browsers=1)), SessionsConfig(), tmp_path_factory.mktemp("pages")
    )
    with serving(make_app(config, PagesKind(sessions, config)), config, plain=True) as address:
        yield address


@pytest.mark.browser
def test_a_service_without_what_a_task_needs_is_said(pages_alone: str) -> None:
    at = EnvironmentResources(sandbox=SandboxAddress(pages_alone, key=KEY))
    with pytest.raises(InputError, match="sandbox service: kind must be one of browser"):
        asyncio.run(checked(at).reset(task()))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"isolation": "gvisor"}, "isolation must be auto with sandbox.address and sandbox.guests"),
        ({"mcp": [{"name": "x", "command": "x", "show": ["/tmp"]}]}, "mcp must leave show out"),
    ],
)
def test_options_that_a_service_does_not_take(far: EnvironmentResources, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        asyncio.run(checked(far, **options).reset(task()))


def test_a_key_that_the_service_does_not_know(service: str) -> None:
    at = EnvironmentResources(sandbox=SandboxAddress(service, key="another-key"))
    with pytest.raises(InputError, match="sandbox service: .*Bearer KEY; got no key, or a wrong one"):
        asyncio.run(checked(at).reset(task()))


def test_addresses_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a long key\n")
    (tmp_path / "lines").write_text("a long key\nand another\n")
    key, lines = (str(tmp_path / name) for name in ("key", "lines"))
    at = read_address("http://h:1", key_file=key)
    assert at is not None and at.key == "a long key" and "long" not in repr(at)
    assert read_address() is None
    for given, words in (
        ({"address": "h:1", "key_file": key}, "sandbox.address must be http://HOST:PORT"),
        ({"address": "http://h:port", "key_file": key}, "sandbox.address must be http://HOST:PORT"),
        ({"address": "http://:1", "key_file": key}, "sandbox.address must be http://HOST:PORT"),
        (
            {"address": "http://h:1", "key_file": lines},
            "sandbox.key_file must be a file with an owner's key .* one line",
        ),
        ({"address": "http://h:1"}, "sandbox.key_file must be a file with an owner's key beside sandbox.address"),
        ({"address": "http://h:1", "guests": ["h:2"], "key_file": key}, "sandbox.address must be left out beside"),
        ({"guests": ["h"], "key_file": key}, "sandbox.guests must be HOST:PORT of guests; got 'h'"),
        ({"guests": ["h:2", "h:2"], "key_file": key}, "sandbox.guests must name each one once"),
        ({"key_file": key}, "sandbox.key_file must be left out without"),
        ({"phones": ["a", "a"]}, "sandbox.phones must name each one once"),
    ):
        with pytest.raises(InputError, match=words):
            read_address(**given)
