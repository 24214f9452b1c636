"""Errors as a page where a person asks, and as JSON where a program does."""

from __future__ import annotations

import html

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import error_response, request_error

TITLES = {
    401: "This page needs its token", 403: "Not for you", 404: "Nothing here", 423: "Somebody else has it",
    501: "Not installed", 502: "Nothing answers", 503: "The computer has gone",
}  # fmt: skip
# In place of words for programs, which name headers.
WORDS = {401: "Its address has no token of a session that is open here, or a link was used that is good only once."}
HINTS = {
    401: "Open the session from the live page, which is the service's first page and asks for your key, or ask who "
    "started it for a link with ?token= at its end. Once a session has ended no link opens it.",
    404: "A session ends when it is released, or when nobody has used it for the time of its lease.",
    502: "A program inside may still be starting: load this page again.",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: dark; font: 15px/1.5 system-ui, sans-serif; }}
body {{ margin: 0; min-height: 100vh; display: grid; place-content: center; background: #0c0f14; color: #e8ecf2; }}
main {{ max-width: 560px; padding: 24px; }} h1 {{ margin: 0 0 12px; font-size: 22px; }}
p {{ margin: 0 0 10px; overflow-wrap: anywhere; }} .quiet {{ color: #8b95a5; }}
</style></head><body><main><h1>{title}</h1><p>{words}</p><p class="quiet">{hint}</p><p class="quiet">{status}</p></main>
</body></html>
"""


def error_page(error: RequestError, scope: Scope) -> Response:
    """The answer to a request that failed."""
    if not _a_person_asks(scope):
        return error_response(error)
    title = TITLES.get(error.status, "That did not work")
    words = html.escape(WORDS.get(error.status, error.message))
    page = PAGE.format(title=title, words=words, hint=HINTS.get(error.status, ""), status=error.status)
    headers = {**error.headers, "Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
    return HTMLResponse(page, error.status, headers)


async def http_error(request: Request, error: Exception) -> Response:
    """Handles what a mount's router raises: no such path, or not this method."""
    assert isinstance(error, HTTPException)
    return error_page(request_error(request, error), request.scope)


def _a_person_asks(scope: Scope) -> bool:
    """Whether a browser wants to show the answer: it takes HTML, and no script of a page has asked."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    headers = Headers(scope=scope)
    takes = "text/html" in headers.get("accept", "")
    return takes and headers.get("sec-fetch-dest", "document") in ("document", "iframe", "frame")
