"""Radicale, whose settings RADICALE_CONFIG names, with its user anna logged in."""

from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse

import radicale


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    environ["REMOTE_USER"] = "anna"
    answer: Iterable[bytes] = radicale.application(environ, start_response)
    return answer
