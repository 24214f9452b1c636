"""Addresses of a user: what is dead, gated, static or a game is told from what can be used."""

from __future__ import annotations

import contextlib
import copy
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from experiments.synthesize_websites import run
from tars_jax import InputError
from tars_jax.data.website_synthesis.url_lists import read_url_list
from tars_jax.pipelines.config import load_config
from tars_jax.training.run_directory import RunDirectory
from tests.data.website_synthesis.small_site import SmallSite

PAGES = {
    "gated": "<title>Members</title><h1>Welcome</h1><form method=post>User <input name=u> Password "
    "<input type=password name=p><button>Log in</button></form>",
    "captcha": "<h1>One moment</h1><p>Please verify you are human.</p>"
    "<form method=post>Name <input name=n><button>Save</button>",
    "static": "<h1>Our street</h1><p>Houses from 1920.</p><a href='/more'>More</a>"
    "<form><input name=q><button>Search</button>",
    "game": "<title>Block game</title><h1>Play now</h1><canvas width=900 height=600></canvas><button>Start</button>",
    "missing": "",
}


@contextlib.contextmanager
def served(body: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = body or "<title>404 Not Found</title>"
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def run_with(folder: Path, addresses: str, *flags: str) -> RunDirectory:
    """The experiment over a list of addresses alone."""
    (folder / "addresses.txt").write_text(addresses)
    flags = ("sites=", f"addresses={folder / 'addresses.txt'}", *flags)
    root = Path(__file__).parents[3]
    config = load_config("synthesize_websites", [f"--config.{each}" for each in flags], root=root)
    with RunDirectory.create(folder / "run", config.to_dict(), "synthesize_websites") as run_directory:
        assert run(config, run_directory) == 0
    return run_directory


@pytest.mark.browser
def test_addresses_are_sorted(tmp_path: Path) -> None:
    with socket.socket() as nobody, contextlib.ExitStack() as stack:
        nobody.bind(("127.0.0.1", 0))
        urls = {name: stack.enter_context(served(body)) for name, body in PAGES.items()}
        good = SmallSite()
        stack.callback(good.close)
        asked = [*urls.values(), f"http://127.0.0.1:{nobody.getsockname()[1]}/", good.url, f"{good.url}settings"]
        before = copy.deepcopy(good.state)
        done = run_with(tmp_path, "# a user's list\n" + "\n".join(asked))
        assert good.state == before, "looking at a site changes nothing"
    found = (done.finished("addresses") or {})["verdicts"]
    assert [each["reason"] for each in found] == [
        "gated", "gated", "static", "game", "dead", "dead", "", "a duplicate",
    ]  # fmt: skip
    assert [each["url"] for each in found] == asked and found[-2]["functions"] >= 6
    report = (tmp_path / "run/report.html").read_text()
    assert all(f"<td>{each}</td>" in report for each in asked) and "<td>static</td>" in report
    assert not list((tmp_path / "run/sites").glob("*")), "no task is made where nothing may be changed"


def test_a_list_is_read(tmp_path: Path) -> None:
    file = tmp_path / "sites äö.txt"
    file.write_text("# mine\nexample.com\n\nhttp://localhost:8001/home#top  # a wiki\nhttps://[::1]:8080/\n")
    assert read_url_list(file) == ["https://example.com", "http://localhost:8001/home#top", "https://[::1]:8080/"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("example.com\nftp://example.com/", "line 2: address of a site must be"),
        ("http://", "line 1: address of a site must be"),
        ("http://example.com:99999/", "line 1: address of a site must be"),
        ("# nothing\n", "must be at least one; got none"),
    ],
)
def test_a_bad_list_names_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(InputError, match=said):
        read_url_list(tmp_path / "list.txt")
    with pytest.raises(InputError, match="must be a text file"):
        read_url_list(tmp_path / "none.txt")
