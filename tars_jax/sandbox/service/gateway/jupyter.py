"""The mount `jupyter`: JupyterLab, or the classic notebook, as a program of the session, begun with the first look.

It listens at a unix socket that only programs of the session reach, under the address that a browser knows, so its
pages need no rewriting. Who may come in has been found out before, so it has no token. It ends with the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from tars_jax.sandbox.computer.guest_client import GuestError, Streams
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.sandbox.service.gateway.headers import to_inside, to_outside
from tars_jax.sandbox.service.gateway.http_proxy import HttpProxy
from tars_jax.sandbox.service.gateway.paths import Target
from tars_jax.sandbox.service.gateway.socket_proxy import InsideSocket, both_ways
from tars_jax.web.protocol import RequestError

START_S, POLL_S = 120.0, 0.1
NOT_FOUND = 127  # a shell's exit status for a program that is not there
INSTALL = (
    "JupyterLab or the notebook must be installed for the computer's Python, and is not: apt-get install "
    "python3-notebook python3-ipykernel"
)
# $1 a folder for what is its own, $2 its address. Jupyter's own files stay out of the home.
SCRIPT = r"""
umask 077
mkdir -p "$1" && rm -f "$1/socket" || exit 1
export JUPYTER_RUNTIME_DIR="$1/runtime" JUPYTER_CONFIG_DIR="$1/config" JUPYTER_DATA_DIR="$1/data"
export IPYTHONDIR="$1/ipython"
if python3 -c 'import jupyterlab' 2>/dev/null; then module=jupyterlab app=ServerApp
elif python3 -c 'import notebook.notebookapp' 2>/dev/null; then module=notebook app=NotebookApp
else exit 127; fi
exec python3 -m "$module" --no-browser --$app.sock="$1/socket" --$app.base_url="$2" --$app.token= --$app.password= \
    --$app.allow_remote_access=True --$app.quit_button=False
"""


class JupyterMount:
    def __init__(self, session: ComputerSession) -> None:
        self._session = session
        self._folder = f"/tmp/.jupyter-{secrets.token_hex(4)}"
        self._starting = asyncio.Lock()
        self._process: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        target = Target(self._session.id, "jupyter", None, scope["raw_path"].decode("latin-1"))
        scheme = scope["scheme"].replace("ws", "http", 1)
        headers = to_inside(scope["headers"], target, connection.headers.get("host", ""), scheme, by_header=True)
        # A client of WebSockets leaves port 80 out of its Host, and Jupyter compares that with Origin.
        headers = [(name, value.replace(b"localhost:80", b"localhost", 1)) for name, value in headers]
        pairs = [pair for pair in scope["query_string"].split(b"&") if pair and not pair.startswith(b"token=")]
        path = f"{target.prefix}{target.rest}".encode("latin-1") + (b"?" + b"&".join(pairs) if pairs else b"")
        with typed_errors():
            streams = await self._connected(target.prefix)
        try:
            if scope["type"] == "websocket":
                socket = WebSocket(scope, receive, send)
                inside = InsideSocket(streams, "localhost", socket.scope.get("subprotocols", []))
                await socket.accept(await inside.open(path, headers))
                await both_ways(socket, inside, self._session.renew)
            else:
                proxy = HttpProxy(streams, lambda given: to_outside(given, target), self._session.renew)
                await proxy.exchange(scope, path, headers, receive, send)
        finally:
            streams[1].close()

    async def _connected(self, prefix: str) -> Streams:
        """Begins the server where it does not run. Raises RequestError where it cannot."""
        machine = self._session.computer.machine
        with contextlib.suppress(GuestError):
            return await machine.connect(f"{self._folder}/socket")
        async with self._starting:
            end = asyncio.get_running_loop().time() + START_S
            if self._process is None or await machine.wait(self._process, 0) is not None:
                script = ["sh", "-c", SCRIPT, "sh", self._folder, f"{prefix}/"]
                self._process = await machine.start(script, env=self._session.env, output=f"{self._folder}.log")
            while True:
                with contextlib.suppress(GuestError):
                    return await machine.connect(f"{self._folder}/socket")
                status = await machine.wait(self._process, POLL_S)
                if status == NOT_FOUND:
                    raise RequestError(INSTALL, status=501, code="not_installed")
                if status is not None or asyncio.get_running_loop().time() > end:
                    words = f"Jupyter did not come up (status {status}); inside, {self._folder}.log says why"
                    raise RequestError(words, status=502, code="no_program")
