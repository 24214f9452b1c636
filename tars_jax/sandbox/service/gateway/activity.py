"""Activity of others' clients at a mount, told to the session for lists: a call's words, then its result.

One way for all of them: requests and answers of their APIs are JSON, and say a command or what it is about, and its
output. What is written and typed is not told, nor what only looks (GET).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_READ = 1 << 18  # bytes of a body; what is larger is told by its path alone
MOST_TOLD = 2000  # characters
MOST_PARTS = 100  # of a list of outputs
COMMANDS = ("command", "code", "script")
ABOUT = ("expression", "url", "path", "file", "file_path", "selector", "action_type", "session_id", "id", "session")
OUTPUTS = ("output", "stdout", "outputs", "text", "error", "detail", "message")


class ActivityReporter:
    """An application around another; `show` hears (words, name of the call that has come back or nothing)."""

    def __init__(self, app: ASGIApp, show: Callable[[str, str], None]) -> None:
        self._app, self._show = app, show

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        asked, answered = bytearray(), bytearray()
        name = scope["path"].strip("/").removeprefix("v1/")[:80]

        async def heard() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                asked.extend(message.get("body", b"")[:MOST_READ])
                if not message.get("more_body", False):
                    self._show(f"$ {_said(name, _read(asked))}\n", "")
            return message

        async def told(message: Message) -> None:
            if message["type"] == "http.response.body":
                answered.extend(message.get("body", b"")[: MOST_READ - len(answered)])
            await send(message)

        await self._app(scope, heard, told)
        output = _output(_read(answered)).rstrip()
        self._show(f"{output}\n" if output else "", name)


def _read(body: bytearray) -> Any:
    """None: not JSON, or too long to be looked at."""
    if len(body) >= MOST_READ:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _said(name: str, body: Any) -> str:
    fields: Mapping[str, Any] = body if isinstance(body, dict) else {}
    for field in (*COMMANDS, *ABOUT):
        value = fields.get(field)
        words = " ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(words, str) and words:
            return words[:MOST_TOLD] if field in COMMANDS else f"{name} {words[:MOST_TOLD]}"
    return name


def _output(answer: Any, levels: int = 4) -> str:
    """The first text under a name of outputs, so many levels below the top."""
    if isinstance(answer, str):
        return answer[-MOST_TOLD:]
    if levels and isinstance(answer, list):
        return "".join(_output(each, levels - 1) for each in answer[:MOST_PARTS])[-MOST_TOLD:]
    if not levels or not isinstance(answer, dict):
        return ""
    below = answer.get("data")
    if isinstance(below, dict):
        return _output(below, levels - 1)
    return next((words for name in OUTPUTS if (words := _output(answer.get(name), levels - 1))), "")
