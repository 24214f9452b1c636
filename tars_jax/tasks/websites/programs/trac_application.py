"""The Trac environment env/, with its user anna logged in."""

import os

from trac.web.main import dispatch_request


def application(environ, start_response):
    environ["trac.env_path"] = os.path.abspath("env")
    environ["REMOTE_USER"] = "anna"
    return dispatch_request(environ, start_response)
