"""Serves the Trac environment env/ on loopback, with its user anna logged in: trac_serve.py PORT"""

import os
import socketserver
import sys
import wsgiref.simple_server

from trac.web.main import dispatch_request


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *arguments):
        pass

    def address_string(self):
        return self.client_address[0]


def application(environ, start_response):
    environ["trac.env_path"] = os.path.abspath("env")
    environ["REMOTE_USER"] = "anna"
    return dispatch_request(environ, start_response)


wsgiref.simple_server.make_server("127.0.0.1", int(sys.argv[1]), application, Server, Quiet).serve_forever()
