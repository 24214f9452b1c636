"""A site of one's own that keeps its state in memory: it is restarted at a reset, or told to read its files again."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.installation import FOLDER_VARIABLE
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import FilesReader, Rest, Website
from tars_jax.tasks.websites.websites import Websites

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
# Notes in a list; POST /notes adds one and writes the file, POST /reload reads it, POST /hang answers never, and
# POST /late writes the file a second later.
SERVE = """
import http.server, json, pathlib, sys, time
file = pathlib.Path("notes.json")
notes = json.loads(file.read_text())
class Notes(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(notes).encode())
    def do_POST(self):
        said = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if self.path == "/hang":
            time.sleep(999)
        if self.path == "/late":
            time.sleep(1)
            file.write_text('["late"]')
        if self.path == "/reload":
            notes[:] = json.loads(file.read_text())
        elif self.path == "/notes":
            notes.append(said)
            file.write_text(json.dumps(notes))
        self.send_response(200 if self.path in ("/reload", "/notes") else 404)
        self.end_headers()
    def log_message(self, *said):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Notes).serve_forever()
"""
PREPARE = "import json, pathlib, sys; pathlib.Path('notes.json').write_text(json.dumps(json.load(sys.stdin)['notes']))"


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Website:
    """Installed in a folder of its own, in version 1."""
    installed, programs = tmp_path / "sites/notes", tmp_path / "programs"
    installed.mkdir(parents=True)
    programs.mkdir()
    (installed / "version").write_text("1")
    (programs / "serve.py").write_text(SERVE)
    (programs / "prepare.py").write_text(PREPARE)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "sites"))

    def content(rng: random.Random) -> dict[str, list[str]]:
        return {"notes": [f"note {rng.randint(1, 9)}"]}

    return Website(
        "notes", version="1", license="none", package="debian:notes", port=8000, content=content,
        prepare=("{python}", "{programs}/prepare.py"), serve=("{python}", "{programs}/serve.py", "{port}"),
        readers={"notes": Rest("/", lambda notes: [{"text": each} for each in notes]),
                 "files": FilesReader("notes.json")},
        programs=str(programs),
    )  # fmt: skip


async def add(session: WebsiteSession, text: str) -> None:
    status, _ = await session.http("POST", "/notes", text)
    assert status == 200


@pytest.mark.parametrize("way", ["restarts", "reload", pytest.param("neither", marks=pytest.mark.full)])
@pytest.mark.first(1)
def test_what_is_kept_in_memory_is_put_back(declared: Website, way: str) -> None:
    ways: dict[str, dict[str, Any]] = {
        "restarts": {"restarts": True},
        "reload": {"reload": (("POST", "/reload", ""),)},
        "neither": {},
    }
    site = dataclasses.replace(declared, **ways[way])

    async def work() -> None:
        async with Websites(live=False) as websites:
            session = await websites.open(site, 1)
            first = await session.snapshot()
            assert first["notes"] == [{"text": note} for note in session.content["notes"]]
            for number in range(2):
                await add(session, f"more {number}")
                assert await session.changed() == ["notes.json"]
                await session.reset()
                assert await session.changed() == [] and await session.healthy()
                rows = await session.read("notes")
                # What is not declared stays in memory, and readers say so.
                left = [{"text": f"more {each}"} for each in range(number + 1)] if way == "neither" else []
                assert rows == [*first["notes"], *left]
                assert json.loads((await session.read("files"))[0]["text"]) == session.content["notes"]

    asyncio.run(work())


def test_a_site_that_refuses_to_read_again_or_hangs_is_a_failure(declared: Website) -> None:
    site = dataclasses.replace(declared, reload=(("POST", "/nothing", ""),))

    async def work() -> None:
        async with Websites(live=False) as websites:
            session = await websites.open(site, 1)
            with pytest.raises(SandboxFailure, match="website: notes: POST /nothing was answered with 404"):
                await session.reset()
            with pytest.raises(SandboxFailure, match="website: notes: POST /hang: timed out"):
                await session.keeper.http("POST", "/hang", timeout_s=0.3)
            assert await session.read("files")  # the keeper is another program

    asyncio.run(work())


def test_a_reset_waits_for_a_request_whose_sender_is_gone(declared: Website) -> None:
    """What it writes would come after the reset, into another episode."""

    async def work() -> None:
        async with Websites(live=False) as websites:
            session = await websites.open(declared, 1)
            with pytest.raises(SandboxFailure, match="POST /late: timed out"):
                await session.keeper.http("POST", "/late", timeout_s=0.2)
            assert await session.changed() == []
            assert await session.reset() > 100  # milliseconds
            await asyncio.sleep(1.2)
            assert await session.changed() == []

    asyncio.run(work())


def test_a_site_that_was_installed_anew_in_another_version_is_refused(declared: Website, tmp_path: Path) -> None:
    async def work() -> None:
        async with Websites(live=False) as websites:
            await websites.open(declared, 1)
            (tmp_path / "sites/notes/version").write_text("2")
            with pytest.raises(InputError, match="notes 1 must be installed in .*; got version 2"):
                await websites.open(declared, 2)
            with pytest.raises(InputError, match="got version 2"):
                await websites.open(declared, 1)

    asyncio.run(work())
