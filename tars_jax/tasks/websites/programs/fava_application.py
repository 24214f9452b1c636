"""Fava over ledger.beancount, which it looks at for changes."""

import os
import threading
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse

from fava.application import create_app

os.environ["BEANCOUNT_DISABLE_LOAD_CACHE"] = "1"
_reading = threading.Lock()
_app = create_app([os.path.abspath("ledger.beancount")], load=True, poll_watcher=True)


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    with _reading:
        for ledger in _app.config["LEDGERS"].ledgers:  # by its title it is found: one that was put back has another
            ledger.changed()
    if environ["PATH_INFO"] == "/":
        environ["PATH_INFO"] = "/ledger/"
    answer: Iterable[bytes] = _app(environ, start_response)
    return answer
