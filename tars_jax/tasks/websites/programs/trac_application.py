"""The Trac environment env/, with its user anna logged in."""

import os
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse

from trac.web.main import dispatch_request


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    environ["trac.env_path"] = os.path.abspath("env")
    environ["REMOTE_USER"] = "anna"
    answer: Iterable[bytes] = dispatch_request(environ, start_response)
    return answer
