"""BrowseComp as an environment: by calls without a browser, by screenshots of pages, and over hosts that are named."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.agent import action_from_call
from tars_jax.agent.actions import CallUser, Click, Finished, Navigate, NavigateBack, Point, ToolCall, Type
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.benchmarks.browsecomp import BrowseCompEnvironment
from tars_jax.envs.benchmarks.live_page import LivePage
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTasks
from tars_jax.tasks.benchmarks.browsecomp import BROWSECOMP
from tars_jax.tasks.benchmarks.browsecomp_response import response_of
from tests.envs.benchmarks.local_website import browsers, website
from tests.tasks.benchmarks.browsecomp_files import QUESTIONS, write_csv

DOCUMENTS = [
    {
        "docid": "d1",
        "title": "Arrosa",
        "text": "A village.\nIt lies at the Nera, below the mill.",
        "url": "https://e.org/a",
    },
    {"docid": "d2", "url": "https://e.org/nera", "text": "A river 😀 with 7 bridges."},
    {"docid": "d3", "title": "Arrosa", "text": "A ship."},
]
TASK = Task("t", "browsecomp", 0, {"task": "browsecomp-0000"}, 5)


def corpus(folder: Path) -> str:
    file = folder / "corpus.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS))
    return str(file)


def tasks(folder: Path) -> BenchmarkTasks:
    return BenchmarkTasks(BROWSECOMP, write_csv(folder / "set.csv"))


def ended(transition: Any) -> dict[str, Any]:
    return dict(transition.observation.info["benchmark"])


def test_by_calls_over_documents_of_ones_own(tmp_path: Path) -> None:
    async def play() -> None:
        environment = BrowseCompEnvironment(tasks(tmp_path), interface="sdk", encyclopedia=corpus(tmp_path))
        first = await environment.reset(TASK)
        assert environment.instruction.startswith(QUESTIONS[0][0]) and "Exact Answer:" in environment.instruction
        assert "3 articles" in first.text and first.pixels is None
        found = (await environment.step([ToolCall("Search", {"query": "village Arrosa river"})])).observation
        assert "Arrosa" in found.text and "https%3A" in found.text
        read = (await environment.step([ToolCall("LinkReader", {"url": "https://e.org/nera"})])).observation
        assert "7 bridges" in read.text
        assert "(d3)" in (await environment.step([ToolCall("Search", {"query": "ship"})])).observation.text
        last = await environment.step([Finished(response_of("Nera", 90))])
        assert last.terminated and last.success is None and ended(last)["ended_by"] == "agent"
        assert ended(last)["details"] == {"response": response_of("Nera", 90)}
        await environment.reset(TASK)
        assert ended(await environment.step([CallUser()]))["details"] == {"response": None}
        await environment.reset(TASK)
        for _ in range(4):
            assert not (await environment.step([ToolCall("Search", {"query": "ship"})])).truncated
        last = await environment.step([ToolCall("Search", {"query": "ship"})])
        assert last.truncated and ended(last)["ended_by"] == "steps"
        await environment.close()

    asyncio.run(play())


def test_the_reference_player_answers_in_the_form(tmp_path: Path) -> None:
    async def play() -> None:
        environment = BrowseCompEnvironment(tasks(tmp_path), interface="sdk", encyclopedia=corpus(tmp_path))
        first = await environment.reset(TASK)
        move = environment.reference_player(first.info["state"], random.Random(0))
        last = await environment.step([action_from_call(move.function, move.parameters)])
        assert ended(last)["details"]["response"] == response_of("Nera")

    asyncio.run(play())


@pytest.mark.browser
def test_by_screenshots_of_pages(tmp_path: Path) -> None:
    async def play() -> list[bytes]:
        async with browsers() as resources:
            environment = BrowseCompEnvironment(
                tasks(tmp_path), encyclopedia=corpus(tmp_path), size=(640, 480), resources=resources
            )
            first = await environment.reset(TASK)
            assert first.pixels is not None and first.pixels.shape == (480, 640, 3) and not first.text
            x, y = first.info["state"]["box"]
            seen = [first.screenshot]
            for action in (Click(Point(round(1000 * x / 640), round(1000 * y / 480))), Type("nera\n")):
                seen.append((await environment.step([action])).observation.screenshot)
            shown = (await environment.step([Navigate("/wiki/Arrosa")])).observation
            assert shown.info["state"]["url"].endswith("/wiki/Arrosa")
            last = await environment.step([Finished(response_of("Nera"))])
            assert last.terminated and last.observation.pixels is not None
            await environment.close()
            return seen

    first = asyncio.run(play())
    assert len(set(first)) == 3 and asyncio.run(play()) == first


PAGES = {
    "/": '<title>Start</title><body style="margin:0"><a href="/next" target="_blank" style="font-size:60px">next</a>'
    "<script>document.cookie='seen=' + (document.cookie || 'never')</script>",
    "/next": "<title>Next</title><p id=c></p><script>c.innerText = document.cookie</script>",
}


@pytest.mark.browser
def test_over_hosts_that_are_named(tmp_path: Path) -> None:
    async def play(host: str, other: str) -> None:
        async with browsers() as resources:
            environment = BrowseCompEnvironment(
                tasks(tmp_path), hosts=[host], start=f"http://{host}/", size=(640, 480), resources=resources
            )
            assert "navigate" in environment.action_space.actions
            page: LivePage | None = None
            for _ in range(2):  # the second episode knows nothing of the first
                first = await environment.reset(TASK)
                assert first.pixels is not None and first.pixels.min() < 200  # something is written on it
                await environment.step([Click(Point(60, 60))])  # a window of its own is shown in the page
                page = environment._page
                assert page is not None and page.data["title"] == "Next"
                assert await page.page.evaluate("document.cookie") == "seen=never"
                await environment.step([NavigateBack()])
                assert page.data["title"] == "Start"
                said = (await environment.step([NavigateBack()])).observation.text
                assert said == "navigate_back: there is no page to go back to"
            assert page is not None
            said = (await environment.step([Navigate(f"http://{other}/")])).observation.text
            assert "none of the sites that can be reached" in said and page.data["title"] == "Start"
            last = await environment.step([Finished("Nera")])
            assert ended(last)["details"] == {"response": "Nera"}
            await environment.close()

    asked: list[str] = []
    elsewhere: list[str] = []
    with website(PAGES, asked) as host, website(PAGES, elsewhere) as other:
        asyncio.run(play(host, other))
    assert asked.count("/next") == 2 and not elsewhere


WEB = {
    "/search": json.dumps({"results": [{"url": "http://HOST/a", "title": "Arrosa", "content": "A\nvillage"}]}),
    "/a": "<title>Arrosa</title><style>p{}</style><p>It lies at the Nera.<p>It has a mill 😀."
    "<a href='/b#x'>The <b>mill</b></a><a href='javascript:0'>no</a><script>hidden()</script>",
    "/b": "<p>Built in 1897.",
}


def test_by_calls_over_hosts_that_are_named(tmp_path: Path) -> None:
    asked: list[str] = []
    elsewhere: list[str] = []
    pages = dict(WEB)

    async def play(host: str, other: str) -> None:
        pages["/search"] = WEB["/search"].replace("HOST", host)
        environment = BrowseCompEnvironment(
            tasks(tmp_path), interface="sdk", hosts=[host], search=f"http://{host}/search"
        )
        await environment.reset(TASK)

        async def said(name: str, **given: str) -> str:
            return (await environment.step([ToolCall(name, given)])).observation.text

        assert await said("Search", query="village 😀") == f"1 result\nhttp://{host}/a Arrosa: A village"
        read = await said("LinkReader", url=f"http://{host}/a")
        assert read == (f"Arrosa\nIt lies at the Nera.\nIt has a mill 😀.The millno\nLinks:\nhttp://{host}/b The mill")
        assert (
            "mill" not in (await said("LinkReader", url=f"http://{host}/a", description="Nera")).partition("Links")[0]
        )
        assert (await said("LinkReader", url=f"http://{host}/none")).endswith("answered 404")
        last = await environment.step([Finished(response_of("Nera"))])
        assert last.terminated and ended(last)["details"]["response"] == response_of("Nera")
        await environment.reset(TASK)
        assert "none of the sites" in await said("LinkReader", url=f"http://{other}/a")
        assert "none of the sites" in await said("LinkReader", url="file:///etc/passwd")
        pages["/search"] = "<p>busy"
        with pytest.raises(EnvironmentFailure, match="did not answer as a search service"):
            await said("Search", query="x")
        await environment.close()

    with website(pages, asked) as host, website(PAGES, elsewhere) as other:
        asyncio.run(play(host, other))
    assert asked[0] == "/search?q=village+%F0%9F%98%80&format=json" and not elsewhere


def test_options_that_it_cannot_have(tmp_path: Path) -> None:
    known = tasks(tmp_path)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"interface": "eyes"}, "interface must be one of gui, sdk, both"),
        ({"hosts": ["example.org"]}, "start must be the address"),
        ({"start": "https://example.org"}, "start must be the address"),
        ({"hosts": ["example.org"], "start": "example.com"}, "start must be an address of one of the hosts"),
        ({"hosts": ["http://example.org"], "start": "example.org"}, r"network\[0\] must be a host"),
        ({"hosts": "example.org", "start": "example.org"}, "hosts must name the hosts"),
        ({"hosts": ["*"], "start": "http://127.0.0.1/"}, "start must be an address of one of the hosts"),
        ({"hosts": ["*"], "start": "example.org", "interface": "sdk"}, "start must be the address"),
        ({"hosts": ["*"], "interface": "sdk"}, "search must be the service"),
        ({"hosts": ["*"], "interface": "sdk", "search": "searx"}, "search must be the address of a search service"),
        ({"search": "http://127.0.0.1:8888"}, "search must be the service"),
    ]
    for options, wanted in refused:
        with pytest.raises(InputError, match=wanted):
            BrowseCompEnvironment(known, **options)
    assert BrowseCompEnvironment(known, hosts=["*"], start="example.org").action_space.platform == "browser"
    for line in ("", "{}", '{"text": "no name"}', '{"title": "a", "text": 1}', '{"title": "a", "text": "b"'):
        (file := tmp_path / "broken.jsonl").write_text(line)
        environment = BrowseCompEnvironment(known, interface="sdk", encyclopedia=str(file))
        with pytest.raises(InputError, match=r"broken\.jsonl"):
            asyncio.run(environment.reset(TASK))
