"""WebArena-Verified's tasks in Chromium over a website of this machine: right ends, wrong ends and scorers that fail.

The evaluators are the package's own where ./launch/webarena_verified.sh has installed them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Click, Finished, Hotkey, Navigate, NavigateBack, Point, Type, Wait
from tars_jax.environment import EnvironmentFailure, Task, Transition
from tars_jax.envs.benchmarks.webarena_scoring import score, wrong_form
from tars_jax.envs.benchmarks.webarena_verified import WebArenaVerifiedEnvironment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks
from tars_jax.tasks.benchmarks.webarena_verified import WEBARENA_VERIFIED, package_folder
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import is_installed
from tests.envs.benchmarks.local_website import website
from tests.tasks.benchmarks.webarena_files import PAGES, answer, expected, network, task, write_config

EVALUATORS = package_folder() / "bin" / "python"
needs_evaluators = pytest.mark.skipif(not EVALUATORS.exists(), reason="needs ./launch/webarena_verified.sh")
THE_MILL, THE_NOTE = Click(Point(100, 50)), Click(Point(100, 170))
NAVIGATED, MUTATED = Finished(answer("NAVIGATE")), Finished(answer("mutate"))
# A task's number, what is done, and what that comes to.
ENDS: dict[str, tuple[int, list[Action], float]] = {
    "the number": (0, [Finished(answer("retrieve", [3]))], 1.0),
    "the number as a text in a fence": (0, [Finished(f"```json\n{answer('RETRIEVE', ['3'])}\n```")], 1.0),
    "another number": (0, [Finished(answer("retrieve", [4]))], 0.0),
    "two numbers": (0, [Finished(answer("retrieve", [3, 4]))], 0.0),
    "the number, not found": (0, [Finished(answer("retrieve", [3], "NOT_FOUND_ERROR"))], 0.0),
    "another kind": (0, [Finished(answer("navigate", [3]))], 0.0),
    "words": (0, [Finished("It has 3 wheels. 😀")], 0.0),
    "no object": (0, [Finished("[3]")], 0.0),
    "a status that is a number": (0, [Finished('{"task_type": "RETRIEVE", "status": 5, "retrieved_data": [3]}')], 0.0),
    "nothing": (0, [Finished("")], 0.0),
    "the user is asked": (0, [CallUser()], 0.0),
    "nothing is done": (0, [Wait(), Wait(), Wait(), Wait(), Wait(), Wait()], 0.0),
    "the page": (1, [THE_MILL, NAVIGATED], 1.0),
    "the page by its address": (1, [Navigate("/mill"), NAVIGATED], 1.0),
    "the page without saying so": (1, [THE_MILL, Finished("")], 0.0),
    "not the page": (1, [NAVIGATED], 0.0),
    "a page below it": (1, [Navigate("/mill/wheels"), NAVIGATED], 0.0),
    "the note": (2, [THE_NOTE, Type("fresh flour\n"), MUTATED], 1.0),
    "another note": (2, [THE_NOTE, Type("stale flour\n"), MUTATED], 0.0),
    "a note that is not sent": (2, [THE_NOTE, Type("fresh flour"), MUTATED], 0.0),
    "a page of the form's address": (2, [Navigate("/notes?text=fresh+flour"), MUTATED], 0.0),
    "it is not there": (3, [Finished(answer("retrieve", None, "NOT_FOUND_ERROR"))], 1.0),
    "it is said to be there": (3, [Finished(answer("retrieve", [9]))], 0.0),
}


async def played(
    environment: WebArenaVerifiedEnvironment, number: int, actions: list[Action], most: int = 6
) -> Transition:
    await environment.reset(Task("t", "webarena_verified", 0, {"task": str(number)}, most))
    for action in actions:
        last = await environment.step([action])
        if last.terminated or last.truncated:
            return last
    raise AssertionError("the episode goes on")


@needs_evaluators
@pytest.mark.browser
@pytest.mark.slow
def test_right_ends_and_wrong_ends(tmp_path: Path) -> None:
    asked: list[str] = []

    async def play(address: str) -> dict[str, tuple[float, Any]]:
        environment = WebArenaVerifiedEnvironment(
            BenchmarkTasks(WEBARENA_VERIFIED, write_config(tmp_path, address)), size=(640, 480)
        )
        found = {}
        for name, (number, actions, _) in ENDS.items():
            last = await played(environment, number, actions)
            found[name] = (last.reward, last.observation.info["benchmark"]["details"])
            assert last.success is (last.reward == 1.0)
        await environment.close()
        return found

    with website(PAGES, asked) as host:
        found = asyncio.run(play(f"http://{host}/"))
    assert {name: reward for name, (reward, _) in found.items()} == {name: end for name, (*_, end) in ENDS.items()}
    assert asked.count("POST /notes text=fresh+flour") == 1
    har = found["the note"][1]["har"]["log"]["entries"]
    sent = [entry for entry in har if entry["request"]["method"] == "POST"]
    assert [(each["request"]["postData"]["text"], each["response"]["status"]) for each in sent] == [
        ("text=fresh+flour", 302)
    ]
    assert sent[0]["response"]["redirectURL"] == f"http://{host}/"
    assert sent[0]["response"]["cookies"] == [{"name": "said", "value": "thank%20you"}]
    assert {each["name"].lower() for each in sent[0]["request"]["headers"]} >= {"referer", "origin"}
    assert not any("invalid" in entry["request"]["url"] for entry in har)
    assert found["words"][1]["wrong_form"] == "the answer is no JSON"
    assert found["the page"][1]["result"]["webarena_verified_version"] == "1.2.3"


def scorer(folder: Path, program: str) -> Path:
    """A Python that answers as `program` does."""
    (folder / "answers.py").write_text(program)
    python = folder / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {folder / 'answers.py'}\n")
    python.chmod(0o755)
    return python


# Evaluators that answer with what they were asked.
STAND_IN = """
import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"result": {"score": 1, "status": "success", "asked": asked["config"]}}))
"""


@pytest.mark.browser
def test_the_page_stays_with_its_sites_and_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    scorer(tmp_path / "bin", STAND_IN)
    monkeypatch.setenv("TARS_JAX_WEBARENA_VERIFIED", str(tmp_path))

    async def play(address: str, other: str) -> None:
        config = json.loads(write_config(tmp_path, address).read_text())
        stored = {"cookies": [{"name": "who", "value": "ann", "domain": "127.0.0.1", "path": "/", "expires": -1,
                               "httpOnly": False, "secure": False, "sameSite": "Lax"}], "origins": []}  # fmt: skip
        (tmp_path / "ann.json").write_text(json.dumps(stored))
        extra = {"headers": {"X-Login": "ann:1234"}, "storage_state": str(tmp_path / "ann.json")}
        config["environments"]["__GITLAB__"]["extra"] = extra
        (tmp_path / "config.json").write_text(json.dumps(config))
        tasks = BenchmarkTasks(WEBARENA_VERIFIED, tmp_path / "config.json")
        environment = WebArenaVerifiedEnvironment(tasks, size=(640, 480))
        first = await environment.reset(Task("t", "webarena_verified", 0, {"task": "0"}, 9))
        assert first.info["state"]["title"] == "Mills" and first.pixels is not None
        said = (await environment.step([Navigate(other)])).observation
        assert "is none of the sites that can be reached" in said.text and said.info["state"]["title"] == "Mills"
        shown = (await environment.step([Navigate("mill"), Wait()])).observation
        assert shown.info["state"]["title"] == "The old mill"
        assert (await environment.step([NavigateBack()])).observation.info["state"]["title"] == "Mills"
        await environment.step([THE_NOTE, Type("fresh flour\n")])
        last = await environment.step([Finished(answer("retrieve", [3]))])
        details = last.observation.info["benchmark"]["details"]
        assert last.reward == 1.0 and details["result"]["asked"]["environments"] == {"__GITLAB__": {"urls": [address]}}
        har = details["har"]
        assert [(each["request"]["method"], each["request"]["url"]) for each in har["log"]["entries"]] == [
            ("GET", f"{address}/"), ("GET", f"{address}/mill"), ("GET", f"{address}/"), ("POST", f"{address}/notes"),
            ("GET", f"{address}/"),
        ]  # fmt: skip
        assert har["log"]["entries"][3]["request"]["postData"]["text"] == "text=fresh+flour"
        assert har["log"]["entries"][3]["response"]["redirectURL"] == f"{address}/"
        headers = {each["name"].lower(): each["value"] for each in har["log"]["entries"][0]["request"]["headers"]}
        assert headers["x-login"] == "[REDACTED]" and headers["cookie"] == "who=ann"
        await environment.close()
        await environment.close()

    elsewhere: list[str] = []
    with website(PAGES, []) as host, website(PAGES, elsewhere) as other:
        asyncio.run(play(f"http://{host}", f"http://{other}/"))
    assert not elsewhere


FOSSIL = load_website("fossil")
CLOSED, TICKETS, TICKET = (
    task(0, "Which of the tickets is closed?", expected("retrieve", ["Projector rejects valid names"]),
         {"type": "array", "items": {"type": "string"}}),
    task(1, "Open the list of all tickets.", expected("navigate"), {"type": "null"},
         network(url="__GITLAB__/rptview?rn=1")),
    task(2, "Enter a new ticket with the title Fan hums.", expected("mutate"), {"type": "null"},
         network(url="__GITLAB__/tktnew", http_method="POST", response_status=302,
                 post_data={"title": "Fan hums", "submit": "Submit"})),
)  # fmt: skip
BACK, ENTER = Hotkey(("shift", "tab")), Hotkey(("enter",))
LIST = Navigate("/rptview?rn=1")
PREVIEWED = [BACK, BACK, ENTER]
ON_FOSSIL: dict[str, tuple[int, list[Action], float]] = {
    "the title": (0, [LIST, Finished(answer("retrieve", ["Projector rejects valid names"]))], 1.0),
    "another title": (0, [LIST, Finished(answer("retrieve", ["Fan hums"]))], 0.0),
    "the list": (1, [LIST, NAVIGATED], 1.0),
    "another page": (1, [Navigate("/wcontent"), NAVIGATED], 0.0),
    "the ticket": (2, [Navigate("/tktnew?title=Fan hums"), *PREVIEWED, *PREVIEWED, MUTATED], 1.0),
    "another ticket": (2, [Navigate("/tktnew?title=Fan sings"), *PREVIEWED, *PREVIEWED, MUTATED], 0.0),
    "a ticket that is only looked at": (2, [Navigate("/tktnew?title=Fan hums"), *PREVIEWED, MUTATED], 0.0),
    "nothing": (2, [Finished("")], 0.0),
}  # fmt: skip


@needs_evaluators
@pytest.mark.skipif(not is_installed(FOSSIL), reason="needs ./launch/websites.sh fossil")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")
@pytest.mark.browser
@pytest.mark.multiprocess
@pytest.mark.slow
def test_over_a_website_of_ours(tmp_path: Path) -> None:
    async def play() -> dict[str, float]:
        config = write_config(tmp_path, "website:fossil?seed=1", [CLOSED, TICKETS, TICKET])
        environment = WebArenaVerifiedEnvironment(BenchmarkTasks(WEBARENA_VERIFIED, config))
        found = {}
        for name, (number, actions, _) in ON_FOSSIL.items():
            found[name] = (await played(environment, number, actions, 20)).reward
        await environment.close()
        return found

    assert asyncio.run(play()) == {name: end for name, (*_, end) in ON_FOSSIL.items()}


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import time; time.sleep(60)", "did not answer within 1 s"),
        ("raise SystemExit(3)", "answered what is no JSON"),
        ("print('[]')", "the evaluators answered '\\[\\]'"),
        ("print('{}')", "which is no result"),
        ('print(\'{"result": {"score": 0.5, "status": "failure"}}\')', "which is no result"),
        ('print(\'{"failure": "webarena-verified must be 1.2.3; got 2.0.0"}\')', "must be 1.2.3; got 2.0.0"),
        ('print(\'{"result": {"score": 0.0, "status": "error", "error_msg": "a bug"}}\')', "failed: a bug"),
    ],
)
def test_a_scorer_that_fails_is_no_score(tmp_path: Path, program: str, said: str) -> None:
    record = BenchmarkTasks(WEBARENA_VERIFIED, write_config(tmp_path, "http://localhost:1")).tasks[0].record
    begun = time.monotonic()
    with pytest.raises(EnvironmentFailure, match=said) as failure:
        asyncio.run(score(record, answer("retrieve", [3]), [], scorer(tmp_path, program), 1.0))
    assert failure.value.kind == "verifier" and time.monotonic() - begun < 20


def test_an_answer_of_another_form_is_the_agents_own_fault(tmp_path: Path) -> None:
    record = BenchmarkTasks(WEBARENA_VERIFIED, write_config(tmp_path, "http://localhost:1")).tasks[0].record
    error = {"result": {"score": 0.0, "status": "error", "error_msg": "no attribute strip"}}
    python = scorer(tmp_path, f"print({json.dumps(json.dumps(error))})")
    assert asyncio.run(score(record, "{}", [], python))[0] == 0.0
    assert wrong_form(answer("retrieve", [3])) == "" and wrong_form(f"Here:\n```json\n{answer('MUTATE')}```") == ""
    for response, why in (
        (None, "no answer"), (" ", "no answer"), ("{", "no JSON"), ("3", "no JSON object"), ("[" * 9999, "no JSON"),
        ('{"task_type": "read", "status": "SUCCESS"}', "task_type"), ('{"task_type": "RETRIEVE"}', "status"),
        (answer("retrieve", 3), "retrieved_data"),
    ):  # fmt: skip
        assert why in wrong_form(response)


def test_options_that_it_cannot_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = BenchmarkTasks(WEBARENA_VERIFIED, write_config(tmp_path, "http://localhost:1"))
    elsewhere = EnvironmentResources(sandbox=SandboxAddress("http://localhost:1", key="k" * 20))
    for options, said in (
        ({"resources": elsewhere}, "sandbox must be this machine for webarena_verified"),
        ({"interface": "sdk"}, "interface of webarena_verified must be gui"),
        ({"hosts": "a.example"}, "hosts must be a list"),
        ({"hosts": ["http://a.example"]}, r"network\[0\] must be a host"),
    ):
        with pytest.raises(InputError, match=said):
            WebArenaVerifiedEnvironment(tasks, **options)
    monkeypatch.setenv("TARS_JAX_WEBARENA_VERIFIED", str(tmp_path))
    with pytest.raises(InputError, match=r"\./launch/webarena_verified\.sh installs them"):
        WebArenaVerifiedEnvironment(tasks)
