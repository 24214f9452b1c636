"""An OpenAI-compatible server in a process of its own; how it behaves is the name of the model that is asked for.

good        compares <answer> with <reference> literally; knows the capital of France; finds "capital" revealing
nonsense    says something in no closed form
refusing    says that it cannot help
declining   refuses with HTTP 400, as content filters do
failing     HTTP 503
slow        takes 30 seconds
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def between(mark: str, text: str) -> str:
    found: list[str] = re.findall(rf"<{mark}>\n(.*?)\n</{mark}>", text, re.DOTALL)
    return found[-1].casefold() if found else ""


def good(prompt: str) -> str:
    if "ANSWER: CORRECT" in prompt:
        right = between("answer", prompt) in between("reference", prompt).splitlines()
        return f"It says {between('answer', prompt)}.\nANSWER: {'CORRECT' if right else 'INCORRECT'}"
    if "SCORE: 1" in prompt:
        return "SCORE: 5" if "capital" in between("condition", prompt) else "SCORE: 2"
    return "ANSWER: Paris" if "capital of france" in between("question", prompt) else "ANSWER: UNKNOWN"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # none of our own servers
        self.send_error(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][-1]["content"]
        mode = body["model"]
        if mode == "slow":
            time.sleep(30)
        status = {"failing": 503, "declining": 400}.get(mode, 200)
        said = {"nonsense": "Verdict: unsuccessful success", "refusing": "I am sorry, I cannot help with that."}
        answer: object = {"error": {"message": "refused", "code": "content_filter"}}
        if status == 200:
            message = {"content": said[mode] if mode in said else self.said(mode, prompt)}
            answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def said(self, mode: str, prompt: str) -> str:
        return good(prompt)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def answering(script: str = __file__) -> Iterator[str]:
    """The address of such a server, which ends with the block."""
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def serve(handler: type[Handler]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(Handler)
