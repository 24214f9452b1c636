"""Serves a WSGI application on loopback: wsgi_serve.py PORT FILE

FILE is Python that defines `application`. It is run in the state's folder.
"""

import runpy
import socketserver
import sys
import wsgiref.simple_server
from typing import Any


class ThreadingServer(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 64


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def address_string(self) -> str:
        return str(self.client_address[0])


port, file = sys.argv[1:]
application = runpy.run_path(file)["application"]
wsgiref.simple_server.make_server("127.0.0.1", int(port), application, ThreadingServer, Quiet).serve_forever()
