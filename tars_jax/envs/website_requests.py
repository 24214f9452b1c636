"""A site's API as a function: requests to the task's own site and nowhere else, as the user who is logged in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax.environment import Function
from tars_jax.sandbox.shell.text import cut
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import Website

LONGEST = 8000  # characters of an answer
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REQUEST = Function(
    "request",
    "Sends an HTTP request to the site as the user who is logged in, and says the status and the text of the answer.",
    {
        "type": "object",
        "properties": {
            "method": {"type": "string", "enum": list(METHODS)},
            "path": {"type": "string", "description": "of the site, such as /api"},
            "body": {"type": "string"},
            "content_type": {"type": "string", "description": "of the body", "default": "application/json"},
        },
        "required": ["method", "path"],
        "additionalProperties": False,
    },
)


def introduction(site: Website, first_page: str) -> str:
    """Introduction to a site before anything is asked of it."""
    return f"{site.title or site.name} at {site.origin}; its first page is {first_page}"


async def answer_request(session: WebsiteSession, given: Mapping[str, Any]) -> str:
    """The site's answer to a call of `REQUEST`. Raises SandboxFailure where its computer failed."""
    path, kind = str(given["path"]), str(given.get("content_type", ""))
    path = path.removeprefix(session.site.origin) if session.site.is_here(path) else path
    if not path.startswith("/"):
        return f"request: path must be one of {session.site.origin} and begin with /; got {path!r:.200}"
    if not kind.isascii() or not kind.isprintable():
        return f"request: content_type must be a media type; got {kind!r:.200}"
    status, text, location = await session.request(str(given["method"]), path, str(given.get("body", "")), kind)
    if not status:
        return cut(f"request: no answer: {text}", LONGEST)
    return cut(f"{status}{f' to {location}' if location else ''}\n{text}".strip(), LONGEST)
