"""A model behind an endpoint of another process helps, and costs nothing but its help where it cannot."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest
from PIL import Image

from tars_jax import GaveUp
from tars_jax.data.website_synthesis.functions import Field, SiteFunction
from tars_jax.data.website_synthesis.models import MOST_SILENT, ModelHelper
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.wording import refine

pytestmark = pytest.mark.multiprocess
SAID = 'Create a ticket with Title "Lamp".'
SERVER = r"""
import http.server, json, sys, time
asked = []
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/asked":
            return self.answer(200, asked)
        self.answer(404, {"error": {"message": "no such route"}})
    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        way, words = self.path.split("/")[1], sent["messages"][-1]["content"]
        asked.append([way, sent["model"], self.headers.get("Authorization"), len(words)])
        if way == "refused":
            return self.answer(401, {"error": {"message": "no such key", "code": "invalid_api_key"}})
        if way == "slow":
            time.sleep(2)
        if way == "broken":
            return self.answer(500, {"error": {"message": "out of memory"}})
        said = {"good": 'Please make a ticket whose Title is "Lamp".', "nonsense": "As a model I like lamps.",
                "picks": "Those are [1]", "blocked": None}.get(way, "")
        self.answer(200, {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]})
    def answer(self, status, found):
        body = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def asked(address: str, way: str) -> int:
    with contextlib.closing(urllib.request.urlopen(f"{address}/asked")) as answer:
        return answer.read().decode().count(f'["{way}"')


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("good", 'Please make a ticket whose Title is "Lamp".'),
        ("nonsense", SAID),  # what was in quotation marks is lost
        ("blocked", SAID),
        ("broken", SAID),
    ],
)
def test_words_of_a_model_are_taken_only_where_nothing_is_lost(address: str, way: str, said: str) -> None:
    helper = ModelHelper(f"{address}/{way}/v1", "m")
    assert refine(SAID, helper)[0] == said and asked(address, way) == 1


def test_a_model_selects_functions_by_a_screenshot_and_nonsense_leaves_none_out(address: str) -> None:
    fields = (Field(PageMove("fill", "Title"), "text", "Title"),)
    functions = [
        SiteFunction("create", (), ("Tickets",), button, fields, PageMove("press", button), "/", "/new")
        for button in ("Create", "Save")
    ]
    screenshot = io.BytesIO()
    Image.new("RGB", (4, 4)).save(screenshot, "png")
    for way, kept in (("picks", [1]), ("nonsense", [0, 1]), ("broken", [0, 1])):
        assert ModelHelper(f"{address}/{way}/v1", "m").select(screenshot.getvalue(), functions) == kept


def test_a_refused_key_ends_the_work(address: str) -> None:
    with pytest.raises(GaveUp, match="refuses to help: .*no such key"):
        ModelHelper(f"{address}/refused/v1", "m", "a-key").rewrite(SAID)


def test_a_model_that_stays_silent_is_asked_no_more(address: str) -> None:
    helper = ModelHelper(f"{address}/slow/v1", "m", answer_s=0.5)
    for _ in range(MOST_SILENT + 2):
        assert refine(SAID, helper)[0] == SAID
    assert 1 <= asked(address, "slow") <= MOST_SILENT  # on a busy machine some questions are not even sent in time
