"""Fava over ledger.beancount, which it looks at for changes."""

import os

from fava.application import create_app

os.environ["BEANCOUNT_DISABLE_LOAD_CACHE"] = "1"
_app = create_app([os.path.abspath("ledger.beancount")], load=True, poll_watcher=True)


def application(environ, start_response):
    if environ["PATH_INFO"] == "/":
        environ["PATH_INFO"] = "/ledger/"
    return _app(environ, start_response)
