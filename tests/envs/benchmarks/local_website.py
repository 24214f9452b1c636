"""A website of this machine, and browsers that may see it."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from urllib.parse import urlsplit

from tars_jax.envs.spec import EnvironmentResources
from tars_jax.rollout.episode_runner import page_resources
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager

SIZE = (640, 480)


@contextlib.asynccontextmanager
async def browsers() -> AsyncIterator[EnvironmentResources]:
    settings = BrowserConfig(width=SIZE[0], height=SIZE[1], browsers=1, pages_per_browser=2)
    async with BrowserManager(settings) as manager:
        yield page_resources(manager, settings, 1)


@contextlib.contextmanager
def website(pages: Mapping[str, str], asked: list[str]) -> Iterator[str]:
    """Pages by their paths; its host and port. `asked` gets every path that is asked for, with its query. A form leads
    back to the first page; what begins with /never is never answered."""
    over = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if self.path.startswith("/never"):
                over.wait()
                return
            page = pages.get(urlsplit(self.path).path)
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((page or "nothing").encode())

        def do_POST(self) -> None:
            said = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            asked.append(f"POST {self.path} {said}")
            self.send_response(302)
            self.send_header("Location", "/")
            self.send_header("Set-Cookie", "said=thank%20you; Path=/")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()
