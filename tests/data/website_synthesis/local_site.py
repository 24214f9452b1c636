"""What the small sites of these tests have in common: a server of this process, and the interface of a live site."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tars_jax.data.website_synthesis.addresses import AddressPage, AddressSite
from tars_jax.sandbox.browser import BrowserManager


class Answer(NamedTuple):
    text: str = ""
    status: int = 200
    location: str = ""


class LocalSite:
    """Satisfies the interface of a site that tasks are made for, together with `reset` and `snapshot` of its kind."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def get(self, path: str) -> Answer:
        raise NotImplementedError

    def post(self, path: str, body: str) -> Answer:
        raise NotImplementedError

    async def open_page(self, browsers: BrowserManager, size: tuple[int, int]) -> AddressPage:
        return await AddressSite(self.url).open_page(browsers, size)

    async def reset(self) -> None:
        raise NotImplementedError

    async def snapshot(self) -> dict[str, Any]:
        raise NotImplementedError

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(site: LocalSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(site.get(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            self._send(site.post(self.path, body))

        def _send(self, answer: Answer) -> None:
            body = answer.text.encode()
            self.send_response(answer.status)
            if answer.location:
                self.send_header("Location", answer.location)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
