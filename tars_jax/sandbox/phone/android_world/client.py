"""A client of AndroidWorld's HTTP server, whoever runs it: every call in bounded time, every answer checked.

What goes wrong is a `SandboxFailure` ("service": nobody answers, or another kind of server does; "timeout"; "screen":
a screenshot that is none), or `RequestRefused`, where the server understood and would not.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import numpy as np

from tars_jax import InputError
from tars_jax.json_fields import is_number, is_text, short_repr
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.client import is_repeatable

MOST_BYTES = 256 << 20  # of one answer; a screenshot of 1080 x 2400 takes 30 MB
SETTING_UP_S, ANSWER_S = 300.0, 60.0  # for a task set up, checked or of another seed; for any other request
_SETTING_UP = ("/task/initialize", "/task/score", "/suite/reinitialize", "/reset")
TRIES, PAUSE_S = 3, 0.5  # of what was not sent, or only asks
_PIXELS = re.compile(rb'\{"pixels":\[\[\[([\d,\[\]]+)\]\]\]\}')


class RequestRefused(Exception):
    """The server answers, and says no. `broke`: it raised an exception rather than say why (500)."""

    def __init__(self, message: str, *, broke: bool) -> None:
        super().__init__(message)
        self.broke = broke


class AndroidWorldClient:
    """A client of one server. Methods block; each may raise SandboxFailure and Refused.

    Args:
      address: http://HOST:PORT, where its /health is.
      token: for servers that ask for one, sent as `Authorization: Bearer`.
      seconds: that an answer may take, all tries together.
      setting_up: that it may take where a task is set up or checked.

    Raises InputError for an address that is none.
    """

    def __init__(
        self, address: str, token: str = "", seconds: float = ANSWER_S, setting_up: float = SETTING_UP_S
    ) -> None:
        self.address, self._seconds, self._setting_up = check_address(address), seconds, setting_up
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._socket: socket.socket | None = None
        self._http = httpx.Client(base_url=self.address, headers=headers, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def check(self) -> None:
        """Checks that the server is there and has a device."""
        self._succeeded("/health", self._get("/health"))

    def task_types(self) -> list[str]:
        names = self._get("/suite/task_list", max_index=-1).get("task_list")
        if not isinstance(names, list) or not all(is_text(name) and re.fullmatch(r"\w{1,200}", name) for name in names):
            raise self._other(f"/suite/task_list gives {short_repr(names)}")
        return names

    def instances(self, task_type: str) -> int:
        length = self._get("/suite/task_length", task_type=task_type).get("length")
        if type(length) is not int or length < 0:
            raise self._other(f"/suite/task_length gives {short_repr(length)}")
        return length

    def reinitialize(self, combinations: int, seed: int, family: str) -> None:
        """Other instances of all tasks: those of a seed."""
        self._succeeded(
            "/suite/reinitialize",
            self._get("/suite/reinitialize", n_task_combinations=combinations, seed=seed, task_family=family),
        )

    def goal(self, task_type: str, index: int) -> str:
        goal = self._get("/task/goal", task_type=task_type, task_idx=index).get("goal")
        if not is_text(goal) or not goal:
            raise self._other(f"/task/goal gives {short_repr(goal)}")
        return str(goal)

    def initialize(self, task_type: str, index: int) -> None:
        self._post("/task/initialize", task_type=task_type, task_idx=index)

    def tear_down(self, task_type: str, index: int) -> None:
        self._post("/task/tear_down", task_type=task_type, task_idx=index)

    def score(self, task_type: str, index: int) -> float:
        """Score of a task, 0 to 1."""
        said = self._get("/task/score", task_type=task_type, task_idx=index).get("score")
        score = float(said) if said is not None and (isinstance(said, bool) or is_number(said)) else -1.0
        if not 0 <= score <= 1:
            raise self._other(f"/task/score gives {short_repr(said)}")
        return score

    def reset(self) -> None:
        """Resets to the home screen; the last answer is forgotten."""
        self._post("/reset", go_home=True)

    def act(self, action: Mapping[str, Any]) -> None:
        """Carries out one of AndroidWorld's actions; it is never sent twice."""
        self._post("/execute_action", json=dict(action))

    def screenshot(self) -> np.ndarray:
        """uint8 [height, width, 3], once the screen rests."""
        return read_pixels(self._answer("GET", "/screenshot", {"wait_to_stabilize": True}).content)

    def _get(self, path: str, **parameters: Any) -> dict[str, Any]:
        return self._object(path, self._answer("GET", path, parameters))

    def _post(self, path: str, json: Any = None, **parameters: Any) -> None:
        self._succeeded(path, self._object(path, self._answer("POST", path, parameters, json)))

    def _succeeded(self, path: str, said: Mapping[str, Any]) -> None:
        """A server may say of an error that it answers well (200)."""
        if said.get("status") != "success":
            raise self._other(f"{path} says {short_repr(dict(said))}")

    def _object(self, path: str, response: httpx.Response) -> dict[str, Any]:
        try:
            said = response.json()
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise self._other(f"{path} gives {response.content[:80]!r}")
        return said

    def _answer(self, method: str, path: str, parameters: Mapping[str, Any], json: Any = None) -> httpx.Response:
        seconds = self._setting_up if path in _SETTING_UP else self._seconds
        end = time.monotonic() + seconds
        for left in reversed(range(TRIES)):
            try:
                return self._checked(path, self._sent(method, path, parameters, json, end))
            except httpx.ConnectError as error:
                if not left:
                    raise SandboxFailure("service", f"{self.address} does not answer: {error}") from error
            except httpx.TimeoutException as error:
                about = f"{self.address}{path} did not answer within {seconds:g} s"
                raise SandboxFailure("timeout", about) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if time.monotonic() > end:
                    about = f"{self.address}{path} did not answer within {seconds:g} s"
                    raise SandboxFailure("timeout", about) from error
                if not is_repeatable(method) or not left:  # what may have been done is not done again
                    raise SandboxFailure("service", f"{self.address}{path} broke off: {error!r}") from error
            time.sleep(PAUSE_S)
        raise AssertionError("the last try returns or raises")

    def _sent(self, method: str, path: str, parameters: Mapping[str, Any], json: Any, end: float) -> httpx.Response:
        """Read whole, within the bounds of bytes and of time: none is left at `end`, of `time.monotonic`."""
        left, body = max(end - time.monotonic(), 1e-3), bytearray()
        timeout = httpx.Timeout(left, connect=min(left, 10.0))
        request = self._http.build_request(
            method, path, params=dict(parameters), json=json, timeout=timeout, extensions={"trace": self._connected}
        )
        with self._ends_at(end), contextlib.closing(self._http.send(request, stream=True)) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise self._other(f"{path} gives more than {MOST_BYTES} bytes")
                if time.monotonic() > end:
                    raise httpx.ReadTimeout("drips", request=response.request)
        plain = {name: value for name, value in response.headers.items() if name == "content-type"}
        return httpx.Response(response.status_code, headers=plain, content=bytes(body))

    def _connected(self, event: str, about: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._socket = about["return_value"].get_extra_info("socket")

    @contextlib.contextmanager
    def _ends_at(self, end: float) -> Iterator[None]:
        """The connection is shut then: httpx's own limits begin anew with every byte, of headers too."""
        timer = threading.Timer(max(end - time.monotonic(), 0.0) + 0.05, self._shut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _checked(self, path: str, response: httpx.Response) -> httpx.Response:
        if response.status_code == 200:
            return response
        try:
            said = response.json()
            said = said.get("detail", said) if isinstance(said, dict) else said
        except (ValueError, RecursionError):
            said = response.text
        about = f"{self.address}{path} said {response.status_code}: {short_repr(said)}"
        if response.status_code in (400, 422, 500):
            raise RequestRefused(about, broke=response.status_code == 500)
        raise SandboxFailure("service", about)

    def _other(self, what: str) -> SandboxFailure:
        return SandboxFailure("service", f"{self.address} must be a server of AndroidWorld; {what}")


def check_address(address: str) -> str:
    """Without what stands at its end. Raises InputError for what is no address of a server."""
    if not re.fullmatch(r"https?://[\w.\-\[\]:]+(/[\w./-]*)?", address):
        raise InputError(f"an AndroidWorld server must be http://HOST:PORT; got {short_repr(address)}")
    return address.rstrip("/")


def read_pixels(body: bytes) -> np.ndarray:
    """uint8 [height, width, 3] of {"pixels": lists of lists of lists}, without an object for each number.

    Raises SandboxFailure("screen") for anything else, such as rows of different lengths.
    """
    match = _PIXELS.fullmatch(body.translate(None, b" \n\r\t"))
    if match is None:
        raise SandboxFailure(
            "screen", f"a screenshot must be {{'pixels': [[[red, green, blue]...]...]}}; got {body[:80]!r}"
        )
    rows = match[1].split(b"]],[[")
    widths = {row.count(b"],[") + 1 for row in rows}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers = np.fromstring(match[1].translate(None, b"[]"), np.int32, sep=",")
        except (ValueError, DeprecationWarning, OverflowError) as error:
            raise SandboxFailure("screen", f"a screenshot must be whole numbers; {error}") from error
    width = max(widths)
    if len(widths) > 1 or numbers.size != len(rows) * width * 3 or numbers.min() < 0 or numbers.max() > 255:
        raise SandboxFailure(
            "screen", f"a screenshot must be rows of alike many pixels of 3 bytes; got {numbers.size} numbers"
        )
    return numbers.astype(np.uint8).reshape(len(rows), width, 3)
