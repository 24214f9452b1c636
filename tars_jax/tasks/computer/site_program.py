"""Runs inside a computer: serves the pages that its first line of input holds, and tells each request as a line.

python3 -I -S -c CODE PORT      Python's own library alone; see site.py
"""

import base64
import http.server
import json
import sys
import threading

MOST_BODY = 1 << 20  # bytes
pages = {
    path: (kind, saved_as, base64.b64decode(data))
    for path, (kind, saved_as, data) in json.loads(sys.stdin.readline()).items()
}
telling = threading.Lock()


def tell(line: str) -> None:
    with telling:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.serve(b"", self.path.partition("?")[0])

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MOST_BODY:
            self.send_error(413)
            return
        self.serve(self.rfile.read(int(length)), "/thanks")

    def serve(self, body: bytes, path: str) -> None:
        headers = self.headers
        tell(json.dumps({
            "method": self.command, "path": self.path, "body": base64.b64encode(body).decode(),
            "kind": headers.get("Content-Type", ""), "agent": headers.get("User-Agent", ""),
            "mode": headers.get("Sec-Fetch-Mode", ""),
        }))  # fmt: skip
        if path not in pages:
            self.send_error(404)
            return
        kind, saved_as, data = pages[path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if saved_as:
            self.send_header("Content-Disposition", f'attachment; filename="{saved_as}"')
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        """Standard output is for requests."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
tell("ready")
server.serve_forever()
