"""The process that plays a package's environments, in the Python that has the package (program/__main__.py).

It ends with this process, however that ends. Nothing here blocks an event loop but its start.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from tars_jax import InputError

PROGRAM = Path(__file__).with_name("program")
LOADING_S = 600.0  # for an environment that fetches its data first
LEAVING_S = 6.0  # a little more than the program takes at most
MOST_IDLE = 2
_LAST_LINES = 6  # of what it wrote to stderr, for messages
_QUIET = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1"}  # bars would hide the words before an end
_numbers = itertools.count()

Listener = Callable[[dict[str, Any]], None]


class Worker:
    """A process with one environment loaded. Listeners are called in a thread of its own, and must not raise."""

    def __init__(self, python: Path, package: str) -> None:
        """Starts the worker process. Raises OSError."""
        self._process = subprocess.Popen(
            [python, "-I", "-X", "utf8", PROGRAM, package], env={**os.environ, **_QUIET},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._owner, self._why_gone = os.getpid(), ""
        self._lock = threading.Lock()
        self._listeners: dict[int | None, Listener] = {}
        self._words: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._noting = threading.Thread(target=self._note, daemon=True)
        self._noting.start()

    @property
    def alive(self) -> bool:
        """Whether it can be asked; never in a fork of the process that it belongs to."""
        return not self._why_gone and self._owner == os.getpid()

    @classmethod
    def loaded(
        cls, python: Path, package: str, id: str, arguments: Mapping[str, Any], path: Sequence[str]
    ) -> tuple[Self, dict[str, Any]]:
        """Starts a worker with the environment `id`; returns what is known of that, too. Raises InputError where it
        cannot be loaded."""
        try:
            worker = cls(python, package)
        except OSError as error:
            raise InputError(f"{python} must be a Python that has {package}; got {error}") from error
        answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        worker._listeners[None] = answers.put
        worker._hearing.start()
        worker.send({"load": id, "arguments": dict(arguments), "path": list(path)})
        try:
            answer = answers.get(timeout=LOADING_S)
            if "loaded" in answer:
                return worker, answer["loaded"]
            why = answer.get("refused") or answer["gone"]
        except queue.Empty:
            why = f"no answer in {LOADING_S:g} s"
        except BaseException:
            worker.kill()
            raise
        worker.kill()
        about = f"option id must name an environment of {package} that can be loaded with the option args"
        raise InputError(f"{about}; got {id!r}, {dict(arguments)!r:.100}: {why}")

    def episode(self, listener: Listener) -> int:
        """A number for a new episode, whose answers `listener` hears; the last one may say that the worker is gone."""
        number = next(_numbers)
        with self._lock:
            self._listeners[number] = listener
            gone = self._why_gone
        if gone:
            listener({"gone": gone})
        return number

    def forget(self, number: int) -> None:
        with self._lock:
            self._listeners.pop(number, None)

    def send(self, request: Mapping[str, Any]) -> None:
        """Sends a request; where the worker is gone, listeners hear of that."""
        assert self._process.stdin is not None
        line = json.dumps(request).encode() + b"\n"
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def close(self) -> None:
        """Ends it, and waits for that."""
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVING_S)
        self.kill()

    def kill(self) -> None:
        """Kills the worker with all that it has started in its session. Returns when its listeners know."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        if self._hearing.is_alive():
            self._hearing.join()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers, contextlib.suppress(ValueError):  # half a line of one that was killed
            for line in answers:
                answer = json.loads(line)
                with self._lock:
                    listener = self._listeners.get(answer.get("episode"))
                if listener is not None:
                    listener(answer)
        status = self._process.wait()
        self._noting.join(1.0)
        said = " | ".join(self._words)
        with self._lock:
            self._why_gone = f"the worker has ended with {status}" + (f": {said}" if said else "")
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener({"gone": self._why_gone})

    def _note(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                if words := line.decode(errors="replace").strip():
                    self._words.append(words[:300])


class SharedWorker:
    """The worker of all environments that play the same.

    One that nobody needs waits for the next who does, as it takes seconds to load; of more than MOST_IDLE the one that
    has waited longest ends.
    """

    _idle: ClassVar[list[SharedWorker]] = []
    _waiting = threading.Lock()

    def __init__(self, load: Callable[[], tuple[Worker, dict[str, Any]]]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._users = 0

    def acquire(self) -> tuple[Worker, dict[str, Any]]:
        """A living one, to be given back by `release`, and what is known of its environment.

        Takes as long as loading does. Raises InputError.
        """
        with self._lock:
            if self._worker is None or not self._worker.alive:
                self._worker, self._known = self._load()
                self._users = 0
            self._users += 1
            with self._waiting:
                if self in self._idle:
                    self._idle.remove(self)
            return self._worker, self._known

    def release(self, worker: Worker) -> None:
        with self._lock:
            if worker is not self._worker:
                return  # it was lost, and another took its place
            self._users -= 1
            if self._users:
                return
            with self._waiting:
                self._idle.append(self)
                surplus = self._idle[:-MOST_IDLE]
        for each in surplus:
            each.end_idle()

    def end_idle(self) -> None:
        """Ends the worker, if nobody needs it."""
        with self._lock:
            if self._users or self._worker is None:
                return
            with self._waiting:
                if self in self._idle:
                    self._idle.remove(self)
            self._worker.close()
            self._worker = None
